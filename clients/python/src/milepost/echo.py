"""Printed samples, for a run that nobody else looks at."""

from __future__ import annotations

from .endpoint import Answer
from .samples import Sample


class EchoEndpoint:
    """An endpoint that takes everything, and keeps nothing."""

    def post(self, suffix: str, body: bytes) -> Answer:
        return Answer(200)

    def close(self) -> None:
        pass

    def forget(self) -> None:
        pass


def line_of(sample: Sample) -> str:
    """Returns a sample as a line."""
    parts = []
    if sample.step is not None:
        parts.append(f"step {sample.step}")
    if sample.progress is not None:
        parts.append(f"{sample.progress} %")
    if sample.phase is not None:
        parts.append(sample.phase.lower())
    if sample.checkpoint is not None:
        parts.append(f"checkpoint of step {sample.checkpoint.step}")
    parts += [f"{name} {value:.6g}" for name, value in sample.values.items()]
    if sample.remaining is not None:
        parts.append(f"{sample.remaining} s left")
    return "  ".join(parts)


def print_sample(sample: Sample) -> None:
    """Prints a sample. Never raises."""
    try:
        print(line_of(sample), flush=True)
    except Exception:  # Nobody reads any more, or the disk is full.
        pass
