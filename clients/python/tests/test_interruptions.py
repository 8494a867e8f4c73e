"""Tests of pushes that interrupt each other: in signal handlers, finalizers and threads."""

import os
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref
from pathlib import Path

import milepost
from milepost.intake import KEPT, Intake, Window
from tests.fakes import FakeClock, FakeEndpoint

CLIENT = Path(__file__).parent.parent

# The handler of a fast timer finds the main thread in any line of `push`.
_HANDLER = """
import signal, sys, time
import milepost
from tests.fakes import FakeEndpoint

endpoint = FakeEndpoint()
run = milepost.Run(endpoint=endpoint, environ={})
handled = 0

def handler(*_):
    global handled
    handled += 1
    run.push(step=handled, inner=handled)
    if handled == 5000:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if sys.argv[1] == "close":
            run.close()

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
pushed = 0
while handled < 5000:
    pushed += 1
    run.push(step=pushed, outer=pushed)
run.close()
names = {one["name"]: one["value"] for sample in endpoint.taken for one in sample.get("metrics", [])}
# Handlers interrupt each other, too: one of the last is the last that pushes.
assert 4990 <= int(names["inner"]) <= handled, (names, handled)
print(pushed > 0, endpoint.is_closed)
"""

_FINALIZER = """
import gc
import milepost
from tests.fakes import FakeEndpoint

endpoint = FakeEndpoint()
run = milepost.Run(endpoint=endpoint, environ={})

class Pushing:
    def __init__(self):
        self.me = self
    def __del__(self):
        run.push(freed=1.0)

gc.set_threshold(1)
for step in range(20_000):
    Pushing()
    run.push({"step": step}, step=step)
run.close()
print(endpoint.taken[-1]["metrics"], endpoint.is_closed)
"""


def output_of(program: str, *arguments: str, environ: "dict[str, str] | None" = None) -> str:
    """Runs a program, which has to end in time. Returns what it prints."""
    paths = os.pathsep.join((str(CLIENT / "src"), str(CLIENT)))
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": paths, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.strip()


class InterruptionTest(unittest.TestCase):
    def test_a_signal_handler_pushes_while_the_program_does(self) -> None:
        self.assertEqual(output_of(_HANDLER, "push"), "True True")

    def test_a_signal_handler_ends_the_run(self) -> None:
        self.assertEqual(output_of(_HANDLER, "close"), "True True")

    def test_a_finalizer_pushes_while_the_program_does(self) -> None:
        self.assertIn("True", output_of(_FINALIZER))

    def test_threads_lose_nothing_that_each_pushed_last(self) -> None:
        endpoint = FakeEndpoint()
        run = milepost.Run(endpoint=endpoint, environ={})

        def work(number: int) -> None:
            for value in range(2000):
                run.push({f"of {number}": value}, step=value)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        run.close()
        seen = {one["name"]: one["value"] for sample in endpoint.taken for one in sample["metrics"]}
        self.assertEqual(seen, {f"of {number}": "1999" for number in range(8)})


class IntakeTest(unittest.TestCase):
    def test_a_push_whose_window_is_taken_meanwhile_goes_into_the_next(self) -> None:
        clock = FakeClock()
        intake = Intake(clock)
        taken: list[Window] = []

        class Interrupted(dict[str, float]):
            def items(self):  # type: ignore[no-untyped-def]
                if not taken:
                    taken.extend(intake.take(now=True)[0])
                return super().items()

        intake.put(Interrupted(loss=1.0), 7)
        [window], _ = intake.take(now=True)
        self.assertEqual((window.step, window.values), (7, {"loss": (1.0, 7, clock.now)}))
        self.assertEqual([one.values for one in taken], [{}])

    def test_of_too_many_windows_the_oldest_go(self) -> None:
        clock = FakeClock()
        intake = Intake(clock)
        for step in range(KEPT + 5):
            intake.put({}, step)
            clock.move(1)
        windows, is_dropped = intake.take()
        self.assertTrue(is_dropped)
        self.assertEqual([window.step for window in windows], list(range(5, KEPT + 5)))
        self.assertEqual(intake.take(), ([], False))


class DroppedTest(unittest.TestCase):
    def test_a_run_that_is_dropped_sends_what_it_has_and_ends(self) -> None:
        endpoint = FakeEndpoint()
        before = set(threading.enumerate())
        run = milepost.Run(endpoint=endpoint, environ={})
        [thread] = set(threading.enumerate()) - before
        run.push(step=7)
        known = weakref.ref(run)
        del run
        self.assertIsNone(known())
        thread.join(20)
        self.assertEqual([sample["step"] for sample in endpoint.taken], [7])
        self.assertTrue(endpoint.is_closed)


if __name__ == "__main__":
    unittest.main()
