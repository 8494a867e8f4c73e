"""Phase of a run: what the program does, for as long as a `with` lasts, or until it says otherwise."""

from __future__ import annotations

from collections.abc import Callable

PHASES = ("Starting", "Training", "Evaluating", "Checkpointing")


class Phase:
    """What `Run.phase` returns: at the end of a `with` the phase before is said again."""

    def __init__(self, say_before: Callable[[], object]) -> None:
        self._say_before = say_before

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self._say_before()
