/** Completion of the command line in shells: scripts that know the commands and their flags, and ask for names of jobs. Pure. */
import type { CommandEntry } from "../command_entry.ts";
import { settingEntries } from "../configuration/setting_entries.ts";

/** A command, as far as it is completed. */
export type CompletedCommand = Pick<CommandEntry, "name" | "description" | "settings" | "argument">;

const SHELLS = ["bash", "zsh", "fish"];

const flagsOf = (
  { name, settings }: CompletedCommand,
) => ["--help", ...settingEntries(settings, name).map(({ flag }) => flag)];

/** The commands that are about a job. */
const ofJobs = (commands: readonly CompletedCommand[]) =>
  commands.filter(({ argument = "" }) => /^\[?job\]?$/.test(argument));

/** Flags behind which no name of a job stands, but their value. */
const valueFlags = (commands: readonly CompletedCommand[]) => [
  ...new Set(
    commands.flatMap(({ settings, name }) => settingEntries(settings, name))
      .flatMap(({ usage }) => usage.includes("<") ? usage.split(" ").slice(0, -1) : [])
      .map((flag) => flag.replace(",", "")),
  ),
];

/** Prints the names of the jobs that `milepost get` lists, and no text that a shell would expand. */
const NAMES = "2>/dev/null | awk 'NR > 1 && $1 ~ /^[a-z0-9][a-z0-9.-]*$/ { print $1 }'";

function bash(commands: readonly CompletedCommand[]): string {
  const cases = commands.map((it) => `    ${it.name}) words="${flagsOf(it).join(" ")}" ;;`);
  const aboutJobs = ofJobs(commands);
  return `_milepost_jobs() {
  local index place=()
  case "\${COMP_WORDS[COMP_CWORD - 1]}" in ${valueFlags(aboutJobs).join("|")}) return ;; esac
  for ((index = 2; index < COMP_CWORD; index++)); do
    case "\${COMP_WORDS[index]}" in
      -n|--namespace|--context|--kubeconfig)
        place+=("\${COMP_WORDS[index]}" "\${COMP_WORDS[index + 1]}") ;;
    esac
  done
  "\${COMP_WORDS[0]}" get "\${place[@]}" ${NAMES}
}
_milepost() {
  local words="" word="\${COMP_WORDS[COMP_CWORD]}"
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${commands.map(({ name }) => name).join(" ")}"; fi
  if [ "$COMP_CWORD" -eq 2 ] && [ "\${COMP_WORDS[1]}" = completion ]; then words="${
    SHELLS.join(" ")
  }"; fi
  case "$COMP_CWORD \${COMP_WORDS[1]} $word" in
    1\\ *|*\\ -*) ;;
    ${aboutJobs.map(({ name }) => `*\\ ${name}\\ *`).join("|")}) words="$(_milepost_jobs)" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _milepost milepost kubectl-milepost
`;
}

/** The names of jobs, of the place that is typed. */
const FISH_JOBS = `function __milepost_jobs
  set -l words (commandline -opc)
  set -l place
  for index in (seq 4 (count $words))
    set -l flag $words[(math $index - 1)]
    contains -- $flag -n --namespace --context --kubeconfig; and set -a place $flag $words[$index]
  end
  $words[1] get $place ${NAMES}
end`;

const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

function fish(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap((it) => [
    `complete -c milepost -f -n __fish_use_subcommand -a ${it.name} -d ${quoted(it.description)}`,
    ...settingEntries(it.settings, it.name).map(({ flag, description }) =>
      `complete -c milepost -n '__fish_seen_subcommand_from ${it.name}' -l ${flag.slice(2)} -d ${
        quoted(description)
      }`
    ),
  ]);
  lines.push(
    `complete -c milepost -f -n '__fish_seen_subcommand_from completion' -a '${SHELLS.join(" ")}'`,
  );
  const aboutJobs = ofJobs(commands).map(({ name }) => name).join(" ");
  lines.push(
    `complete -c milepost -f -n '__fish_seen_subcommand_from ${aboutJobs}' -a '(__milepost_jobs)'`,
  );
  lines.push("complete -c kubectl-milepost -w milepost");
  return `${[FISH_JOBS, ...lines].join("\n")}\n`;
}

/** zsh reads the script for bash once its completion runs, which a bare ~/.zshrc does not begin. */
const ZSH_HEAD = `autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
`;

/** The scripts by the name of their shell. */
export const COMPLETIONS: ReadonlyMap<string, (commands: readonly CompletedCommand[]) => string> =
  new Map([
    ["bash", bash],
    ["zsh", (commands) => `${ZSH_HEAD}${bash(commands)}`],
    ["fish", fish],
  ]);
