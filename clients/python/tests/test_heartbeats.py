"""Tests of heartbeats: where each process of a pod is, also of one that hangs, and what they cost who is not heard."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any
from unittest import mock

import milepost
from milepost.clock import SystemClock
from milepost.control import Stop
from milepost.endpoint import Answer
from milepost.pod_folder import PodFolder
from milepost.surroundings import Place
from milepost.whereabouts import place_of
from tests.fakes import Bench, FakeClock, FakeEndpoint
from tests.test_interruptions import CLIENT, output_of

STOP = {"control": {"stop": True, "reason": "Pruned", "message": "bad"}}
PLACE = Place("https://status:8082/the/path/status", "ca", "token", "trainer")
ENVIRON = {"KUBEFLOW_TRAINER_STATUS_URL": PLACE.url, "KUBEFLOW_TRAINER_STATUS_TOKEN": PLACE.token_file}

# The main thread waits in its own line for somebody who reads the heartbeats.
_HUNG = """
import threading
import milepost, milepost.heart
from tests.fakes import FakeEndpoint
milepost.heart.INTERVAL_S = 0.05
released = threading.Lock()
released.acquire()
class Counting(FakeEndpoint):
    def post(self, suffix, body):
        answer = super().post(suffix, body)
        if len(self.requests) == 3:
            released.release()
        return answer
endpoint = Counting()
run = milepost.Run(endpoint=endpoint, environ={"RANK": "5"})
run.step(7)
released.acquire()
for _, body in endpoint.requests[:3]:
    [[rank, step, seconds, place]] = body["heartbeat"]["ranks"]
    print(rank, step, seconds < 30, place)
