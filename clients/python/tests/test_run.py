"""Tests of a run: it never disturbs the training, and its end is shown."""

import contextlib
import io
import threading
import time
import unittest
from decimal import Decimal
from typing import Any

import milepost
from tests.fakes import FakeEndpoint
from tests.test_interruptions import output_of

# The first that is registered is called last, after what the client does at the end.
_UNREACHABLE = """
import atexit, sys, time
atexit.register(lambda: print(time.monotonic() - began))
import milepost
from tests.fakes import FakeEndpoint

class Silent(FakeEndpoint):
    def post(self, suffix, body):
        time.sleep(60)

runs = [milepost.Run(endpoint=Silent(), environ={}) for _ in range(int(sys.argv[1]))]
for run in runs:
    run.push(loss=1.0)
began = time.monotonic()
if len(runs) == 1:
    runs[0].close()
"""


class QuietTest(unittest.TestCase):
    def test_outside_of_a_job_nothing_happens(self) -> None:
        before = threading.active_count()
        with milepost.Run(total=10, environ={}) as run:
            for step in range(10):
                run.push(step=step, loss=0.5)
            self.assertIsNone(run.stop)
            self.assertEqual(threading.active_count(), before)

    def test_outside_of_a_job_echo_prints(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), milepost.Run(total=2, echo=True, environ={}) as run:
            run.push(step=1, loss=0.5)
        lines = out.getvalue().splitlines()
        self.assertIn(lines[0], ("step 1  50 %  loss 0.5", "step 1  100 %  loss 0.5  0 s left"))
        self.assertEqual(lines[-1], "step 1  100 %  loss 0.5  0 s left")

    def test_only_rank_0_pushes(self) -> None:
        for environ, rank, want in (({"RANK": "1"}, None, 0), ({"RANK": "1"}, 0, 1), ({}, 1, 0)):
            endpoint = FakeEndpoint()
            with milepost.Run(endpoint=endpoint, environ=environ, rank=rank) as run:
                run.push(loss=0.5)
            self.assertEqual(len(endpoint.taken), want)

    def test_nothing_that_is_pushed_raises(self) -> None:
        class Odd:
            def __float__(self) -> float:
                raise RuntimeError("no")

        odd: list[tuple[Any, dict[str, Any]]] = [
            ({"a": Odd(), "b" * 65: 1, "": 2, 5: 3}, {}),
            ({"huge": 10**5000, "none": None, "text": "much", "nan": float("nan")}, {}),
            (None, {"step": "x"}),
            (None, {"step": -1, "loss": 1.0}),
            (None, {"step": 2**60, "progress": float("nan"), "remaining": float("inf")}),
            (7, {}),
            ({"good": Decimal("0.5"), "also": True, "digits": "0.25", "\ud800": 1}, {"progress": 400}),
        ]
        endpoint = FakeEndpoint()
        with self.assertLogs("milepost") as logs:
            run = milepost.Run("many", endpoint=endpoint, environ={})  # type: ignore[arg-type]
            for values, more in odd:
                run.push(values, **more)
            run.close()
            run.push(loss=1.0)
        self.assertGreater(len(logs.output), 5)
        seen = {one["name"]: one["value"] for sample in endpoint.taken for one in sample.get("metrics", [])}
        self.assertEqual(
            seen, {"nan": "nan", "loss": "1.0", "good": "0.5", "also": "1.0", "digits": "0.25", "?": "1"}
        )
        self.assertEqual(endpoint.taken[-1]["progressPercentage"], 100)

    def test_wrong_variables_do_not_raise(self) -> None:
        with self.assertLogs("milepost"):
            run = milepost.Run(environ={"KUBEFLOW_TRAINER_STATUS_URL": "http://[oops"})
        run.push(loss=1.0)
        run.close()


