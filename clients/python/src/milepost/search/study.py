"""Study of Optuna, as far as a search needs it: what it remembers of its jobs, and what only Optuna's own loop has."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import optuna

from ..errors import SearchError
from .trial_jobs import objective_text

_ID, _FIRST, _OBJECTIVE, _JOBS = "milepost:id", "milepost:first", "milepost:objective", "milepost:jobs"
# Another one each time, as what is there already is not written: whether it can be shows that trials can be.
_CALL = "milepost:call"


def objective_of(study: optuna.Study, objective: str) -> str:
    """Returns what a study optimizes, such as "minimize loss". Raises `SearchError` for one that cannot be optimized by jobs."""
    if len(study.directions) != 1:
        raise SearchError(f"the study has {len(study.directions)} objectives, and jobs are compared by one: make one with a direction")
    # Optuna has no public name for a study's storage.
    storage: Any = getattr(study._storage, "_backend", study._storage)
    if getattr(storage, "get_heartbeat_interval", lambda: None)() is not None:
        name = type(storage).__name__
        raise SearchError(f"Optuna would fail trials whose jobs run, by the heartbeats of {name}: open it without heartbeat_interval")
    return objective_text(study.direction.name, objective)


def identity_of(study: optuna.Study, objective: str, jobs: str) -> tuple[str, int]:
    """Returns the random id of a study's jobs, and the number of the first trial that may have one; made at its first search.

    Raises `SearchError` if its jobs were others, or if its storage cannot be written.
    """
    known = study.user_attrs
    for key, text in ((_OBJECTIVE, objective), (_JOBS, jobs)):
        if known.get(key, text) != text:
            raise SearchError(f"the study's trials so far have {key} {known[key]!r}, and not {text!r}: give that, or make another study")
    trials = study.get_trials(deepcopy=False)
    # Those that wait are asked for first.
    waiting = (one.number for one in trials if one.state == optuna.trial.TrialState.WAITING)
    first = int(known.get(_FIRST, next(waiting, len(trials))))
    random = str(known.get(_ID) or secrets.token_hex(4))
    try:
        for key, value in {_CALL: secrets.token_hex(4), _OBJECTIVE: objective, _JOBS: jobs, _FIRST: first, _ID: random}.items():
            study.set_user_attr(key, value)
    except Exception as error:
        raise SearchError(f"the study's storage cannot be written: {error.__cause__ or error}") from None
    return random, first


class Stop:
    """`study.stop` while a search optimizes it: Optuna's own raises outside of `Study.optimize`, also when samplers call it."""

    def __init__(self, study: optuna.Study) -> None:
        self._study = study
        self.is_asked = False

    def __call__(self) -> None:
        self.is_asked = True

    def __reduce__(self) -> Any:
        # A copy of the study, such as a callback may save, has Optuna's own.
        return getattr, (self._study, "stop")


@contextmanager
def stoppable(study: Any) -> Iterator[Stop]:
    """Lets `study.stop()` be called by callbacks and samplers. Raises `SearchError` within itself."""
    if isinstance(vars(study).get("stop"), Stop):
        raise SearchError("this study is being optimized already")
    study.stop = stop = Stop(study)
    try:
        yield stop
    finally:
        del study.stop
