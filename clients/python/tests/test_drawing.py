"""Tests of the picture of a job."""

import unittest
from html.parser import HTMLParser
from typing import Any

from milepost.reading.drawing import html_of

HOSTILE = (
    "<script>x</script>",
    '"><img src=x onerror=x>',
    '50" onmouseover="x',
    "' onload='x",
    "</progress></div><iframe src='javascript:x'>",
    "--><svg/onload=x>",
    "]]><b>x",
    "&lt;b&gt;&quot;",
)


class Elements(HTMLParser):
    """Elements of a page with the names of their attributes, and all that is text or a value."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.ends: list[str] = []
        self.texts = ""
        self.values: list[str] = []
        self.others: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.values += [value or "" for _, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        self.ends.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts += data

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_decl(self, decl: str) -> None:
        self.others.append(decl)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)


def html_with(**changed: Any) -> str:
    """Returns a drawing in which each part is there, with some fields changed."""
    fields: dict[str, Any] = {
        "title": "a/b", "state": "Running", "progress": 50, "remaining": 3,
        "metric": "loss", "points": [[0, 1, 1, 1], [1, 2, 2, 2]], "notes": ["it failed", "it is away"],
    }  # fmt: skip
    return html_of(**{**fields, **changed})


def line_of(points: list[list[float]]) -> list[str]:
    """Returns the places of the line, of each line that is drawn."""
    html = Elements(html_of("a", "Running", None, None, "loss", points, []))
    names = [name for tag, attributes in html.elements for name in attributes]
    return [value for name, value in zip(names, html.values, strict=True) if name == "points"]


class DrawingTest(unittest.TestCase):
    def test_no_field_of_an_answer_is_markup(self) -> None:
        want = Elements(html_with())
        for field in ("title", "state", "progress", "remaining", "metric", "notes"):
            for text in HOSTILE:
                with self.subTest(field=field, text=text):
                    seen = Elements(html_with(**{field: [text, text] if field == "notes" else text}))
                    self.assertEqual(seen.elements, want.elements)
                    self.assertEqual(seen.ends, want.ends)
                    self.assertEqual(seen.others, [])
                    self.assertIn(text, seen.texts)

    def test_what_is_no_number_is_not_drawn(self) -> None:
        want = Elements(html_with())
        others: tuple[Any, ...] = (*HOSTILE, None, {}, 10**400)
        for text in others:
            for at in (0, 3):
                hostile: list[Any] = [0, 1, 1, 1]
                hostile[at] = text
                with self.subTest(text=str(text)[:40], at=at):
                    seen = Elements(html_with(points=[[0, 1, 1, 1], hostile, [1, 2, 2, 2]]))
                    self.assertEqual(seen.elements, want.elements)
                    self.assertEqual(seen.values, want.values)
                    self.assertEqual(seen.texts, want.texts)

    def test_a_line_of_points(self) -> None:
        self.assertEqual(line_of([[0, 1, 1, 1], [10, 2, 2, 2]]), ["4.0,116.0 476.0,4.0"])

    def test_too_few_points_are_no_line(self) -> None:
        cases: list[list[list[float]]] = [[], [[0, 1, 1, 1]], [[0, 1, 1, 1], [1, 1, 1, float("nan")]]]
        for points in cases:
            self.assertEqual(line_of(points), [])

    def test_the_greatest_spread_has_places(self) -> None:
        points: list[list[float]] = [[0, 0, 0, -1e308], [1, 0, 0, 0], [2, 0, 0, 1e308]]
        self.assertEqual(line_of(points), ["4.0,116.0 240.0,60.0 476.0,4.0"])

    def test_what_is_not_finite_is_in_no_range(self) -> None:
        nan, inf = float("nan"), float("inf")
        html = html_of("a", "Running", None, None, "loss", [[0, 1, 1, 1], [1, nan, nan, nan], [2, 2, inf, inf], [3, 2, 2, 2]], [])
        self.assertIn("loss: 1 to 2, now 2", html)
        self.assertIn('points="4.0,116.0 476.0,4.0"', html)
        self.assertIn("loss: now nan<", html_of("a", "Running", None, None, "loss", [[0, nan, nan, nan]], []))

    def test_a_flat_line_stays_in_the_picture(self) -> None:
        self.assertEqual(line_of([[0, 1, 1, 1], [1, 1, 1, 1]]), ["4.0,116.0 476.0,116.0"])


if __name__ == "__main__":
    unittest.main()
