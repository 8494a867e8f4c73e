"""Tests of faults: the endpoint is slow or away, files change, processes fork, are killed or run out of disk."""

import copy
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
from pathlib import Path
from typing import Any

import milepost
from tests.tls_server import TlsServer

SOURCES = str(Path(milepost.__file__).parent.parent)


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
