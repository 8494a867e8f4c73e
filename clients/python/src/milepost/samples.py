"""Samples of a window, as the status endpoint takes them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .intake import Window
from .resumption import Checkpoint


@dataclass(frozen=True)
class Sample:
    """Values of one step, and how far the run was then."""

    at: float
    step: int | None
    values: dict[str, float]
    progress: int | None
    remaining: int | None
    phase: str | None = None
    checkpoint: Checkpoint | None = None
    # The newest values of the metrics that it has not, which the job goes on to show; and the newest checkpoint.
    unchanged: dict[str, float] = field(default_factory=dict)
    newest_checkpoint: Checkpoint | None = None

    def status(self, time: str, *, is_last: bool = False) -> dict[str, object]:
        """Returns the sample as a `trainerStatus` with this time. Only the last of several is shown by the job."""
        status: dict[str, object] = {"lastUpdatedTime": time}
        if self.progress is not None:
            status["progressPercentage"] = self.progress
        if self.remaining is not None:
            status["estimatedRemainingSeconds"] = self.remaining
        if self.values:
            status["metrics"] = [metric_of(name, value) for name, value in self.values.items()]
        if self.step is not None:
            status["step"] = self.step
        if self.phase is not None:
            status["phase"] = self.phase
        checkpoint = self.checkpoint or (self.newest_checkpoint if is_last else None)
        if checkpoint is not None:
            status["checkpoint"] = checkpoint.said()
        if is_last and self.unchanged:
            status["unchanged"] = [metric_of(name, value) for name, value in self.unchanged.items()]
        return status


def metric_of(name: str, value: float) -> dict[str, str]:
    """Returns a metric as the endpoint takes it."""
    return {"name": name, "value": repr(value)}


class Estimate:
    """How far a run of so many steps is, and how long it will take."""

    def __init__(self, total: int | None) -> None:
        self.total = total
        self._first: tuple[int, float] | None = None

    def of(self, step: int | None, at: float) -> tuple[int | None, int | None]:
        """Returns the progress in percent and the seconds that are left."""
        if self.total is None or step is None:
            return None, None
        if self._first is None or step < self._first[0]:
            self._first = (step, at)
        progress = min(100, 100 * step // self.total)
        steps, seconds = step - self._first[0], at - self._first[1]
        if steps <= 0 or seconds <= 0:
            return progress, None
        left = max(0, self.total - step) * seconds / steps
        return progress, min(round(left), 2**31 - 1)


def _or(value: int | None, other: int | None) -> int | None:
    return other if value is None else value


def samples_of(window: Window, estimate: Estimate) -> list[Sample]:
    """Returns a sample for each step of a window, in the order of time: each value keeps the step of its push."""
    values: dict[int | None, dict[str, float]] = {}
    moments: dict[int | None, float] = {}
    for name, (value, step, at) in window.values.items():
        values.setdefault(step, {})[name] = value
        moments[step] = max(at, moments.get(step, at))
    if window.step not in values and (window.step is not None or not values):
        values[window.step] = {}
        moments[window.step] = window.at
    samples = []
    steps = sorted(values, key=lambda one: moments[one])
    for step in steps:
        at = moments[step]
        progress, remaining = estimate.of(window.step if step is None else step, at)
        # What the program says itself is of its newest push.
        said = (window.progress, window.remaining)
        if step != steps[-1]:
            said = (_or(progress, said[0]), _or(remaining, said[1]))
        samples.append(
            Sample(
                at=at,
                step=step,
                values=values[step],
                progress=_or(said[0], progress),
                remaining=_or(said[1], remaining),
                phase=window.phase,
                checkpoint=window.checkpoint if step == steps[-1] else None,
            )
        )
    return samples
