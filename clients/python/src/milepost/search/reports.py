"""Reports of a trial: the values of the objective in its job's log, each with its step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Reports:
    """The reports that a log had so far. `steps` are those that were reported before, of which no other value counts."""

    def __init__(self, objective: str, steps: Iterable[int] = ()) -> None:
        self._objective = objective
        self._steps = set(steps)
        self._ordinals: dict[str, int] = {}
        self.last: float | None = None

    def taken(self, row: Mapping[str, Any]) -> tuple[int, float] | None:
        """Takes a row of the log. Returns step and value of a report; None for what is none, or is of a step that had one.

        The step is the one that was pushed, else the report's place among those of its pod, from 1.
        """
        if row.get("name") != self._objective:
            return None
        try:
            # NaN and infinities, too.
            value = float(row["value"])
        except ValueError:
            return None
        self.last = value
        pod = str(row.get("podUid", ""))
        ordinal = self._ordinals[pod] = self._ordinals.get(pod, 0) + 1
        step = row.get("step")
        step = step if isinstance(step, int) and step >= 0 else ordinal
        if step in self._steps:
            return None
        self._steps.add(step)
        return step, value
