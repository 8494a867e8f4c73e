"""Log of a run: each text once, so that an outage does not fill a pod's log."""

from __future__ import annotations

import logging

_logger = logging.getLogger("milepost")
_TEXTS = 200


class Notices:
    """Says each text once, and no more than so many."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def say(self, text: str, error: Exception | None = None) -> None:
        """Writes a warning, and what the error says of itself. Never raises."""
        if error is not None:
            text = f"{text}: {type(error).__name__}: {shown(error)}"
        if text in self._said or len(self._said) >= _TEXTS:
            return
        self._said.add(text)
        try:
            _logger.warning("%s", text)
        except Exception:  # A handler of the program's own.
            pass


def shown(value: object) -> str:
    """Returns what an object of the program says of itself, shortened. Never raises."""
    try:
        return f"{value!s:.200}"
    except Exception as error:
        return f"(it cannot be shown: {type(error).__name__})"
