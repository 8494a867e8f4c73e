"""Job as HTML: its state, and the curve of a metric as SVG. All that is said of a job is hostile.

Elements are made by `_element` alone, and their texts and values are escaped when the tree is written, so that no field
can be forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, tostring

WIDTH, HEIGHT, PAD = 480, 120, 4


def _element(tag: str, attributes: dict[str, Any], *children: Any) -> Element:
    """Returns an element. A child that is no element is text, whatever it is."""
    element = Element(tag, {name: str(value) for name, value in attributes.items()})
    last = None
    for child in children:
        if isinstance(child, Element):
            element.append(child)
            last = child
        elif last is None:
            element.text = f"{element.text or ''}{child}"
        else:
            last.tail = f"{last.tail or ''}{child}"
    return element


def number_in(value: Any) -> float:
    """Returns a number of an answer; nan for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _svg(points: Sequence[tuple[float, float]]) -> list[Element]:
    """Returns values over time as a line; nothing for less than two."""
    if len(points) < 2:
        return []
    times, values = zip(*points, strict=True)
    first, low = min(times), min(values)
    # In halves, because the spread of two numbers may be more than a number can be.
    wide, high = (max(times) - first) or 1, (max(values) / 2 - low / 2) or 1
    places = [
        (PAD + (time - first) / wide * (WIDTH - 2 * PAD), HEIGHT - PAD - (value / 2 - low / 2) / high * (HEIGHT - 2 * PAD))
        for time, value in points
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    polyline = _element("polyline", {"points": line, "fill": "none", "stroke": "#2563eb", "stroke-width": 1.5})
    size = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "width": WIDTH, "height": HEIGHT, "role": "img"}
    return [_element("svg", size, polyline)]


def number_of(value: float) -> str:
    """Returns a number for people."""
    return f"{value:.4g}"


def _curve(metric: str, points: Sequence[Sequence[float]]) -> list[Element]:
    """Returns the range of a metric, and its last value at each of points (time, least, greatest, last)."""
    if not points:
        return []
    read = [(number_in(point[0]), number_in(point[3])) for point in points]
    known = [(time, value) for time, value in read if math.isfinite(time) and math.isfinite(value)]
    values = [value for _, value in known]
    between = f"{number_of(min(values))} to {number_of(max(values))}, " if values else ""
    now = number_of(read[-1][1])
    return [_element("div", {}, metric, f": {between}now {now}"), *_svg(known)]


def html_of(
    title: str, state: str, progress: int | None, remaining: int | None,
    metric: str, points: Sequence[Sequence[float]], notes: Sequence[str],
) -> str:  # fmt: skip
    """Returns a job as a piece of a page."""
    line: list[Any] = [_element("b", {}, title), " ", state]
    if progress is not None:
        line += [" · ", _element("progress", {"max": 100, "value": progress}), " ", progress, " %"]
    if remaining:
        line += [" · ", remaining, " s left"]
    below = [_element("div", {}, _element("i", {}, note)) for note in notes]
    page = _element("div", {}, _element("div", {}, *line), *_curve(metric, points), *below)
    return tostring(page, encoding="unicode", method="html")
