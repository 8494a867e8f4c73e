"""Tests of a run: it never disturbs the training, whatever becomes of the endpoint and of the process."""

import contextlib
import copy
import io
import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from decimal import Decimal
from pathlib import Path
from typing import Any

import milepost
from tests.fakes import FakeEndpoint
from tests.tls_server import TlsServer

SOURCES = str(Path(milepost.__file__).parent.parent)


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


class EndpointFaultTest(unittest.TestCase):
    def setUp(self) -> None:
        # What the thread says may come at any time.
        logging.disable()
        self.addCleanup(logging.disable, logging.NOTSET)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.server = TlsServer(Path(folder.name))
        self.addCleanup(self.server.stop)

    def run_of(self, **more: Any) -> milepost.Run:
        run = milepost.Run(environ=self.server.environ, **more)
        self.addCleanup(run.close)
        return run

    def test_a_slow_endpoint_slows_no_push(self) -> None:
        self.server.drips = True
        self.server.control = {"long": "x" * 10_000}
        run = self.run_of(patience=0.1)
        slowest = 0.0
        for step in range(1000):
            began = time.perf_counter()
            run.push(step=step, loss=0.5)
            slowest = max(slowest, time.perf_counter() - began)
            time.sleep(0.0005)
        # Its requests take five seconds.
        self.assertLess(slowest, 2)
        run.close()

    def test_token_and_authority_change_while_it_runs(self) -> None:
        run = self.run_of()
        run.push(step=1)
        self.server.until(lambda: 1 in self.server.steps())
        self.server.token = "token.number.2"
        run.push(step=2)
        self.server.until(lambda: self.server.refused > 0)
        self.server.replace(self.server.token_file, b"token.number.2\n")
        self.server.until(lambda: 2 in self.server.steps())
        authority = self.server.folder / "first.ca"
        self.server.replace(self.server.ca_file, authority.read_bytes())
        run.push(step=3)
        self.server.until(lambda: 3 in self.server.steps())

    def test_a_forked_worker_pushes_nothing_and_its_parent_goes_on(self) -> None:
        run = self.run_of(total=100)
        run.push(step=1)
        self.server.until(lambda: 1 in self.server.steps())
        fork = multiprocessing.get_context("fork")
        for step in range(2, 6):
            run.push(step=step)
            worker = fork.Process(target=_work_of_a_loader, args=(run,))
            worker.start()
            worker.join(20)
            self.assertEqual(worker.exitcode, 0)
            self.server.until(lambda step=step: step in self.server.steps())  # type: ignore[misc]
        self.assertNotIn(99, self.server.steps())
        self.assertEqual(self.server.connections, 1)

    def test_a_copy_for_another_process_does_nothing(self) -> None:
        run = self.run_of()
        for other in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
            other.push(step=99)
            other.close()
        run.push(step=1)
        run.close()
        self.assertEqual(self.server.steps(), [1])

    def program(self, text: str) -> "subprocess.Popen[str]":
        environ = {**os.environ, **self.server.environ, "PYTHONPATH": SOURCES}
        folder = self.server.folder / "work"
        folder.mkdir()
        environ |= {"TMPDIR": str(folder), "HOME": str(folder)}
        command = [sys.executable, "-B", "-c", text]
        return subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True)

    def test_a_program_without_with_sends_what_is_left_when_it_ends(self) -> None:
        with self.program("import milepost; run = milepost.Run(); run.push(step=7)") as program:
            self.assertEqual(program.wait(30), 0)
        self.assertEqual(self.server.steps(), [7])

    def test_a_full_disk_ends_no_training(self) -> None:
        self.server.stop()
        text = """
import logging, sys, milepost
logging.basicConfig(stream=open("/dev/full", "w"))
sys.stdout = sys.stderr = open("/dev/full", "w")
with milepost.Run(total=100, echo=True, patience=0.5) as run:
    for step in range(100):
        run.push(step=step, odd="x", loss=1.0)
with open("done", "w") as file:
    file.write("done")
import os; os._exit(0)
"""
        with self.program(text) as program:
            self.assertEqual(program.wait(30), 0)
        self.assertEqual((self.server.folder / "work" / "done").read_text(), "done")

    def test_a_killed_process_leaves_nothing_behind(self) -> None:
        text = "import milepost, time; run = milepost.Run(); run.push(step=7); time.sleep(60)"
        with self.program(text) as program:
            self.server.until(lambda: 7 in self.server.steps())
            program.send_signal(signal.SIGKILL)
            self.assertEqual(program.wait(10), -signal.SIGKILL)
        self.assertEqual(list((self.server.folder / "work").iterdir()), [])


def _work_of_a_loader(run: milepost.Run) -> None:
    with run:
        run.push(step=99)
        sys.exit(0 if threading.active_count() == 1 and run.stop is None else 1)


if __name__ == "__main__":
    unittest.main()
