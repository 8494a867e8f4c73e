"""Numbers among what a framework logs."""

from __future__ import annotations

from collections.abc import Mapping


def numbers_of(logged: Mapping[str, object]) -> dict[str, float]:
    """Returns what is a number: frameworks log texts and tensors of several values, too."""
    numbers: dict[str, float] = {}
    for name, value in logged.items():
        try:
            numbers[str(name)] = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, RuntimeError):
            continue
    return numbers
