"""Tests of checkpoints: said at once, and again with each push; and of what a process goes on from."""

import os
import tempfile
import time
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import milepost
from milepost import Checkpoint, Resumption, resumption
from milepost.endpoint import Answer
from tests.fakes import Bench, FakeEndpoint
from tests.tls_server import TlsServer

VARIABLES = {"MILEPOST_RESTART": "2", "MILEPOST_CHECKPOINT_STEP": "1200", "MILEPOST_CHECKPOINT": "s3://b/1200"}
BY_VARIABLES = Resumption(2, Checkpoint(1200, "s3://b/1200"), answered=False)


class CheckpointTest(unittest.TestCase):
    def setUp(self) -> None:
        self.endpoint = FakeEndpoint()

    def run_of(self, total: "int | None" = 100, **more: Any) -> milepost.Run:
        run = milepost.Run(total, endpoint=self.endpoint, environ={}, **more)
        self.addCleanup(run.close)
        return run

    def test_it_is_pushed_without_another_push_and_clears_nothing(self) -> None:
        run = self.run_of()
        run.push({"loss": 0.5}, step=40)
        run.checkpoint(40, Path("/ckpt/40"))
        run.close()
        last = self.endpoint.taken[-1]
        self.assertEqual(last["checkpoint"], {"step": 40, "location": os.fspath(Path("/ckpt/40"))})
        shown = [*last.get("metrics", []), *last.get("unchanged", [])]
        self.assertEqual((shown, last["progressPercentage"]), ([{"name": "loss", "value": "0.5"}], 40))

    def test_each_request_says_the_newest_again_also_a_history(self) -> None:
        bench = Bench()
        bench.intake.put({"loss": 1.0}, 1, checkpoint=Checkpoint(1))
        bench.pass_time(1)
        bench.endpoint.fail(OSError())
        bench.push_each_second(3, 2)
        bench.intake.put({}, 5, checkpoint=Checkpoint(5, "/5"))
        bench.pass_time(1)
        bench.push_each_second(3, 6)
        bench.endpoint.say(200)
        bench.pass_time(120)
        history = next(body["samples"] for suffix, body in bench.endpoint.requests[::-1] if suffix)
        said = {sample["step"]: sample["checkpoint"] for sample in history if "checkpoint" in sample}
        self.assertEqual((said[5], said[8]), ({"step": 5, "location": "/5"}, {"step": 5, "location": "/5"}))
        self.assertEqual(bench.endpoint.requests[0][1]["trainerStatus"]["checkpoint"], {"step": 1})

    def test_metrics_leave_room_for_it(self) -> None:
        bench = Bench()
        values = {f"{number:03d}" + "\u20ac" * 61: 1.0 for number in range(256)}
        bench.intake.put(values, 1, checkpoint=Checkpoint(1, "\u20ac" * 512))
        bench.pass_time(1)
        self.assertLessEqual(max(bench.endpoint.sizes), 65_536)
        self.assertEqual(bench.endpoint.taken[-1]["checkpoint"]["step"], 1)

    def test_what_is_wrong_is_said_and_the_rest_is_pushed(self) -> None:
        run = self.run_of()
        wrong: list[Any] = ["x" * 513, "\U0001f600" * 257, "a\nb", "a\u202eb", "\ud800", b"bytes"]
        with self.assertLogs("milepost") as logs:
            for number, location in enumerate(wrong):
                run.checkpoint(number, location)
                time.sleep(0.15)
            for step in (-1, 0.5, float("nan"), "x"):
                run.checkpoint(step)  # type: ignore[arg-type]
            run.checkpoint(7, object())  # type: ignore[arg-type]
            run.close()
        said = [one["checkpoint"] for one in self.endpoint.taken]
        self.assertEqual(said[-1], {"step": len(wrong) - 1})
        self.assertTrue(all("location" not in one for one in said))
        self.assertIn("pushed without its location", logs.output[0])

    def test_a_process_that_does_not_push_says_none(self) -> None:
        run = self.run_of(rank=1)
        run.checkpoint(3, "/a")
        run.close()
        run.checkpoint(4)
        self.assertEqual(self.endpoint.taken, [])


class ResumeTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.server = TlsServer(Path(folder.name))
        self.addCleanup(self.server.stop)

    def test_outside_of_a_job_there_is_none(self) -> None:
        self.assertIsNone(milepost.resume(environ={}))

    def test_the_manager_says_it(self) -> None:
        checkpoint = {"step": 7, "location": "/a", "time": "2026-01-01T00:00:00Z"}
        for body, want in (
            ({"trainerStatus": {}}, Resumption()),
            ({"restart": {"count": 3}, "checkpoint": checkpoint}, Resumption(3, Checkpoint(7, "/a"))),
            ({"checkpoint": {"step": 0}}, Resumption(0, Checkpoint(0))),
        ):
            self.server.tells = [(200, body)]
            self.assertEqual(milepost.resume(environ=self.server.environ), want)

    def test_what_it_says_is_newer_than_the_variables(self) -> None:
        self.server.tells = [(200, {"restart": {"count": 3}, "checkpoint": {"step": 1300}})]
        environ = self.server.environ | VARIABLES
        self.assertEqual(milepost.resume(environ=environ), Resumption(3, Checkpoint(1300)))

    def test_a_job_of_which_nothing_is_known(self) -> None:
        self.assertEqual(milepost.resume(environ=self.server.environ), Resumption())
        self.assertEqual(self.server.asked, 1)

    def test_it_is_asked_again_while_there_is_no_leader(self) -> None:
        self.server.tells = [(503, {}), (200, {"restart": {"count": 1}})]
        self.assertEqual(milepost.resume(environ=self.server.environ), Resumption(1))
        self.assertEqual(self.server.asked, 2)

    def test_without_an_answer_the_variables_count(self) -> None:
        self.assertEqual(milepost.resume(environ=VARIABLES), BY_VARIABLES)
        environ = self.server.environ | VARIABLES
        silent: list[tuple[int, object]] = [(503, {}), (403, {}), (200, [1])]
        for tells in silent:
            self.server.tells = [tells]
            with self.subTest(tells=tells):
                self.assertEqual(milepost.resume(environ=environ, patience=0.2), BY_VARIABLES)
        empty: list[tuple[int, object]] = [(404, {}), (200, {"checkpoint": {"step": "x"}, "restart": 1})]
        for tells in empty:
            self.server.tells = [tells]
            with self.subTest(tells=tells):
                want = replace(BY_VARIABLES, answered=True)
                self.assertEqual(milepost.resume(environ=environ, patience=0.2), want)
        for name, bad in (("URL", "ftp://x"), ("TOKEN", "/nowhere"), ("CA_CERT", "/nowhere")):
            broken = environ | {f"KUBEFLOW_TRAINER_STATUS_{name}": bad}
            self.assertEqual(milepost.resume(environ=broken, patience=0.2), BY_VARIABLES)

    def test_no_answer_is_not_that_nothing_was_saved(self) -> None:
        nothing = Resumption(answered=False)
        self.assertNotEqual(nothing, Resumption())
        self.server.tells = [(503, {})]
        with self.assertLogs("milepost", "WARNING") as logs:
            self.assertEqual(milepost.resume(environ=self.server.environ, patience=0.2), nothing)
        self.assertIn("the manager does not say", logs.output[0])
        self.server.tells = [(403, {})]
        asked = self.server.asked
        with self.assertLogs("milepost", "WARNING") as logs:
            self.assertEqual(milepost.resume(environ=self.server.environ), nothing)
        self.assertIn("403", logs.output[0])
        self.assertEqual(self.server.asked, asked + 1)
        broken = self.server.environ | {"KUBEFLOW_TRAINER_STATUS_URL": "ftp://x"}
        self.assertEqual(milepost.resume(environ=broken), nothing)

    def test_a_failover_is_outlasted_without_haste(self) -> None:
        def outage(seconds: float) -> tuple[Resumption | None, list[float]]:
            clock = mock.Mock(now=1000.0)
            pauses: list[float] = []

            def sleep(pause: float) -> None:
                pauses.append(pause)
                clock.now += pause

            body = b'{"checkpoint": {"step": 7}}'
            endpoint = mock.Mock()
            endpoint.get = lambda: Answer(503) if clock.now < 1000 + seconds else Answer(200, body=body)
            clock.monotonic, clock.sleep = lambda: clock.now, sleep
            with mock.patch.object(resumption, "time", clock), mock.patch.object(resumption, "HttpsEndpoint") as made:
                made.return_value = endpoint
                return milepost.resume(environ=self.server.environ), pauses

        went_on, pauses = outage(55)
        self.assertEqual(went_on, Resumption(0, Checkpoint(7)))
        self.assertLess(max(pauses), 5.01)
        self.assertLess(len(pauses), 25)
        self.assertNotEqual(pauses, outage(55)[1])
        never, pauses = outage(1e9)
        self.assertEqual(never, Resumption(answered=False))
        self.assertLess(sum(pauses), 120)

    def test_variables_that_make_no_sense_are_none(self) -> None:
        for value in ("", "-1", "x", "9" * 20):
            bad = {"MILEPOST_RESTART": value, "MILEPOST_CHECKPOINT_STEP": value}
            self.assertIsNone(milepost.resume(environ=bad))

    def test_an_answer_in_drops_does_not_hold_the_training_up(self) -> None:
        self.server.drips = True
        self.server.tells = [(200, {"long": "x" * 1000})]
        began = time.monotonic()
        self.assertEqual(milepost.resume(environ=self.server.environ, patience=0.5), Resumption(answered=False))
        self.assertLess(time.monotonic() - began, 5)


if __name__ == "__main__":
    unittest.main()
