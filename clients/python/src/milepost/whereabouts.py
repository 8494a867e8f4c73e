"""Whereabouts of a process: its last step, and the line of the program that its main thread executes."""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType

from .clock import Clock

PLACE_MAX = 48

# Rank, step, seconds since that step, and the place, empty if it is not known: as a heartbeat has it.
Entry = tuple[int, int, float, str]

_LIBRARIES = tuple(os.path.join(os.path.dirname(file), "") for file in (os.__file__, __file__))
_PACKAGES = tuple(os.path.join(os.sep, name, "") for name in ("site-packages", "dist-packages"))


def _is_of_a_library(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith((*_LIBRARIES, "<frozen ")) or any(one in file for one in _PACKAGES)


def place_of(frame: FrameType | None) -> str:
    """Returns file and line of the innermost frame that is the program's own, else of the innermost one."""
    own = frame
    while own is not None and _is_of_a_library(own):
        own = own.f_back
    found = own or frame
    if found is None:
        return ""
    line = f":{found.f_lineno or 0}"
    name = os.path.basename(found.f_code.co_filename)[: PLACE_MAX - len(line)]
    return "".join(one if one.isprintable() and one <= "\uffff" else "?" for one in name) + line


class Whereabouts:
    """Where this process is. The training says its steps; the thread of the run asks."""

    def __init__(self, rank: int, clock: Clock) -> None:
        self.rank = max(0, rank)
        self._monotonic = clock.monotonic
        self._made: tuple[int, float] | None = None

    def made(self, step: int) -> None:
        """Notes that the training has made a step."""
        made = self._made
        if made is None or made[0] != step:
            self._made = (step, self._monotonic())

    def entries(self, now: float) -> list[Entry]:
        """Returns where this process is; nothing before its first step, by which it is compared with others."""
        if self._made is None:
            return []
        step, at = self._made
        main = threading.main_thread().ident
        place = place_of(None if main is None else sys._current_frames().get(main))
        return [(self.rank, step, round(max(0.0, now - at), 1), place)]