class EndTest(unittest.TestCase):
    def test_a_run_that_is_done_is_at_100_with_its_newest_values(self) -> None:
        endpoint = FakeEndpoint()
        with milepost.Run(total=1000, endpoint=endpoint, environ={}) as run:
            run.push(step=990, loss=0.5)
        last = endpoint.taken[-1]
        self.assertEqual((last["progressPercentage"], last["estimatedRemainingSeconds"]), (100, 0))
        self.assertEqual((last["step"], last["metrics"][0]["value"]), (990, "0.5"))
        self.assertTrue(endpoint.is_closed)

    def test_a_run_of_steps_alone_is_at_100(self) -> None:
        endpoint = FakeEndpoint()
        with milepost.Run(total=100, endpoint=endpoint, environ={}) as run:
            for step in range(100):
                run.push(step=step)
        last = endpoint.taken[-1]
        self.assertEqual((last["step"], last["progressPercentage"]), (99, 100))
        self.assertNotIn("metrics", last)

    def test_the_end_has_the_newest_step_and_no_values_of_another(self) -> None:
        endpoint = FakeEndpoint()
        with milepost.Run(total=1000, endpoint=endpoint, environ={}) as run:
            run.push(step=98, loss=0.5)
            run.push(step=99)
        self.assertEqual([sample["step"] for sample in endpoint.taken], sorted(s["step"] for s in endpoint.taken))
        last = endpoint.taken[-1]
        self.assertEqual((last["step"], last["progressPercentage"]), (99, 100))
        self.assertNotIn("metrics", last)
        self.assertEqual(sum("metrics" in sample for sample in endpoint.taken), 1)

    def test_a_progress_that_was_pushed_ends_at_100(self) -> None:
        endpoint = FakeEndpoint()
        with milepost.Run(endpoint=endpoint, environ={}) as run:
            run.push(progress=40, loss=1.0)
        self.assertEqual(endpoint.taken[-1]["progressPercentage"], 100)

    def test_a_run_whose_last_step_was_pushed_says_it_once(self) -> None:
        endpoint = FakeEndpoint()
        with milepost.Run(total=10, endpoint=endpoint, environ={}) as run:
            run.push(step=10, loss=0.5)
            end = time.monotonic() + 20
            while not endpoint.taken and time.monotonic() < end:
                time.sleep(0.01)
        self.assertEqual([sample["progressPercentage"] for sample in endpoint.taken], [100])

    def test_a_run_that_fails_or_is_stopped_is_not(self) -> None:
        endpoint = FakeEndpoint()
        with self.assertRaises(ZeroDivisionError), milepost.Run(100, endpoint=endpoint, environ={}) as run:
            run.push(step=50, loss=0.5)
            _ = 1 // 0
        self.assertEqual(endpoint.taken[-1]["progressPercentage"], 50)
        endpoint.say(200, body={"control": {"stop": True, "reason": "Pruned", "message": "bad"}})
        with milepost.Run(100, endpoint=endpoint, environ={}) as run:
            while not run.stop:
                run.push(step=60)
        self.assertEqual(str(run.stop), "Pruned: bad")
        self.assertEqual(endpoint.taken[-1]["progressPercentage"], 60)

    def test_the_end_waits_for_its_patience_and_not_longer(self) -> None:
        endpoint = FakeEndpoint()
        endpoint.fail(OSError("away"))
        began = time.monotonic()
        with self.assertLogs("milepost"), milepost.Run(endpoint=endpoint, environ={}, patience=0.3) as run:
            run.push(loss=1.0)
        self.assertLess(time.monotonic() - began, 3)

    def test_endpoints_that_do_not_answer_cost_the_end_of_a_program_3_s_together(self) -> None:
        for runs in ("1", "3"):
            seconds = float(output_of(_UNREACHABLE, runs))
            self.assertGreaterEqual(seconds, 2.5)
            # One after the other they would take 6 s or more.
            self.assertLess(seconds, 5.5)


class HelpTest(unittest.TestCase):
    def test_the_help_shows_nothing_of_the_environment(self) -> None:
        for name in ("Run", "job", "compare"):
            shown = output_of(f"import milepost; help(milepost.{name})", environ={"SECRET": "hunter" + "2"})
            self.assertNotIn("hunter2", shown)
            self.assertNotRegex(shown, r"environ\(|<[^>]* at 0x")


class ListeningTest(unittest.TestCase):
    def test_a_run_that_only_listens_hears_a_stop_and_pushes_nothing(self) -> None:
        endpoint = FakeEndpoint()
        endpoint.say(200, body={"control": {"stop": True, "reason": "Pruned", "message": "bad"}})
        with milepost.Run(endpoint=endpoint, environ={}).listen() as run:
            end = time.monotonic() + 20
            while not run.stop and time.monotonic() < end:
                time.sleep(0.01)
        self.assertEqual(str(run.stop), "Pruned: bad")
        self.assertEqual(endpoint.taken, [])
        self.assertTrue(endpoint.is_closed)

    def test_outside_of_a_job_and_after_its_end_it_listens_to_nothing(self) -> None:
        before = threading.active_count()
        run = milepost.Run(environ={}).listen()
        self.assertEqual(threading.active_count(), before)
        run.close()
        endpoint = FakeEndpoint()
        over = milepost.Run(endpoint=endpoint, environ={})
        over.close()
        over.listen()
        self.assertEqual(threading.active_count(), before)


if __name__ == "__main__":
    unittest.main()
