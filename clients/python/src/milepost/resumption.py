"""Resumption of a job: how often it was restarted, and the checkpoint from which its processes go on."""

from __future__ import annotations

import json
import os
import random
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException

from .endpoint import DEADLINE_S, HttpsEndpoint
from .notices import Notices
from .surroundings import place_of

LOCATION_MAX = 512
# What the manager sets in pods whose job has it.
_RESTART, _STEP, _LOCATION = "MILEPOST_RESTART", "MILEPOST_CHECKPOINT_STEP", "MILEPOST_CHECKPOINT"
# How long the job's status is asked for: a new leader takes a quarter of a minute and more.
_PATIENCE_S = 90.0
# How long between two times, at most: at first, and after some. Many processes ask, and not all at once.
_PAUSE_S, _PAUSE_MAX_S = 0.5, 5.0
# The job is there, and nothing is known of it yet.
_UNKNOWN = 404
# It refuses for good.
_FINAL = (400, 403, 405, 410, 422)


def is_location(text: str) -> bool:
    """Says whether the endpoint takes a text as the place of a checkpoint; it counts in UTF-16."""
    units = len(text.encode("utf-16-le", errors="surrogatepass")) // 2
    return units <= LOCATION_MAX and not any(unicodedata.category(one).startswith("C") for one in text)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint: the last step whose work it holds, and where it is, if the program has said so."""

    step: int
    location: str | None = None

    def said(self) -> dict[str, object]:
        """Returns it as it is pushed."""
        return {"step": self.step} if self.location is None else {"step": self.step, "location": self.location}


@dataclass(frozen=True)
class Resumption:
    """From where a job goes on: the number of its restarts, and its newest checkpoint.

    Without `answered` nobody has said so: it is what was known when the pod was made, or nothing.
    """

    restart: int = 0
    checkpoint: Checkpoint | None = None
    answered: bool = True


def resume(*, patience: float = _PATIENCE_S, environ: Mapping[str, str] | None = None) -> Resumption | None:
    """Returns from where this process goes on; None outside of a job. Never raises.

    The manager is asked, for about `patience` seconds at most, whatever has started this process: a restart by Milepost, one
    by the JobSet, or a new pod. Its first answer counts. If there is none, `answered` is False, and the variables count
    that were set in the pod: who saves over a checkpoint should not begin anew then. `checkpoint` is None if none was
    said by `Run.checkpoint`. `environ` is for tests.
    """
    notices = Notices()
    around = os.environ if environ is None else environ
    known = None
    try:
        known = _of_variables(around)
        place = place_of(around)
        if place is None:
            return known
        known = known or Resumption(answered=False)
        answer = _asked(HttpsEndpoint(place, deadline_s=min(DEADLINE_S, max(0.1, patience))), patience, notices)
        return _of_answer(answer, known)
    except Exception as error:
        notices.say("what the job goes on from is not known", error)
        return known or Resumption(answered=False)


def _asked(endpoint: HttpsEndpoint, patience: float, notices: Notices) -> object:
    """Returns the status of the job; None if nobody says it."""
    ends_by = time.monotonic() + patience
    pause = _PAUSE_S
    problem: Exception | None = None
    try:
        while True:
            try:
                answer = endpoint.get()
                if answer.status == 200:
                    return json.loads(answer.body)
                if answer.status == _UNKNOWN:
                    return {}
                problem = RuntimeError(f"it answers {answer.status}")
                if answer.status in _FINAL:
                    ends_by = 0.0
            except (OSError, ValueError, HTTPException) as error:
                problem = error
            wait = pause * random.uniform(0.5, 1.0)
            if time.monotonic() + wait >= ends_by:
                notices.say("the manager does not say what the job goes on from", problem)
                return None
            time.sleep(wait)
            pause = min(2 * pause, _PAUSE_MAX_S)
    finally:
        endpoint.close()


def _of_answer(answer: object, known: Resumption) -> Resumption:
    """Returns what the status says, and what was known where it says nothing."""
    if not isinstance(answer, dict):
        return known
    restart, checkpoint = answer.get("restart"), answer.get("checkpoint")
    count = restart.get("count") if isinstance(restart, dict) else None
    saved = _checkpoint_of(checkpoint.get("step"), checkpoint.get("location")) if isinstance(checkpoint, dict) else None
    return Resumption(count if isinstance(count, int) else known.restart, saved or known.checkpoint)


def _checkpoint_of(step: object, location: object) -> Checkpoint | None:
    if not isinstance(step, int) or step < 0:
        return None
    return Checkpoint(step, location if isinstance(location, str) and location else None)


def _of_variables(environ: Mapping[str, str]) -> Resumption | None:
    """Returns what the variables of the container say; None if there are none."""
    restart, step = (_whole(environ.get(name, "")) for name in (_RESTART, _STEP))
    if restart is None and step is None:
        return None
    return Resumption(restart or 0, _checkpoint_of(step, environ.get(_LOCATION)), answered=False)


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 17 else None
