"""Clock of a run, and the times of its samples."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Protocol


class Clock(Protocol):
    """Seconds since some moment, which only grow, and seconds since the epoch, which may jump."""

    def monotonic(self) -> float: ...
    def time(self) -> float: ...


class SystemClock:
    """The clock of this machine."""

    monotonic = staticmethod(time.monotonic)
    time = staticmethod(time.time)


JUMP_S = 1.0


class Stamps:
    """Times of the day for moments of the monotonic clock.

    A moment has the same time whenever it is asked for, so that the endpoint knows a sample that comes again. Only
    when the clock of the machine was set, all moments move with it: their order stays.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset = clock.time() - clock.monotonic()

    def refresh(self) -> None:
        """Looks whether the clock was set."""
        offset = self._clock.time() - self._clock.monotonic()
        if abs(offset - self._offset) > JUMP_S:
            self._offset = offset

    def text(self, moment: float) -> str:
        """Returns the time of a moment as in RFC 3339."""
        at = datetime.fromtimestamp(moment + self._offset, timezone.utc)
        return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
