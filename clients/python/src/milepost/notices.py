"""Log of a run: each text once, so that an outage does not fill a pod's log."""

from __future__ import annotations

import logging

_logger = logging.getLogger("milepost")
_TEXTS = 200


class Notices:
    """Says each text once, and no more than so many."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def say(self, text: str) -> None:
        """Writes a warning. Never raises."""
        if text in self._said or len(self._said) >= _TEXTS:
            return
        self._said.add(text)
        try:
            _logger.warning("%s", text)
        except Exception:  # A handler of the program's own.
            pass
