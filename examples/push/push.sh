#!/usr/bin/env bash
# Client that reports the progress of a training run to Milepost. Source this file, or copy it: it needs Bash 5, curl and the injected variables.
# push [--progress PERCENT] [--remaining SECONDS] [--metric NAME=VALUE]... [--step STEP] [--patience SECONDS]
# prints a line where the training is told to stop, and nothing otherwise. Answers 0 whatever the network does.

push_try() { # One try, of 5 s at most: header, an empty line, and what was answered.
  # Token and CA are renewed while the pod runs, so both are read for each try; no argument shows the token.
  curl -sSi --http1.1 --max-time 5 --noproxy '*' --cacert "$KUBEFLOW_TRAINER_STATUS_CA_CERT" -H 'Expect:' \
    -H 'Content-Type: application/json' -H @<(printf 'Authorization: Bearer %s' "$(<"$KUBEFLOW_TRAINER_STATUS_TOKEN")") \
    --data-binary @- "$KUBEFLOW_TRAINER_STATUS_URL" <<<"$1" 2>&1
}

push_text() { # A text as JSON has it.
  local text=${1//\\/\\\\}
  text=${text//\"/\\\"}
  printf '"%s"' "${text//[[:cntrl:]]/ }"
}

push() {
  local fields='' metrics='' container='' patience=15 body answer status after wait pause=250 end now
  while (($# > 0)); do
    case $1=${2-} in
      --progress=[0-9]*) fields+="\"progressPercentage\": $2, " ;;
      --remaining=[0-9]*) fields+="\"estimatedRemainingSeconds\": $2, " ;;
      --step=[0-9]*) fields+="\"step\": $2, " ;;
      --metric=*=*) metrics+="${metrics:+, }{\"name\": $(push_text "${2%%=*}"), \"value\": $(push_text "${2#*=}")}" ;;
      --patience=[0-9]*) patience=${2%.*} ;;
      *) echo "push: I do not understand $*" >&2 && return 2 ;;
    esac
    shift 2
  done
  [[ -n ${KUBEFLOW_TRAINER_STATUS_URL-} ]] || return 0
  [[ -z ${KUBEFLOW_TRAINER_STATUS_CONTAINER-} ]] || container=", \"container\": $(push_text "$KUBEFLOW_TRAINER_STATUS_CONTAINER")"
  # The time in microseconds goes up, also when the program starts again.
  body="{\"trainerStatus\": {$fields\"metrics\": [$metrics], \"lastUpdatedTime\": \"$(date -u +%FT%TZ)\"}, \"sequence\": ${EPOCHREALTIME/[.,]/}$container}"
  end=$((${EPOCHREALTIME/[.,]/} / 1000 + patience * 1000))
  while :; do
    answer=$(push_try "$body") || answer="curl: $answer"
    status=0 after=0
    [[ $answer =~ ^HTTP/[0-9.]+\ ([0-9]{3}) ]] && status=${BASH_REMATCH[1]}
    [[ ${answer%%$'\r\n\r\n'*} =~ [Rr][Ee][Tt][Rr][Yy]-[Aa][Ff][Tt][Ee][Rr]:\ *([0-9]{1,6}) ]] && after=$((10#${BASH_REMATCH[1]} * 1000))
    answer="$status ${answer#*$'\r\n\r\n'}"
    if ((status == 200)); then
      [[ $answer =~ \"control\":\ *(\{[^}]*\"stop\":\ *true.*) ]] || return 0
      answer=${BASH_REMATCH[1]}
      [[ $answer =~ \"reason\":\ *\"([^\"]*)\" ]] && printf %s "${BASH_REMATCH[1]}"
      [[ $answer =~ \"message\":\ *\"([^\"]*)\" ]] && printf ': %s' "${BASH_REMATCH[1]}"
      echo
      return 0
    fi
    wait=$((pause / 2 + RANDOM % pause)) now=$((${EPOCHREALTIME/[.,]/} / 1000))
    ((after > wait)) && wait=$after
    if ((status > 0 && status != 429 && status < 500 || now + wait > end)); then
      [[ ${push_said-} == "$answer" ]] || echo "milepost: progress was not taken: $answer" >&2
      push_said=$answer
      return 0
    fi
    sleep "$((wait / 1000)).$(printf %03d $((wait % 1000)))"
    pause=$((pause * 2))
  done
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then push "$@"; fi
