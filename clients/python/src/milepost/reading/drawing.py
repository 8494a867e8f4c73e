"""Job as HTML: its state, and the curve of a metric as SVG. All texts of a job are hostile, and are escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, PAD = 480, 120, 4


def svg_of(points: Sequence[Sequence[float]]) -> str:
    """Returns the last values of points (time, least, greatest, last) as a line."""
    known = [(point[0], point[3]) for point in points if math.isfinite(point[3])]
    if len(known) < 2:
        return ""
    times, values = zip(*known, strict=True)
    first, low = min(times), min(values)
    # In halves, because the spread of two numbers may be more than a number can be.
    wide, high = (max(times) - first) or 1, (max(values) / 2 - low / 2) or 1
    places = [
        (PAD + (time - first) / wide * (WIDTH - 2 * PAD), HEIGHT - PAD - (value / 2 - low / 2) / high * (HEIGHT - 2 * PAD))
        for time, value in known
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">'
        f'<polyline points="{line}" fill="none" stroke="#2563eb" stroke-width="1.5"/></svg>'
    )


def number_of(value: float) -> str:
    """Returns a number for people."""
    return f"{value:.4g}"


def html_of(
    title: str, state: str, progress: int | None, remaining: int | None,
    metric: str, points: Sequence[Sequence[float]], problem: str,
) -> str:  # fmt: skip
    """Returns a job as a piece of a page."""
    parts = [f"<b>{escape(title)}</b> {escape(state)}"]
    if progress is not None:
        parts.append(f'<progress max="100" value="{progress}"></progress> {progress} %')
    if remaining:
        parts.append(f"{remaining} s left")
    html = f"<div>{' · '.join(parts)}</div>"
    if points:
        values = [point[3] for point in points]
        known = [value for value in values if math.isfinite(value)]
        between = f"{number_of(min(known))} to {number_of(max(known))}, " if known else ""
        range_of = f"{between}now {number_of(values[-1])}"
        html += f"<div>{escape(metric)}: {range_of}</div>{svg_of(points)}"
    if problem:
        html += f"<div><i>{escape(problem)}</i></div>"
    return f"<div>{html}</div>"
