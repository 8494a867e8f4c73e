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

    def test_a_flat_line_stays_in_the_picture(self) -> None:
        self.assertIn('points="4.0,116.0 476.0,116.0"', svg_of([[0, 1, 1, 1], [1, 1, 1, 1]]))


if __name__ == "__main__":
    unittest.main()
