"""Run of a training program: what it pushes, and whether it is to stop."""

from __future__ import annotations

import os
import random
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import SupportsFloat, SupportsIndex

from .arguments import PATIENCE_S, SECONDS_MAX, Arguments
from .clock import Clock, SystemClock
from .control import Stop
from .echo import EchoEndpoint, print_sample
from .endpoint import Endpoint, HttpsEndpoint
from .intake import METRICS, Intake
from .last_words import LastWords, last_words
from .notices import Notices
from .samples import Estimate
from .sender import Sender
from .surroundings import Place, place_of, rank_of
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
    sends, and only in a container of a job; elsewhere nothing happens, or with `echo` lines are printed.

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
            if (rank_of(around) if rank is None else rank) == 0:
                self._begin(total, echo, patience, endpoint, clock or SystemClock(), chance or random.random, place)
        except Exception as error:
            self._notices.say("progress is not pushed", error)
        _runs.add(self)

    def _begin(
        self,
        total: int | None,
        echo: bool,
        patience: float | None,
        endpoint: Endpoint | None,
        clock: Clock,
        chance: Callable[[], float],
        place: Place | None,
    ) -> None:
        if endpoint is None:
            if place is not None:
                endpoint = HttpsEndpoint(place)
            elif echo:
                endpoint = EchoEndpoint()
            else:
                return
        self._total = self._arguments.total(total)
        self._is_measured = self._total is not None
        intake = Intake(clock)
        sender = Sender(
            intake,
            endpoint,
            clock=clock,
            random=chance,
            estimate=Estimate(self._total),
            notices=self._notices,
            container="" if place is None else place.container,
            echo=print_sample if echo else None,
        )
        self._worker = Worker(
            intake,
            sender,
            endpoint,
            clock=clock,
            chance=chance,
            notices=self._notices,
            patience=self._arguments.patience(patience),
        )
        self._intake, self._sender = intake, sender
        # A run that is dropped without a word ends as well.
        self._dropped = weakref.finalize(self, self._worker.end)
        self._dropped.atexit = False

    @property
    def stop(self) -> Stop | None:
        """Why the training is to stop; None while it may go on, and always in a process that does not have rank 0.

        Programs of several processes broadcast it: `told = [run.stop]`, then
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
        A tensor is read here: one on a GPU is waited for. `progress` is in percent and `remaining` in seconds, where `total` does not say enough.
        """
        intake, worker = self._intake, self._worker
        if intake is None or worker is None:
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
            if numbers or self._newest is None:
                self._newest = (numbers, at)
            if percent is not None:
                self._is_measured = True
            begins, fits = intake.put(numbers, at, percent, seconds)
            if begins:
                worker.wake()
            if not fits:
                self._notices.say(f"of more than {METRICS} metrics within a tenth of a second some are not pushed")
        except Exception as error:
            self._notices.say("not pushed", error)

    def close(self, *, done: bool = False) -> None:
        """Sends what is left, for as long as `patience` says, and ends. Never raises.

        With `done` a run whose progress is known is shown at 100 percent, unless it was told to stop.
        """
        intake, self._intake = self._intake, None
        if intake is None or self._worker is None:
            return
        if done and self.stop is None:
            self._finish(intake)
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

    def _finish(self, intake: Intake) -> None:
        """Pushes the end of a run that nothing has cut short, with its newest step, and the values that were of it."""
        newest, last, total = self._newest, self._last_step, self._total
        is_said = last is not None and total is not None and last >= total
        if newest is not None and self._is_measured and not is_said:
            values, at = newest
            if at is not None and at != self._step:
                values, at = {}, self._step
            intake.put(values, at, progress=100, remaining=0)

    def _forget(self) -> None:
        """Makes the copy of a run in a forked process one that does nothing: its parent goes on."""
        _of_the_parent.append(dict(self.__dict__))
        worker = self._worker
        self._intake = self._sender = self._worker = None
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
