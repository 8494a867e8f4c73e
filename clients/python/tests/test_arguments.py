"""Tests of what a program hands over: wrong things are left out, and nothing raises."""

import logging
import math
import threading
import unittest
from typing import Any

import milepost
from milepost.arguments import PATIENCE_S, Arguments
from milepost.notices import Notices
from milepost.numbers import numbers_of
from tests.fakes import FakeEndpoint


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Odd:
    """A value of which nothing can be asked."""

    def __float__(self) -> float:
        raise Unspeakable

    __index__ = __float__
    __str__ = __repr__ = __float__  # type: ignore[assignment]


class Hostile:
    """A mapping that cannot be read."""

    def items(self) -> Any:
        raise Unspeakable

    keys = items


class NumbersTest(unittest.TestCase):
    def test_what_is_no_number_is_left_out(self) -> None:
        logged: dict[Any, Any] = {"huge": 10**400, "odd": Odd(), Odd(): 1, "text": "x", "loss": 1, "none": None}
        self.assertEqual(numbers_of(logged), {"loss": 1.0})
        hostile: Any = Hostile()
        self.assertEqual(numbers_of(hostile), {})


class PushTest(unittest.TestCase):
    def pushed(self, *values: Any, **more: Any) -> "tuple[dict[str, Any], list[str]]":
        """Pushes once. Returns the sample, and what was said."""
        endpoint = FakeEndpoint()
        with self.assertLogs("milepost") as logs:
            # One line is there anyhow.
            Notices().say("begins")
            run = milepost.Run(endpoint=endpoint, environ={})
            run.push(*values, **more)
            run.push(*values, **more)
            run.close()
        return endpoint.taken[-1] if endpoint.taken else {}, logs.output[1:]

    def test_a_float_may_be_a_step(self) -> None:
        sample, said = self.pushed(step=3.0, loss=1.0)
        self.assertEqual((sample["step"], said), (3, []))

    def test_only_what_is_wrong_is_left_out_and_said_once(self) -> None:
        wrong: list[dict[str, Any]] = [{"step": one} for one in ("x", 2.5, -1, 2**60, math.inf, math.nan, Odd())]
        wrong += [{"progress": "x"}, {"progress": Odd()}, {"remaining": [1]}, {"other": Odd()}]
        for more in wrong:
            with self.subTest(more=list(more)):
                sample, said = self.pushed(loss=1.0, **more)
                self.assertEqual(sample["metrics"], [{"name": "loss", "value": "1.0"}])
                self.assertEqual([name for name in more if name in sample], [])
                self.assertEqual(len(said), 1)

    def test_errors_without_words_do_not_raise(self) -> None:
        sample, said = self.pushed(Hostile())
        self.assertEqual((sample, len(said)), ({}, 1))
        sample, said = self.pushed({Odd(): 1, "loss": 1.0})
        self.assertEqual((sample["metrics"], len(said)), ([{"name": "loss", "value": "1.0"}], 1))

    def test_an_endpoint_whose_error_has_no_words_ends_no_thread(self) -> None:
        endpoint = FakeEndpoint()
        endpoint.fail(Unspeakable())
        with self.assertLogs("milepost"):
            run = milepost.Run(endpoint=endpoint, environ={}, patience=0.2)
            run.push(loss=1.0)
            run.close()


class PatienceTest(unittest.TestCase):
    def test_what_is_no_number_of_seconds_is_the_default(self) -> None:
        cases: list[tuple[Any, float]] = [
            (0, 0.0), (-1, 0.0), (2.5, 2.5), (None, math.inf), (math.inf, math.inf), (math.nan, PATIENCE_S),
            ("soon", PATIENCE_S), ([], PATIENCE_S), ("4", 4.0), (10**400, PATIENCE_S),
        ]  # fmt: skip
        for value, want in cases:
            with self.subTest(value=value):
                with self.assertLogs("milepost") as logs:
                    Notices().say("begins")
                    self.assertEqual(Arguments(Notices()).patience(value), want)
                self.assertEqual(len(logs.output), 2 if want == PATIENCE_S else 1)

    def test_the_end_raises_for_none_of_them(self) -> None:
        logging.disable()
        self.addCleanup(logging.disable, logging.NOTSET)
        for patience in (math.inf, None, 1e10, 1e300, "soon", math.nan, -1):
            endpoint = FakeEndpoint()
            run = milepost.Run(endpoint=endpoint, environ={}, patience=patience)  # type: ignore[arg-type]
            run.push(loss=1.0)
            run.close()
            # Without patience its thread ends by itself.
            for thread in threading.enumerate():
                if thread.name == "milepost":
                    thread.join(20)
            self.assertEqual(len(endpoint.taken), 1)


if __name__ == "__main__":
    unittest.main()
