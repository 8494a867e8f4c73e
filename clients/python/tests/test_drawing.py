"""Tests of the picture of a job."""

import unittest

from milepost.reading.drawing import html_of, svg_of


class DrawingTest(unittest.TestCase):
    def test_texts_of_a_job_are_escaped(self) -> None:
        hostile = "<script>x</script>"
        points = [[0, 1, 1, 1], [1, 2, 2, 2]]
        html = html_of(hostile, hostile, 50, 3, hostile, points, hostile)
        self.assertNotIn("<script>", html)
        self.assertEqual(html.count("&lt;script&gt;"), 4)

    def test_a_line_of_points(self) -> None:
        self.assertIn('points="4.0,116.0 476.0,4.0"', svg_of([[0, 1, 1, 1], [10, 2, 2, 2]]))

    def test_too_few_points_are_no_line(self) -> None:
        cases: list[list[list[float]]] = [[], [[0, 1, 1, 1]], [[0, 1, 1, 1], [1, 1, 1, float("nan")]]]
        for points in cases:
            self.assertEqual(svg_of(points), "")

    def test_the_greatest_spread_has_places(self) -> None:
        self.assertIn('points="4.0,116.0 240.0,60.0 476.0,4.0"', svg_of([[0, 0, 0, -1e308], [1, 0, 0, 0], [2, 0, 0, 1e308]]))

    def test_what_is_no_number_is_in_no_range(self) -> None:
        nan, inf = float("nan"), float("inf")
        html = html_of("a", "Running", None, None, "loss", [[0, 1, 1, 1], [1, nan, nan, nan], [2, 2, inf, inf], [3, 2, 2, 2]], "")
        self.assertIn("loss: 1 to 2, now 2", html)
        self.assertIn('points="4.0,116.0 476.0,4.0"', html)
        self.assertIn("loss: now nan<", html_of("a", "Running", None, None, "loss", [[0, nan, nan, nan]], ""))

    def test_a_flat_line_stays_in_the_picture(self) -> None:
        self.assertIn('points="4.0,116.0 476.0,116.0"', svg_of([[0, 1, 1, 1], [1, 1, 1, 1]]))


if __name__ == "__main__":
    unittest.main()
