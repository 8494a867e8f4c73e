"""Search by a study: its trials are asked for, given jobs, followed, pruned and told, all in one thread."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from ..errors import SearchError, TrialFailed, Unreachable
from ..pacing import Pace
from .cluster import Cluster, Later
from .reports import Reports
from .study import Stop, identity_of, stoppable
from .trial_jobs import TrialJobs, search_name, variables
from .watch import Watch

# Most jobs of which the manager tells in one stream.
JOBS_MAX = 1000
_TICK_S = 0.5
Space = Callable[[Any], "Mapping[str, object] | None"]
# What a trial remembers: its job, that job's UID, and why it is pruned, each before anything follows from it.
_JOB, _UID, _PRUNED = "milepost:job", "milepost:uid", "milepost:pruned"
_log = logging.getLogger("optuna.milepost")


class _Followed:
    """A trial and its job: what is `due` to be done, why it is `pruned`, and whether it `is_told` while its job still ends."""

    def __init__(self, trial: Trial, name: str, objective: str, known: FrozenTrial | None) -> None:
        self.trial, self.name, self.known = trial, name, known
        self.reports = Reports(objective, known.intermediate_values if known else ())
        attributes = known.user_attrs if known else {}
        self.uid: str | None = attributes.get(_UID)
        self.pruned: str = attributes.get(_PRUNED, "")
        self.job: dict[str, Any] = {}
        self.due: Callable[[_Followed], None] | None = None
        self.is_told = False


class Search:
    """One call of `optimize`. Whatever it is killed at, the next one goes on: names of jobs follow from the study alone."""

    def __init__(self, study: optuna.Study, jobs: TrialJobs, cluster: Cluster, objective: str) -> None:
        self._study, self._jobs, self._cluster, self._objective = study, jobs, cluster, objective
        cluster.check(jobs.job("milepost-search", 0, {}))
        random_id, self._first = identity_of(study, jobs.objective, f"{jobs.kind} in {cluster.namespace}")
        self._name = search_name(study.study_name, random_id)
        self._followed: dict[str, _Followed] = {}
        self._count = 0
        self._pace, self._trouble = Pace(random.random), ""

    def run(
        self, space: Space, trials: int, parallel: int, timeout: float, catch: tuple[type[Exception], ...],
        callbacks: Iterable[Callable[[Any, Any], None]], *, keeps: bool,
    ) -> None:  # fmt: skip
        """Optimizes the study until there is nothing more to do."""
        self._space, self._catch, self._callbacks = space, catch, tuple(callbacks)
        end = time.monotonic() + timeout
        with stoppable(self._study) as stop:
            watch = Watch(lambda positions: self._cluster.observations(self._name, positions))
            try:
                self._resume(watch)
                while self._step(watch, stop, trials, parallel, end):
                    pass
            except BaseException as error:
                # Where the cluster cannot be asked, or refuses, jobs cannot be stopped.
                if not keeps and not isinstance(error, (Unreachable, SearchError)):
                    self._abandon()
                raise
            finally:
                watch.close()

    def _resume(self, watch: Watch) -> None:
        """Takes up the trials of former calls, and waits until it is known which jobs there are."""
        for known in self._study.get_trials(deepcopy=False):
            is_ours = known.user_attrs.get(_JOB) == f"{self._name}-{known.number}"
            is_open = known.state == TrialState.RUNNING and (is_ours or known.number >= self._first)
            if is_ours and not is_open:
                self._count += 1
            elif is_open:
                # Optuna has no public way to a trial that another process has asked for.
                self._begin(Trial(self._study, known._trial_id), known)
        event = None
        while event is None or event[0] != "synced":
            event = watch.next(_TICK_S)
            if event is not None:
                self._take(*event)

    def _step(self, watch: Watch, stop: Stop, trials: int, parallel: int, end: float) -> bool:
        """Does what is due, and takes the next event. Returns whether there may be more to do."""
        while True:
            self._do_what_is_due()
            is_over = self._count >= trials or stop.is_asked or time.monotonic() >= end
            if is_over or len(self._followed) >= parallel:
                break
            self._begin(self._study.ask(), None)
        if is_over and all(one.is_told for one in self._followed.values()):
            return False
        event = watch.next(_TICK_S)
        if event is not None:
            self._take(*event)
        return True

    def _begin(self, trial: Trial, known: FrozenTrial | None) -> None:
        """Follows a trial; one of a former call is `known`."""
        self._count += 1
        name = f"{self._name}-{trial.number}"
        one = self._followed[name] = _Followed(trial, name, self._objective, known)
        if one.uid is None:
            one.due = self._make
        elif one.pruned:
            one.due = self._prune

    def _do_what_is_due(self) -> None:
        """Does it for each trial; after a failure all wait a while."""
        for one in [*self._followed.values()]:
            if one.due is not None and self._pace.wait(time.monotonic()) <= 0:
                self._do(one, one.due)

    def _do(self, one: _Followed, due: Callable[[_Followed], None]) -> None:
        """Does something for a trial, or has it due if it can be done later."""
        one.due = None
        try:
            due(one)
            self._pace, self._trouble = Pace(random.random), ""
        except Later as error:
            one.due = due
            self._pace.failed(time.monotonic(), 0.0)
            if str(error) != self._trouble:
                self._trouble = str(error)
                _log.warning(f"Trial {one.trial.number} waits: {error}")

    def _make(self, one: _Followed) -> None:
        """Makes the job of a trial, once `space` has said what it is made of."""
        if not one.job:
            self._prepare(one)
        if not one.job:
            return
        try:
            self._made(one, self._cluster.create(one.job, self._name))
        except TrialFailed as error:
            self._fail(one, error)

    def _prepare(self, one: _Followed) -> None:
        """Asks `space` for the job. A trial that is known keeps its parameters; one that was left without some fails, and counts for nothing."""
        lost = one.known is not None and _JOB not in one.known.user_attrs
        try:
            values = self._space(one.known or one.trial) or {}
            if not isinstance(values, Mapping):
                raise TypeError(f"space returned {values!r}: return variables by their names, such as {{'LEARNING_RATE': 0.1}}")
            one.job = self._jobs.job(self._name, one.trial.number, variables(values, one.trial.params))
        except Exception as error:
            if lost and isinstance(error, ValueError):
                self._count -= 1
                self._fail(one, TrialFailed("a former call ended before it had all its parameters: another trial takes its place"))
                return
            one.trial.set_user_attr(_JOB, one.name)
            if isinstance(error, optuna.TrialPruned):
                self._tell(one, TrialState.PRUNED)
            else:
                self._fail(one, error)
        else:
            one.trial.set_user_attr(_JOB, one.name)

    def _made(self, one: _Followed, uid: str) -> None:
        one.uid, one.due = uid, None
        one.trial.set_user_attr(_UID, uid)

    def _take(self, event: str, data: Any) -> None:
        """Takes an event of the watch."""
        if event == "synced":
            for unseen in self._followed.values():
                if unseen.uid is not None and unseen.uid not in data:
                    unseen.due = unseen.due or self._look
            return
        one = self._followed.get(data["job"]["name"])
        if one is not None and one.uid is None and event == "observation":
            self._made(one, data["job"]["uid"])
        if one is None or one.uid != data["job"]["uid"]:
            return
        if data.get("problem"):
            _log.warning(f"What trial {one.trial.number} pushes is waited for: {data['problem']}")
        for row in data.get("log", ()):
            self._report(one, row)
        if event == "gone" or (data["state"] != "Running" and not data.get("more")):
            self._end(one, data)

    def _look(self, one: _Followed) -> None:
        """Looks for a job of which the stream does not tell: it may be too new for that."""
        if not self._cluster.has(one.name, str(one.uid)):
            self._end(one, {})

    def _report(self, one: _Followed, row: Mapping[str, Any]) -> None:
        """Reports a value, if the row is one. The pruner is asked after each, until it has decided."""
        report = one.reports.taken(row)
        if report is None or one.is_told:
            return
        step, value = report
        one.trial.report(value, step)
        if not one.pruned and one.trial.should_prune():
            one.pruned = f"{type(self._study.pruner).__name__} of Optuna: {self._objective} {value:g} at step {step}"
            one.trial.set_user_attr(_PRUNED, one.pruned)
            self._do(one, self._prune)

    def _prune(self, one: _Followed) -> None:
        """Stops a job that its trial's pruner does not want. Of one that has ended by itself, its end counts."""
        if self._cluster.stop(one.name, str(one.uid), "Pruned", one.pruned):
            self._tell(one, TrialState.PRUNED, ends=False)

    def _end(self, one: _Followed, data: Mapping[str, Any]) -> None:
        """Tells a trial by the end of its job; one that is gone has no state."""
        state, last = data.get("state"), one.reports.last
        if state == "EarlyStopped":
            self._tell(one, TrialState.PRUNED)
        elif state != "Succeeded":
            why = f"failed: {data.get('reason')}: {data.get('message')}" if state else "was deleted"
            self._fail(one, TrialFailed(f"its job {one.name} {why}"))
        elif last is None or math.isnan(last):
            what = "has never pushed" if last is None else "has at last pushed NaN as"
            self._fail(one, TrialFailed(f"its job {one.name} {what} {self._objective}"))
        else:
            self._tell(one, TrialState.COMPLETE, last)

    def _fail(self, one: _Followed, error: Exception) -> None:
        """Tells that a trial has failed. Raises the error unless it is to be caught."""
        if not one.is_told:
            _log.warning(f"Trial {one.trial.number} failed: {error}")
        is_raised = not one.is_told and not isinstance(error, self._catch)
        self._tell(one, TrialState.FAIL, calls_back=not is_raised)
        if is_raised:
            raise error

    def _tell(
        self, one: _Followed, state: TrialState, value: float | None = None, *, ends: bool = True, calls_back: bool = True,
    ) -> None:  # fmt: skip
        """Tells the study what became of a trial, once; it is followed on if its job has yet to end."""
        if ends:
            del self._followed[one.name]
        if one.is_told:
            return
        one.is_told = True
        told = self._study.tell(one.trial, value, state, skip_if_finished=True)
        if state != TrialState.FAIL:
            _log.info(f"Trial {told.number} is {state.name} with value: {told.value} and parameters: {told.params}.")
        for callback in self._callbacks if calls_back else ():
            callback(self._study, told)

    def _abandon(self) -> None:
        """Stops the jobs that run, and fails their trials. One that cannot be stopped now is left to the next call."""
        for one in [*self._followed.values()]:
            try:
                if one.uid is None or one.is_told or self._cluster.stop(one.name, one.uid, "Interrupted", "the search was interrupted"):
                    self._study.tell(one.trial, state=TrialState.FAIL, skip_if_finished=True)
            except (Later, SearchError) as error:
                _log.warning(f"Trial {one.trial.number} goes on: {error}")
