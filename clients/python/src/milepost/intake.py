"""Intake of what the training pushes: values of a tenth of a second are merged, the newest of each metric stays."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

from .clock import Clock

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


class Intake:
    """Windows between the training and the thread that sends. Threads may use it at the same time."""

    def __init__(self, clock: Clock) -> None:
        self._monotonic = clock.monotonic
        self._lock = Lock()
        self._open: Window | None = None
        self._closed: list[Window] = []
        self._dropped = 0

    def put(
        self,
        values: dict[str, float],
        step: int | None = None,
        progress: int | None = None,
        remaining: int | None = None,
    ) -> tuple[bool, bool]:
        """Adds values. Returns whether they begin a window, and whether all found room in it."""
        now = self._monotonic()
        with self._lock:
            window = self._open
            begins = window is None or now - window.began >= WINDOW_S
            if window is None or begins:
                self._close()
                window = self._open = Window(now)
            window.at = now
            if step is not None:
                window.step = step
            if progress is not None:
                window.progress = progress
            if remaining is not None:
                window.remaining = remaining
            kept, fits = window.values, True
            for name, value in values.items():
                if name in kept or len(kept) < METRICS:
                    kept[name] = (value, step, now)
                else:
                    fits = False
        return begins, fits

    def _close(self) -> None:
        if self._open is None:
            return
        self._closed.append(self._open)
        self._open = None
        if len(self._closed) > KEPT:
            del self._closed[0]
            self._dropped += 1

    def take(self, *, now: bool = False) -> tuple[list[Window], int]:
        """Returns the windows that are over, with `now` also the one that is not, and how many were dropped."""
        moment = self._monotonic()
        with self._lock:
            if self._open is not None and (now or moment - self._open.began >= WINDOW_S):
                self._close()
            windows, self._closed = self._closed, []
            dropped, self._dropped = self._dropped, 0
        return windows, dropped

    def due(self) -> float | None:
        """Returns the seconds until a window is over; None while there is none."""
        window = self._open
        return None if window is None else max(0.0, window.began + WINDOW_S - self._monotonic())


