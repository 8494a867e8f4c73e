"""Run of a training program: what it pushes, and whether it is to stop."""

from __future__ import annotations

import atexit
import math
import operator
import os
import random
import threading
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import SupportsFloat, SupportsIndex

from .clock import Clock, SystemClock
from .control import Stop
from .echo import EchoEndpoint, print_sample
from .endpoint import Endpoint, HttpsEndpoint
from .intake import METRICS, WINDOW_S, Intake
from .notices import Notices
from .samples import TEXT_MAX, Estimate
from .sender import Sender
from .surroundings import place_of, rank_of

STEP_MAX = 2**53 - 1
SECONDS_MAX = 2**31 - 1
INTEGER_MAX = 2**63
LATE_S = 0.03
# An endpoint that fails without a word of the sender must not keep a core busy.
_AFTER_ERROR_S = 1.0

_runs: weakref.WeakSet[Run] = weakref.WeakSet()
# Of a forked process: locks and buffers of its parent's thread, which nothing may touch again, not even to free them.
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
    say which process this is. `patience` is how many seconds the end of a run may wait for what was not sent yet.
    `endpoint`, `clock`, `chance` and `environ` are for tests.
    """

    def __init__(
        self,
        total: int | None = None,
        *,
        echo: bool = False,
        rank: int | None = None,
        patience: float = 10.0,
        endpoint: Endpoint | None = None,
        clock: Clock | None = None,
        chance: Callable[[], float] = random.random,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._notices = Notices()
        self._patience = patience
        self._wake = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._idle = True
        self._newest: tuple[dict[str, float], int | None] | None = None
        self._names: set[str] = set()
        self._intake: Intake | None = None
        self._sender: Sender | None = None
        self._endpoint: Endpoint | None = None
        self._chance = chance
        self._clock: Clock = clock or SystemClock()
        try:
            if (rank_of(environ) if rank is None else rank) == 0:
                self._begin(total, echo, endpoint, environ)
        except Exception as error:
            self._notices.say(f"progress is not pushed: {type(error).__name__}: {error}")
        _runs.add(self)

    def _begin(
        self,
        total: int | None,
        echo: bool,
        endpoint: Endpoint | None,
        environ: Mapping[str, str],
    ) -> None:
        place = place_of(environ)
        if endpoint is None:
            if place is not None:
                endpoint = HttpsEndpoint(place)
            elif echo:
                endpoint = EchoEndpoint()
            else:
                return
        intake = Intake(self._clock)
        self._sender = Sender(
            intake,
            endpoint,
            clock=self._clock,
            random=self._chance,
            estimate=Estimate(self._steps(total)),
            notices=self._notices,
            container="" if place is None else place.container,
            echo=print_sample if echo else None,
        )
        self._endpoint = endpoint
        self._intake = intake
        atexit.register(_close, weakref.ref(self))

    def _steps(self, total: int | None) -> int | None:
        try:
            steps = None if total is None else int(total)
        except Exception as error:
            self._notices.say(f"the progress is not known: total is no number ({type(error).__name__})")
            return None
        return steps if steps is not None and steps > 0 else None

    @property
    def stop(self) -> Stop | None:
        """Why the training is to stop; None while it may go on."""
        return None if self._sender is None else self._sender.stop

    def listen(self) -> Run:
        """Listens for a stop without pushing anything, for a program of which another part pushes. Never raises."""
        intake, sender = self._intake, self._sender
        if intake is not None and sender is not None:
            try:
                sender.listen()
                self._awake(intake)
            except Exception as error:
                self._notices.say(f"no stop is heard: {type(error).__name__}: {error}")
        return self

    def push(
        self,
        values: Mapping[str, SupportsFloat] | None = None,
        /,
        *,
        step: SupportsIndex | None = None,
        progress: SupportsFloat | None = None,
        remaining: SupportsFloat | None = None,
        **metrics: SupportsFloat,
    ) -> None:
        """Says how far the training is. Never raises, and waits for nothing.

        Metrics are keywords, or a mapping for names such as "val/loss". A tensor is read here: one on a GPU is
        waited for. `progress` is in percent and `remaining` in seconds, where `total` does not say enough.
        """
        intake = self._intake
        if intake is None:
            return
        try:
            self._put(intake, {**values, **metrics} if values else metrics, step, progress, remaining)
        except Exception as error:
            self._notices.say(f"not pushed: {type(error).__name__}: {error}")

    def _put(
        self,
        intake: Intake,
        metrics: Mapping[str, SupportsFloat],
        step: SupportsIndex | None,
        progress: SupportsFloat | None,
        remaining: SupportsFloat | None,
    ) -> None:
        numbers: dict[str, float] = {}
        known = self._names
        for name, value in metrics.items():
            kind = type(value)
            if kind is not float and (kind is not int or not -INTEGER_MAX < value < INTEGER_MAX):  # type: ignore[operator]
                number = self._number(name, value)
                if number is None:
                    continue
                value = number
            if name in known or self._is_name(name):
                numbers[name] = value  # type: ignore[assignment]
        at = None if step is None else operator.index(step)
        if at is not None and not 0 <= at <= STEP_MAX:
            self._notices.say(f"not pushed: the step {at} is not from 0 to {STEP_MAX}")
            at = None
        if numbers:
            self._newest = (numbers, at)
        begins, fits = intake.put(numbers, at, _whole(progress, 100), _whole(remaining, SECONDS_MAX))
        if begins:
            self._awake(intake)
        if not fits:
            self._notices.say("of more than 256 metrics within a tenth of a second some are not pushed")

    def _number(self, name: str, value: SupportsFloat) -> float | None:
        try:
            return float(value)
        except Exception as error:
            self._notices.say(f"{name!r:.80} is not pushed: it is no number ({type(error).__name__})")
            return None

    def _is_name(self, name: object) -> bool:
        if isinstance(name, str) and 1 <= len(name) <= TEXT_MAX:
            if len(self._names) < METRICS:
                self._names.add(name)
            return True
        self._notices.say(f"{name!r:.80} is not pushed: a metric's name has 1 to {TEXT_MAX} characters")
        return False

    def close(self, *, done: bool = False) -> None:
        """Sends what is left, for as long as `patience` says, and ends. Never raises.

        With `done` the run is shown at 100 percent, unless it was told to stop.
        """
        if done and self.stop is None:
            self._finish()
        intake, thread = self._intake, self._thread
        self._intake = None
        self._closing = True
        self._wake.set()
        if intake is None or thread is None:
            return
        thread.join(self._patience)
        if thread.is_alive():
            self._notices.say("the run has ended before its last samples were taken")

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(done=kind is None)

    def _finish(self) -> None:
        """Pushes the end of a run that nothing has cut short, with its newest values, which stay to be seen."""
        intake, sender, newest = self._intake, self._sender, self._newest
        if intake is None or sender is None or newest is None or sender.total is None:
            return
        values, step = newest
        if step is None or step < sender.total:
            intake.put(values, step, progress=100, remaining=0)

    def _awake(self, intake: Intake) -> None:
        sender, endpoint = self._sender, self._endpoint
        if self._thread is None and sender is not None and endpoint is not None:
            with self._starting:
                if self._thread is None:
                    parts = (intake, sender, endpoint)
                    thread = threading.Thread(target=self._work, args=parts, name="milepost", daemon=True)
                    thread.start()
                    self._thread = thread
        if self._idle:
            self._wake.set()

    def _work(self, intake: Intake, sender: Sender, endpoint: Endpoint) -> None:
        while not self._closing:
            wait = self._turn(sender, closing=False)
            if wait is None or wait > WINDOW_S:
                # Only who sleeps for long is woken: it costs the training a little each time.
                self._idle = True
                wait = wait if intake.due() is None else 0.0
            # A step that takes a part of a tenth of a second must not meet the thread at each of its pushes.
            self._wake.wait(None if wait is None else wait + LATE_S * self._chance())
            self._idle = False
            self._wake.clear()
        end = self._clock.monotonic() + self._patience
        while (wait := self._turn(sender, closing=True)) is not None:
            left = end - self._clock.monotonic()
            if left <= 0:
                self._notices.say("the run has ended before its last samples were taken")
                break
            threading.Event().wait(min(wait, left))
        endpoint.close()

    def _turn(self, sender: Sender, *, closing: bool) -> float | None:
        try:
            return sender.turn(closing=closing)
        except Exception as error:
            self._notices.say(f"progress cannot be sent: {type(error).__name__}: {error}")
            return _AFTER_ERROR_S

    def _forget(self) -> None:
        """Makes the copy of a run in a forked process one that does nothing: its parent goes on."""
        _of_the_parent.append(dict(self.__dict__))
        endpoint = self._endpoint
        self._intake = self._thread = self._sender = self._endpoint = None
        self._starting, self._wake, self._notices = threading.Lock(), threading.Event(), Notices()
        if endpoint is not None:
            endpoint.forget()

    def __reduce__(self) -> tuple[Callable[[], Run], tuple[()]]:
        """A copy for another process, such as a worker that loads data, does nothing."""
        return _inert, ()


def _whole(value: SupportsFloat | None, most: int) -> int | None:
    if value is None:
        return None
    number = float(value)
    return None if math.isnan(number) else int(min(max(number, 0.0), most))


def _inert() -> Run:
    return Run(environ={})


def _close(run: weakref.ref[Run]) -> None:
    living = run()
    if living is not None:
        living.close()


def _after_fork() -> None:
    for run in list(_runs):
        try:
            run._forget()
        except Exception:  # A process that loads data has no use for the words.
            pass


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
