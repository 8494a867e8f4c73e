"""Arguments of a run and of its pushes: what is wrong among them is left out, and said once."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Mapping
from typing import SupportsFloat, SupportsIndex

from .intake import METRICS
from .notices import Notices, shown
from .phase import PHASES
from .resumption import LOCATION_MAX, is_location

STEP_MAX = 2**53 - 1
SECONDS_MAX = 2**31 - 1
INTEGER_MAX = 2**63
TEXT_MAX = 64
PATIENCE_S = 3.0


class Arguments:
    """What a program hands over, as far as it can be used. Only a mapping that cannot be read raises."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._names: set[str] = set()

    def total(self, value: object) -> int | None:
        """Returns the number of steps, if it is known."""
        if value is None:
            return None
        steps = self._number("the progress is not known: total", value)
        return int(steps) if steps is not None and math.isfinite(steps) and steps >= 1 else None

    def patience(self, value: object) -> float:
        """Returns the seconds that the end of a run may take: infinity for None."""
        if value is None:
            return math.inf
        try:
            seconds = float(value)  # type: ignore[arg-type]
            if not math.isnan(seconds):
                return max(0.0, seconds)
        except Exception:
            pass
        self._notices.say(f"patience is no number of seconds: the end waits for {PATIENCE_S:g} s")
        return PATIENCE_S

    def metrics(self, metrics: Mapping[str, SupportsFloat]) -> dict[str, float]:
        """Returns the numbers with good names."""
        numbers: dict[str, float] = {}
        known = self._names
        for name, value in metrics.items():
            kind = type(value)
            if kind is not float and (kind is not int or not -INTEGER_MAX < value < INTEGER_MAX):  # type: ignore[operator]
                number = self._number(name, value, "not pushed: ")
                if number is None:
                    continue
                value = number
            if name in known or self._is_name(name):
                numbers[name] = value  # type: ignore[assignment]
        return numbers

    def step(self, value: SupportsIndex | SupportsFloat) -> int | None:
        """Returns a step: an integer, also as a float such as 3.0."""
        step: int | None = None
        try:
            step = operator.index(value)  # type: ignore[arg-type]
        except Exception:
            number = self._number("step", value, "not pushed: ")
            if number is None:
                return None
            step = int(number) if number.is_integer() else None
        if step is not None and 0 <= step <= STEP_MAX:
            return step
        self._notices.say(f"not pushed: step is no integer from 0 to {STEP_MAX}")
        return None

    def phase(self, value: object) -> str | None:
        """Returns what the program does, as the endpoint takes it."""
        text = shown(value)
        if (word := text.capitalize()) in PHASES:
            return word
        self._notices.say(f"not pushed: {text!r} is no phase: {', '.join(PHASES).lower()}")
        return None

    def location(self, value: str | os.PathLike[str] | None) -> str | None:
        """Returns where a checkpoint is, as the endpoint takes it."""
        if value is None:
            return None
        text = os.fspath(value)
        if isinstance(text, str) and is_location(text):
            return text
        self._notices.say(f"the checkpoint is pushed without its location: that is no text of at most {LOCATION_MAX} characters")
        return None

    def whole(self, name: str, value: SupportsFloat, most: int) -> int | None:
        """Returns an integer from 0 to that."""
        number = self._number(name, value, "not pushed: ")
        return None if number is None or math.isnan(number) else int(min(max(number, 0.0), most))

    def _number(self, name: object, value: object, before: str = "") -> float | None:
        try:
            return float(value)  # type: ignore[arg-type]
        except Exception as error:
            self._notices.say(f"{before}{shown(name)} is no number ({type(error).__name__})")
            return None

    def _is_name(self, name: object) -> bool:
        if isinstance(name, str) and 1 <= len(name) <= TEXT_MAX:
            if len(self._names) < METRICS:
                self._names.add(name)
            return True
        self._notices.say(f"not pushed: {shown(name)!r}: a metric's name has 1 to {TEXT_MAX} characters")
        return False
