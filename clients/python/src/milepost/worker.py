"""Thread of a run: sends what the training pushes, until the run has ended."""

from __future__ import annotations

import atexit
import math
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from .clock import Clock
from .endpoint import Endpoint
from .intake import WINDOW_S, Intake
from .notices import Notices
from .sender import Sender

LATE_S = 0.03
# An endpoint that fails without a word of the sender must not keep a core busy.
_AFTER_ERROR_S = 1.0

# Those whose threads have not ended: the end of the program waits for them.
_living: set[Worker] = set()


class Worker:
    """A thread that sends what an intake has. It knows nothing of the run, which may be dropped without a word.

    `wake`, `end` and `close` may interrupt each other, in a signal handler or a finalizer: a `SimpleQueue` is made for
    that, an `Event` is not. `patience` is how many seconds the end may take; infinity is as long as it takes.
    """

    def __init__(
        self,
        intake: Intake,
        sender: Sender,
        endpoint: Endpoint,
        *,
        clock: Clock,
        chance: Callable[[], float],
        notices: Notices,
        patience: float,
    ) -> None:
        self._intake = intake
        self._sender = sender
        self._endpoint = endpoint
        self._clock = clock
        self._chance = chance
        self._notices = notices
        self._patience = patience
        self._calls: SimpleQueue[None] = SimpleQueue()
        self._is_idle = False
        self._is_ending = False
        # Until when the end may take, once it has begun: whoever waits for it waits for the same moment.
        self._ends_by = math.inf
        self._thread = threading.Thread(target=self._work, name="milepost", daemon=True)
        self._thread.start()
        _living.add(self)

    def wake(self) -> None:
        """Lets the thread look at what there is, if it sleeps for long: each time costs the training a little."""
        if self._is_idle:
            self._is_idle = False
            self._calls.put(None)

    def end(self) -> None:
        """Lets the thread send what is left, and end."""
        if not self._is_ending:
            self._ends_by = self._clock.monotonic() + self._patience
        self._is_ending = True
        self._calls.put(None)

    def close(self) -> None:
        """Lets the thread send what is left, and waits for its end."""
        self.end()
        left = self._ends_by - self._clock.monotonic()
        self._thread.join(None if math.isinf(left) else min(max(0.0, left), threading.TIMEOUT_MAX))
        if self._thread.is_alive() and self._sender.is_behind:
            self._notices.say("the run has ended before its last samples were taken")

    def forget(self) -> None:
        """Lets go, in a forked process, of what belongs to its parent."""
        _living.discard(self)
        self._endpoint.forget()

    def _work(self) -> None:
        while not self._is_ending:
            wait = self._turn(closing=False)
            if wait is None or wait > WINDOW_S:
                self._is_idle = True
                wait = wait if self._intake.due() is None else 0.0
            # A step that takes a part of a tenth of a second must not meet the thread at each of its pushes.
            self._sleep(None if wait is None else wait + LATE_S * self._chance())
            self._is_idle = False
        while (wait := self._turn(closing=True)) is not None:
            left = self._ends_by - self._clock.monotonic()
            if left <= 0:
                self._notices.say("the run has ended before its last samples were taken")
                break
            self._sleep(min(wait, left))
        self._sender.close()
        _living.discard(self)

    def _sleep(self, seconds: float | None) -> None:
        try:
            self._calls.get(timeout=seconds)
        except Empty:
            pass

    def _turn(self, *, closing: bool) -> float | None:
        try:
            return self._sender.turn(closing=closing)
        except Exception as error:
            self._notices.say("progress cannot be sent", error)
            return _AFTER_ERROR_S


@atexit.register
def _close_all() -> None:
    living = list(_living)
    for worker in living:
        worker.end()
    for worker in living:
        worker.close()
