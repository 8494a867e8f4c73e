"""Numbers among what a framework logs."""

from __future__ import annotations

from collections.abc import Mapping


def numbers_of(logged: Mapping[str, object]) -> dict[str, float]:
    """Returns what is a number: frameworks log texts and tensors of several values, too. Never raises."""
    numbers: dict[str, float] = {}
    try:
        for name, value in logged.items():
            try:
                numbers[str(name)] = float(value)  # type: ignore[arg-type]
            except Exception:
                continue
    except Exception:  # A mapping of the framework's own.
        pass
    return numbers