run.close()
print(len(endpoint.taken), endpoint.is_closed)
"""

_SIBLING = """
import sys
import milepost, milepost.heart
milepost.heart.INTERVAL_S = 0.05
run = milepost.Run()
run.push(step=811)
print("steps", flush=True)
sys.stdin.readline()
run.close()
"""


def until(condition: "object", text: str) -> None:
    end = time.monotonic() + 30
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, text
        time.sleep(0.005)


class BeatTest(unittest.TestCase):
    def test_where_a_process_is_goes_each_ten_seconds(self) -> None:
        bench = Bench(rank=0)
        bench.pass_time(60)
        self.assertEqual(bench.endpoint.requests, [])
        bench.whereabouts.made(7)
        bench.pass_time(60)
        bench.whereabouts.made(8)
        bench.pass_time(60)
        entries = [entry for [entry] in bench.beats()]
        self.assertIn(len(entries), range(11, 14))
        self.assertEqual({entry[0] for entry in entries}, {0})
        seconds = [entry[2] for entry in entries if entry[1] == 7]
        for one, other in zip(seconds, seconds[1:], strict=False):
            self.assertAlmostEqual(other - one, 9.5, places=1)
        self.assertRegex(entries[-1][3], r"^test_heartbeats\.py:\d+$|^fakes\.py:\d+$")
        self.assertEqual([entry[1] for entry in entries], sorted(entry[1] for entry in entries))

    def test_they_go_beside_pushes_and_hear_a_stop_with_which_they_end(self) -> None:
        bench = Bench(rank=0)
        bench.whereabouts.made(1)
        bench.push_each_second(40)
        self.assertIn(len(bench.beats()), (3, 4, 5))
        self.assertEqual(bench.steps(), list(range(40)))
        bench.endpoint.say(200, body=STOP)
        bench.pass_time(20)
        self.assertEqual(bench.sender.stop, Stop("Pruned", "bad"))
        asked = len(bench.endpoint.requests)
        bench.pass_time(100)
        self.assertEqual(len(bench.endpoint.requests), asked)

    def test_a_pod_that_pushes_nothing_hears_a_stop(self) -> None:
        bench = Bench(rank=3)
        bench.pass_time(20)
        self.assertEqual(bench.beats()[0], [])
        bench.endpoint.say(200, body=STOP)
        bench.pass_time(11)
        self.assertEqual(bench.sender.stop, Stop("Pruned", "bad"))

    def test_an_older_manager_gets_one_and_says_nothing_of_it(self) -> None:
        for code in (400, 404, 422):
            with self.subTest(code=code), self.assertNoLogs("milepost"):
                bench = Bench(rank=0)
                bench.whereabouts.made(1)
                bench.endpoint.say(code)
                bench.pass_time(100)
                self.assertEqual(len(bench.endpoint.requests), 1)
                bench.endpoint.say(200)
                bench.push_each_second(30)
                self.assertEqual(bench.steps(), list(range(30)))
                self.assertEqual(len(bench.beats()), 1)

    def test_an_endpoint_that_is_away_is_asked_no_sooner_and_nothing_is_said(self) -> None:
        with self.assertNoLogs("milepost"):
            bench = Bench(rank=1)
            bench.whereabouts.made(1)
            bench.endpoint.fail(OSError("away"))
            bench.pass_time(100)
            self.assertIn(len(bench.beats()), range(9, 12))
            bench.endpoint.say(429, retry_after=60)
            bench.pass_time(60)
            self.assertIn(len(bench.beats()), range(10, 14))
            bench.endpoint.say(200)
            bench.pass_time(100)
            self.assertGreater(len(bench.beats()), 15)

    def test_what_cannot_be_read_costs_no_sample(self) -> None:
        bench = Bench(rank=0)
        bench.whereabouts.made(1)
        with mock.patch("milepost.whereabouts.place_of", side_effect=RuntimeError("no")):
            bench.push_each_second(30)
        self.assertEqual(bench.steps(), list(range(30)))


class PlaceOfTest(unittest.TestCase):
    def frame_in(self, file: str) -> FrameType:
        names: dict[str, object] = {}
        exec(compile("import sys\ndef inner(): return sys._getframe()\n", file, "exec"), names)
        frame = names["inner"]()  # type: ignore[operator]
        assert isinstance(frame, FrameType)
        return frame

    def test_it_is_of_the_innermost_line_that_is_the_programs_own(self) -> None:
        libraries = (os.__file__, milepost.__file__, "<frozen runpy>", "/v/lib/python3.12/site-packages/torch/x.py")
        for file in libraries:
            with self.subTest(file=file):
                self.assertRegex(place_of(self.frame_in(file)), r"^test_heartbeats\.py:\d+$")
                alone: Any = SimpleNamespace(f_code=SimpleNamespace(co_filename=file), f_lineno=2, f_back=None)
                self.assertEqual(place_of(alone), f"{os.path.basename(file)}:2")
        seen: list[str] = []

        def look(_: object) -> int:
            seen.append(place_of(sys._getframe().f_back))
            return 0

        json.JSONEncoder(default=look, indent=1).encode({"a": object()})
        self.assertRegex(seen[0], r"^test_heartbeats\.py:\d+$")

    def test_it_is_short_and_has_no_control_characters(self) -> None:
        self.assertEqual(place_of(self.frame_in("/a/b/a\u0007b\u202e😀c.py")), "a?b??c.py:2")
        self.assertEqual(place_of(self.frame_in("/a/größe.py")), "größe.py:2")
        self.assertEqual(place_of(self.frame_in(f"/a/{'x' * 100}.py")), f"{'x' * 46}:2")
        self.assertEqual(place_of(None), "")


class PodTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patched = mock.patch("tempfile.tempdir", folder.name)
        patched.start()
        self.addCleanup(patched.stop)
        self.folder = Path(folder.name)

    def body(self, rank: int, step: int, seconds: float) -> bytes:
        return json.dumps({"heartbeat": {"ranks": [[rank, step, seconds, "train.py:88"]]}}).encode()

    def test_of_twenty_processes_the_sixteen_that_are_furthest_behind_are_said(self) -> None:
        bench = Bench(rank=0, folder=lambda clock: PodFolder(PLACE, 0, clock))
        bench.whereabouts.made(100)
        others = [PodFolder(PLACE, rank, bench.clock) for rank in range(1, 20)]
        for rank, other in enumerate(others, 1):
            other.post("", self.body(rank, 99 if rank == 19 else 100, 1.0))
        bench.pass_time(10)
        [ranks] = bench.beats()
        self.assertEqual([entry[0] for entry in ranks], [*range(15), 19])
        self.assertEqual(ranks[-1][1:], [99, 8.5, "train.py:88"])

    def test_a_stop_reaches_all_and_the_last_one_takes_the_folder_away(self) -> None:
        bench = Bench(rank=4, folder=lambda clock: PodFolder(PLACE, 4, clock))
        other = PodFolder(PLACE, 5, bench.clock)
        self.assertEqual(other.post("", self.body(5, 1, 0)).body, b"{}")
        bench.endpoint.say(200, body={"trainerStatus": {"metrics": ["x" * 60] * 1000}, **STOP})
        bench.pass_time(10)
        self.assertEqual(json.loads(other.post("", self.body(5, 1, 0)).body), STOP)
        bench.sender.close()
        self.assertEqual(len(list(self.folder.iterdir())), 1)
        other.close()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_others_have_left_is_not_taken(self) -> None:
        clock = FakeClock()
        first, other = PodFolder(PLACE, 0, clock), PodFolder(PLACE, 1, clock)
        other.post("", self.body(1, 1, 0))
        path = Path(first.path)
        self.assertEqual(path.stat().st_mode & 0o777, 0o700)
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        (path / "2").write_text(json.dumps([ended.pid, 0, [[2, 1, 0, ""]]]))
        for name, text in (("3", "{"), ("4", "[1, 2]"), ("5", "[1, 0, [[1]]]"), ("notes", "[]"), ("stop", "{}")):
            (path / name).write_text(text)
        first.begin()
        self.assertEqual([entry[0] for entry in first.handed(clock.now)], [1])
        self.assertFalse((path / "2").exists() or (path / "stop").exists())

    def test_a_folder_of_somebody_else_is_left_alone(self) -> None:
        clock = FakeClock()
        first, other = PodFolder(PLACE, 0, clock), PodFolder(PLACE, 1, clock)
        (self.folder / "elsewhere").mkdir()
        (self.folder / "elsewhere" / "7").write_text(json.dumps([os.getpid(), 0, [[7, 1, 0, ""]]]))
        os.symlink(self.folder / "elsewhere", first.path)
        self.assertEqual(first.handed(clock.now), [])
        with self.assertRaises(FileExistsError):
            other.post("", self.body(1, 1, 0))
        first.close()
        self.assertTrue(os.path.islink(first.path))

    def test_a_process_that_is_frozen_grows_old_and_one_that_has_ended_goes(self) -> None:
        paths = os.pathsep.join((str(CLIENT / "src"), str(CLIENT)))
        environ = {**os.environ, **ENVIRON, "RANK": "9", "LOCAL_RANK": "1", "TMPDIR": str(self.folder)}
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", _SIBLING],
            env={**environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.kill)
        assert process.stdin is not None and process.stdout is not None
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), "steps\n")
        folder = PodFolder(PLACE, 8, SystemClock())

        def handed() -> "list[tuple[int, int, float, str]]":
            return [one for one in folder.handed(time.monotonic()) if one[3] == "<string>:8"]

        until(handed, "the other process says where it is")
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        [(rank, step, seconds, _)] = handed()
        self.assertEqual((rank, step), (9, 811))
        until(lambda: handed()[0][2] >= seconds + 0.3, "its step grows old")
        process.send_signal(signal.SIGCONT)
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.wait(30), 0)
        self.assertEqual(handed(), [])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_run_that_is_not_the_first_of_its_pod_hears_a_stop_there(self) -> None:
        with mock.patch("milepost.heart.INTERVAL_S", 0.05):
            first = PodFolder(PLACE, 8, FakeClock())
            environ = {**ENVIRON, "RANK": "9", "LOCAL_RANK": "1"}
            with milepost.Run(environ=environ, endpoint=FakeEndpoint()) as run:
                until(lambda: any(self.folder.glob("*/9")), "it says where it is")
                first.tell(Stop("Pruned", "bad"))
                until(lambda: run.stop, "it hears the stop")
                self.assertEqual(str(run.stop), "Pruned: bad")


    def test_where_nothing_can_be_written_the_first_one_pushes_all_the_same(self) -> None:
        endpoint = FakeEndpoint()
        with mock.patch("tempfile.gettempdir", side_effect=FileNotFoundError), self.assertNoLogs("milepost"):
            for rank in ("0", "1"):
                environ = {**ENVIRON, "RANK": rank, "LOCAL_RANK": rank}
                with milepost.Run(environ=environ, endpoint=endpoint) as run:
                    run.push(step=1)
        self.assertEqual(len(endpoint.taken), 1)


class RunTest(unittest.TestCase):
    def test_a_main_thread_that_hangs_is_found(self) -> None:
        lines = output_of(_HUNG).splitlines()
        self.assertEqual(lines, ["5 7 True <string>:17"] * 3 + ["0 True"])

    def test_an_endpoint_that_does_not_answer_costs_the_end_of_a_process_nothing(self) -> None:
        asked, over = threading.Event(), threading.Event()

        class Silent(FakeEndpoint):
            def post(self, suffix: str, body: bytes) -> Answer:
                asked.set()
                over.wait(30)
                raise TimeoutError

        with mock.patch("milepost.heart.INTERVAL_S", 0.05), self.assertNoLogs("milepost"):
            run = milepost.Run(endpoint=Silent(), environ={"RANK": "1"})
            self.assertTrue(asked.wait(20))
            began = time.monotonic()
            run.close()
            self.assertLess(time.monotonic() - began, 2)
            over.set()

    def test_they_can_be_turned_off(self) -> None:
        before = threading.active_count()
        with milepost.Run(endpoint=FakeEndpoint(), environ={"RANK": "1"}, heartbeat=False) as run:
            run.push(step=1)
            run.step(2)
            self.assertEqual(threading.active_count(), before)
            self.assertIsNone(run.stop)

    def test_steps_that_are_none_are_said_and_do_not_raise(self) -> None:
        with self.assertLogs("milepost") as logs:
            run = milepost.Run(endpoint=FakeEndpoint(), environ={"RANK": "1"})
            run.step("x")  # type: ignore[arg-type]
            run.step(-1)
            run.close()
            run.step(3)
        self.assertEqual(len(logs.output), 2)


if __name__ == "__main__":
    unittest.main()
