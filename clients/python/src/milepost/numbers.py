"""Numbers among what a framework logs, and those of them that are new."""

from __future__ import annotations

from collections.abc import Mapping


class NewNumbers:
    """Picks from what is logged the numbers that have changed: frameworks show old ones again and again."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}

    def of(self, logged: Mapping[str, object]) -> dict[str, float]:
        """Returns the numbers that differ from those of last time."""
        numbers: dict[str, float] = {}
        for name, value in logged.items():
            try:
                number = float(value)  # type: ignore[arg-type]
            except (TypeError, ValueError, RuntimeError):  # A text, or a tensor of several values.
                continue
            if self._last.get(str(name)) != number:
                numbers[str(name)] = self._last[str(name)] = number
        return numbers
