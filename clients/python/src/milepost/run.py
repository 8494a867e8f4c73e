"""Run of a training program: what it pushes, and whether it is to stop."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import SupportsFloat, SupportsIndex

from .arguments import PATIENCE_S, SECONDS_MAX, Arguments
from .clock import Clock
from .control import Stop
from .endpoint import Endpoint
from .intake import METRICS, Intake
from .last_words import LastWords, last_words
from .notices import Notices
from .parts import Wishes, parts_of
from .phase import Phase
from .resumption import Checkpoint
from .sender import Sender
from .surroundings import place_of
from .whereabouts import Whereabouts
from .worker import Worker

_runs: weakref.WeakSet[Run] = weakref.WeakSet()
# Of a forked process: buffers of its parent's thread, which nothing may touch again, not even to free them.
_of_the_parent: list[object] = []


class Run:
    """A training run, shown by Milepost while it goes on.

    >>> with Run(total=1000) as run:
    ...     for step in range(1000):
    ...         run.push(step=step, loss=0.5)
    ...         if run.stop:
    ...             break

    `push` takes a few microseconds, waits for nothing and never raises: a thread sends. Only the process with rank 0
    pushes, and only in a container of a job; elsewhere nothing happens, or with `echo` lines are printed. Of every
    process the thread says each ten seconds at which step and line it is, unless `heartbeat` is False.

    `total` is the number of steps, for progress and remaining time. `rank` is for programs whose variables do not
    say which process this is. `patience` is how many seconds the end of a run may wait for what was not sent yet;
    with None it is as long as it takes. `endpoint`, `clock`, `chance` and `environ` are for tests.

    In a container of a job the exception that ends the program becomes its container's termination message, from
    whichever process fails first, so that the job says why it failed.
    """

    def __init__(
        self,
        total: int | None = None,
        *,
        echo: bool = False,
        rank: int | None = None,
        patience: float | None = PATIENCE_S,
        heartbeat: bool = True,
        endpoint: Endpoint | None = None,
        clock: Clock | None = None,
        chance: Callable[[], float] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._notices = Notices()
        self._arguments = Arguments(self._notices)
        # Values that were pushed last, and their step; and the newest step, also of a push without values.
        self._newest: tuple[dict[str, float], int | None] | None = None
        self._step: int | None = None
        self._last_step: int | None = None
        self._total: int | None = None
        self._is_measured = False
        # Progress and seconds that were pushed with the newest step, and what the program says that it does.
        self._said: tuple[int | None, int | None] = (None, None)
        self._phase: str | None = None
        self._whereabouts: Whereabouts | None = None
        self._intake: Intake | None = None
        self._sender: Sender | None = None
        self._worker: Worker | None = None
        self._last_words: LastWords | None = None
        # Not as a default, which `help` would print.
        around = os.environ if environ is None else environ
        try:
            place = place_of(around)
            if place is not None:
                self._last_words = last_words(around, self._notices)
                self._last_words.take_back()
            steps, seconds = self._arguments.total(total), self._arguments.patience(patience)
            wishes = Wishes(steps, echo, rank, seconds, heartbeat, endpoint, clock, chance)
            parts = parts_of(wishes, around, place, self._notices)
            if parts is not None:
                self._sender, self._worker, self._whereabouts = parts.sender, parts.worker, parts.whereabouts
                # A run that is dropped without a word ends as well.
                self._dropped = weakref.finalize(self, parts.worker.end)
                self._dropped.atexit = False
                if parts.pushes:
                    self._intake, self._total, self._is_measured = parts.intake, steps, steps is not None
        except Exception as error:
            self._notices.say("progress is not pushed", error)
        _runs.add(self)

    @property
    def stop(self) -> Stop | None:
        """Why the training is to stop; None while it may go on.

        Processes hear it at different steps. Those that wait for each other broadcast it: `told = [run.stop]`, then
        `torch.distributed.broadcast_object_list(told, src=0)`.
        """
        return None if self._sender is None else self._sender.stop

    def listen(self) -> Run:
        """Listens for a stop without pushing anything, for a program of which another part pushes. Never raises."""
        sender, worker = self._sender, self._worker
        if self._intake is not None and sender is not None and worker is not None:
            sender.listen()
            worker.wake()
        return self

    def push(
        self,
        values: Mapping[str, SupportsFloat] | None = None,
        /,
        *,
        step: SupportsIndex | SupportsFloat | None = None,
        progress: SupportsFloat | None = None,
        remaining: SupportsFloat | None = None,
        **metrics: SupportsFloat,
    ) -> None:
        """Says how far the training is. Never raises, and waits for nothing.

        Metrics are keywords, or a mapping for names such as "val/loss". Ten times a second are sent at most: of what
        is pushed between two of them each metric's newest value is, with its step, and values before it are not.
        A tensor is read here: one on a GPU is waited for. `progress` is in percent and `remaining` in seconds, where `total` does not
        say enough. Where this process does not push, its step is noted.
        """
        intake, worker = self._intake, self._worker
        if intake is None or worker is None:
            if step is not None:
                self.step(step)
            return
        try:
            arguments = self._arguments
            numbers = arguments.metrics({**values, **metrics} if values else metrics)
            at = None if step is None else arguments.step(step)
            percent = None if progress is None else arguments.whole("progress", progress, 100)
            seconds = None if remaining is None else arguments.whole("remaining", remaining, SECONDS_MAX)
            self._last_step = at
            if at is not None:
                self._step = at
                if self._whereabouts is not None:
                    self._whereabouts.made(at)
            if at is not None or percent is not None or seconds is not None:
                self._said = (percent, seconds)
            if numbers or self._newest is None:
                self._newest = (numbers, at)
            if percent is not None:
                self._is_measured = True
            begins, fits = intake.put(numbers, at, percent, seconds, self._phase)
            if begins:
                worker.wake()
            if not fits:
                self._notices.say(f"of more than {METRICS} metrics within a tenth of a second some are not pushed")
        except Exception as error:
            self._notices.say("not pushed", error)

    def step(self, step: SupportsIndex | SupportsFloat) -> None:
        """Notes a step that is not pushed, in any process of the job: heartbeats tell it. Never raises."""
        whereabouts = self._whereabouts
        try:
            at = None if whereabouts is None else self._arguments.step(step)
            if whereabouts is not None and at is not None:
                whereabouts.made(at)
        except Exception as error:
            self._notices.say("the step is not known", error)

    def phase(self, name: str) -> Phase:
        """Says what the program does from now on: starting, training, evaluating or checkpointing. Never raises.

        It is pushed at once, and with each push after it. As a `with` it is so until its end, and then as before:

        >>> with run.phase("evaluating"):
        ...     evaluate(model)
        """
        before = self._phase
        said = None if self._intake is None else self._arguments.phase(name)
        if said is None:
            return Phase(lambda: None)
        self._do(said)
        return Phase(lambda: self._do(before or "Training"))

    def checkpoint(
        self, step: SupportsIndex | SupportsFloat, location: str | os.PathLike[str] | None = None
    ) -> None:
        """Says that a checkpoint of this step is there, from which the job can go on. Never raises, and waits for nothing.

        Call it once all processes have saved. Only the one with rank 0 pushes it, and says it again with each push.
        `location` is for `milepost.resume`, in words of the program's own, of at most 512 characters.
        """
        intake, worker = self._intake, self._worker
        if intake is None or worker is None:
            return
        try:
            at = self._arguments.step(step)
            if at is None:
                return
            saved = Checkpoint(at, self._arguments.location(location))
            intake.put({}, self._step, *self._said, self._phase, saved)
            worker.wake()
        except Exception as error:
            self._notices.say("the checkpoint is not pushed", error)

    def _do(self, phase: str) -> None:
        """Pushes a phase that is another than before, with the newest progress, which the job goes on to show."""
        intake, worker = self._intake, self._worker
        if intake is None or worker is None or phase == self._phase:
            return
        self._phase = phase
        intake.put({}, self._step, *self._said, phase)
        worker.wake()

    def _beside(self, values: dict[str, float], step: int) -> None:
        """Takes what another part of the program has pushed, so that a phase does not clear it; that is not the end."""
        if self._sender is not None:
            self._sender.show(values)
        self._step = step
        self._said = (None if self._total is None else min(99, 100 * step // self._total), None)

    def close(self, *, done: bool = False) -> None:
        """Sends what is left, for as long as `patience` says, and ends. Never raises.

        With `done` a run whose progress is known is shown at 100 percent, unless it was told to stop.
        """
        if done and self.stop is None:
            self._finish()
        self._intake = self._whereabouts = None
        if self._worker is not None:
            self._worker.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.fail(error)
        self.close(done=kind is None)

    def fail(self, error: BaseException) -> None:
        """Leaves an exception that ends the program in the container's termination message. Never raises.

        The end of a `with`, and an exception that nobody catches, do so by themselves.
        """
        if self._last_words is not None:
            self._last_words.say(error)

    def _finish(self) -> None:
        """Pushes the end of a run that nothing has cut short, with its newest step, and the values that were of it."""
        intake, newest, last, total = self._intake, self._newest, self._last_step, self._total
        if intake is None:
            return
        if self._phase is not None and not self._is_measured:
            # Nobody can see that it is done. Whatever the program does next, it does not train.
            self._do("Starting")
        is_said = last is not None and total is not None and last >= total
        if newest is not None and self._is_measured and not is_said:
            values, at = newest
            if at is not None and at != self._step:
                values, at = {}, self._step
            intake.put(values, at, progress=100, remaining=0, phase=self._phase)

    def _forget(self) -> None:
        """Makes the copy of a run in a forked process one that does nothing: its parent goes on."""
        _of_the_parent.append(dict(self.__dict__))
        worker = self._worker
        self._intake = self._sender = self._worker = self._whereabouts = None
        self._notices = Notices()
        self._arguments = Arguments(self._notices)
        if worker is not None:
            self._dropped.detach()
            worker.forget()

    def __reduce__(self) -> tuple[Callable[[], Run], tuple[()]]:
        """A copy for another process, such as a worker that loads data, does nothing."""
        return _inert, ()


def _inert() -> Run:
    return Run(environ={})


def _after_fork() -> None:
    for run in list(_runs):
        try:
            run._forget()
        except Exception:  # A process that loads data has no use for the words.
            pass


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
