#!/usr/bin/env python3
"""Client that reports the progress of a training run to Milepost. Copy this file: it needs the standard library and the injected variables.
As a command: push.py [--progress PERCENT] [--remaining SECONDS] [--metric NAME=VALUE]... [--step STEP] [--patience SECONDS]"""
import argparse, http.client, itertools, json, os, random, ssl, sys, threading, time
from datetime import datetime, timezone
from urllib.parse import urlsplit

_sequence = itertools.count(time.time_ns() // 1_000_000)  # goes up, also when the program starts again
_CONTAINER = "KUBEFLOW_TRAINER_STATUS_CONTAINER"
_said = set()


def _say(text):
    if text not in _said:
        _said.add(text)
        print(f"milepost: {text}", file=sys.stderr)


def _try(url, body, outcome):
    try:  # Token and CA are renewed while the pod runs, so both are read for each try.
        with open(os.environ["KUBEFLOW_TRAINER_STATUS_TOKEN"]) as file:
            headers = {"Authorization": f"Bearer {file.read().strip()}", "Content-Type": "application/json"}
        trust = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_STATUS_CA_CERT"])
        connection = http.client.HTTPSConnection(urlsplit(url).netloc, timeout=5, context=trust)
        connection.request("POST", urlsplit(url).path, body, headers)
        answer = connection.getresponse()
        text = answer.read(1 << 20).decode(errors="replace")
        connection.close()
        outcome.update(status=answer.status, retry_after=answer.headers.get("Retry-After", ""), text=text)
    except Exception as error:
        outcome.update(status=0, retry_after="", text=f"{type(error).__name__}: {error}")


def push(progress=None, remaining=None, metrics={}, patience=15, step=None):
    """Sends progress in percent, the seconds that are left, and metrics; goes on trying for `patience` seconds.
    `step`, an integer from 0, is the training's own count, for early-stopping rules with the unit "step".
    Returns None, or `{"reason": ..., "message": ...}` where the training is told to stop. Never raises."""
    url = os.environ.get("KUBEFLOW_TRAINER_STATUS_URL")
    if not url:
        return None
    status = {"lastUpdatedTime": datetime.now(timezone.utc).isoformat()}
    if progress is not None:
        status["progressPercentage"] = progress
    if remaining is not None:
        status["estimatedRemainingSeconds"] = remaining
    if metrics:
        status["metrics"] = [{"name": str(name), "value": str(value)} for name, value in metrics.items()]
    if step is not None:
        status["step"] = step
    whose = {"container": os.environ[_CONTAINER]} if os.environ.get(_CONTAINER) else {}
    body = json.dumps({"trainerStatus": status, "sequence": next(_sequence), **whose}, default=str)
    end, pause = time.monotonic() + patience, 0.25
    while True:
        outcome = {"status": 0, "retry_after": "", "text": "no answer within 5 s"}
        tried = threading.Thread(target=_try, args=(url, body, outcome), daemon=True)
        tried.start()
        tried.join(5)  # Also where a name is looked up for ever, or an answer drips.
        code, text = outcome["status"], outcome["text"]
        if code == 200:
            try:
                control = json.loads(text).get("control") or {}
                return control if control.get("stop") is True else None
            except (ValueError, AttributeError):
                return None
        after = int(outcome["retry_after"]) if outcome["retry_after"].isdecimal() else 0
        wait = max(after, pause * random.uniform(0.5, 1.5))
        if (code and code != 429 and code < 500) or time.monotonic() + wait > end:
            return _say(f"progress was not taken: {code or ''} {text.strip()}")
        time.sleep(wait)
        pause *= 2


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--progress", type=int)
    arguments.add_argument("--remaining", type=int)
    arguments.add_argument("--metric", action="append", default=[], type=lambda it: (it[:it.index("=")], it[it.index("=") + 1:]))
    arguments.add_argument("--step", type=int)
    arguments.add_argument("--patience", type=float, default=15)
    given = arguments.parse_args()
    stop = push(given.progress, given.remaining, dict(given.metric), given.patience, given.step)
    if stop:
        print(f"{stop.get('reason')}: {stop.get('message')}")
