"""Pace of requests: how often the endpoint is asked, and how long it is left alone after a failure."""

from __future__ import annotations

from collections.abc import Callable

PUSH_S = 0.1
HISTORY_S = 1.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
LONGEST_RETRY_AFTER_S = 300.0


class Pace:
    """When the next request may go. `random` returns numbers from 0 to 1."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._next = float("-inf")
        self._next_history = float("-inf")
        self._pause = 0.0

    def wait(self, now: float) -> float:
        """Returns the seconds until a request may go."""
        return max(0.0, self._next - now)

    def wait_for_history(self, now: float) -> float:
        """Returns the seconds until a history may go."""
        return max(0.0, self._next - now, self._next_history - now)

    def taken(self, began: float, *, is_history: bool) -> None:
        """Notes that a request that began then was answered for good."""
        self._pause = 0.0
        self._next = began + PUSH_S
        if is_history:
            self._next_history = began + HISTORY_S

    def failed(self, now: float, retry_after: float) -> None:
        """Notes that a request has to go again: not before the endpoint wants it, and not with all others at once."""
        self._pause = min(self._pause * 2, LONGEST_PAUSE_S) or FIRST_PAUSE_S
        asked = min(max(retry_after, 0.0), LONGEST_RETRY_AFTER_S) * (1 + self._random() / 4)
        self._next = now + max(asked, self._pause * (0.5 + self._random()))
