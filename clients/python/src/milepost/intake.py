"""Intake of what the training pushes: values of a tenth of a second are merged, the newest of each metric stays."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from .clock import Clock
from .resumption import Checkpoint

WINDOW_S = 0.1
KEPT = 1000
METRICS = 256


@dataclass
class Window:
    """What was pushed within a tenth of a second."""

    began: float
    # By the metric: value, step, and when it was pushed.
    values: dict[str, tuple[float, int | None, float]] = field(default_factory=dict)
    at: float = 0.0
    step: int | None = None
    progress: int | None = None
    remaining: int | None = None
    phase: str | None = None
    checkpoint: Checkpoint | None = None
    is_taken: bool = False


class Intake:
    """Windows between the training and the thread that sends.

    Nobody waits here: a push may come from several threads, from a signal handler or a finalizer that has interrupted
    another push. So there is no lock: each step is one that Python does as a whole.
    """

    def __init__(self, clock: Clock) -> None:
        self._monotonic = clock.monotonic
        self._newest: Window | None = None
        self._windows: deque[Window] = deque(maxlen=KEPT)
        self._is_full = False

    def put(
        self,
        values: dict[str, float],
        step: int | None = None,
        progress: int | None = None,
        remaining: int | None = None,
        phase: str | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> tuple[bool, bool]:
        """Adds values. Returns whether they begin a window, and whether all found room in it."""
        begun = False
        while True:
            now = self._monotonic()
            window = self._newest
            if window is None or window.is_taken or now - window.began >= WINDOW_S:
                window, begun = self._begin(now), True
            window.at = now
            if step is not None:
                window.step = step
            if progress is not None:
                window.progress = progress
            if remaining is not None:
                window.remaining = remaining
            if phase is not None:
                window.phase = phase
            if checkpoint is not None:
                window.checkpoint = checkpoint
            kept, fits = window.values, True
            for name, value in values.items():
                if name in kept or len(kept) < METRICS:
                    kept[name] = (value, step, now)
                else:
                    fits = False
            # One that was taken meanwhile may lack what was just added.
            if not window.is_taken:
                return begun, fits

    def _begin(self, now: float) -> Window:
        window = self._newest = Window(now)
        self._is_full = self._is_full or len(self._windows) == KEPT
        self._windows.append(window)
        return window

    def take(self, *, now: bool = False) -> tuple[list[Window], bool]:
        """Returns the windows that are over, with `now` also the newest, and whether some were dropped before.

        One thread takes.
        """
        windows = []
        while (due := self.due()) is not None and (now or due <= 0):
            window = self._windows.popleft()
            window.is_taken = True
            # A push that is under way sees that it was taken, and goes on with its own.
            windows.append(replace(window, values=window.values.copy()))
        is_full, self._is_full = self._is_full, False
        return windows, is_full

    def due(self) -> float | None:
        """Returns the seconds until a window is over; None while there is none."""
        try:
            began = self._windows[0].began
        except IndexError:
            return None
        return max(0.0, began + WINDOW_S - self._monotonic())
