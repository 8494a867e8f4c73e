"""What an answer of the status endpoint tells the training to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stop:
    """The job is to end: save what you have, and leave the loop."""

    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


def stop_of(answer: object) -> Stop | None:
    """Returns the stop that an answer holds."""
    control = answer.get("control") if isinstance(answer, dict) else None
    if not isinstance(control, dict) or control.get("stop") is not True:
        return None
    return Stop(str(control.get("reason", "")), str(control.get("message", "")))


def warnings_of(answer: object) -> list[str]:
    """Returns what the endpoint warns of."""
    warnings = answer.get("warnings") if isinstance(answer, dict) else None
    return [str(one) for one in warnings] if isinstance(warnings, list) else []
