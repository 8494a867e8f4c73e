"""Tests of the sender: outages, limits and clocks, with time handed in."""

import logging
import unittest
from datetime import datetime

from milepost.control import Stop
from tests.fakes import START, Bench


def seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class SendingTest(unittest.TestCase):
    def test_a_push_goes_alone_and_at_once(self) -> None:
        bench = Bench()
        bench.intake.put({"loss": 0.25}, 7)
        bench.pass_time(0.2)
        [(suffix, body)] = bench.endpoint.requests
        self.assertEqual(suffix, "")
        status = body["trainerStatus"]
        self.assertEqual(status["metrics"], [{"name": "loss", "value": "0.25"}])
        self.assertEqual(status["step"], 7)
        self.assertAlmostEqual(seconds(status["lastUpdatedTime"]), START, places=3)

    def test_no_more_than_ten_requests_a_second(self) -> None:
        bench = Bench()
        for step in range(10_000):
            bench.intake.put({"loss": float(step)}, step)
            bench.pass_time(0.001)
        bench.pass_time(2)
        self.assertLessEqual(len(bench.endpoint.requests), 10 * 12 + 1)
        self.assertEqual(bench.steps()[-1], 9999)
        self.assertGreaterEqual(len(bench.steps()), 95)
        for sample in bench.endpoint.taken:
            self.assertEqual(sample["metrics"], [{"name": "loss", "value": f"{sample['step']}.0"}])

    def test_each_push_says_the_newest_value_of_every_metric(self) -> None:
        bench = Bench()
        bench.intake.put({"val": 0.5, "loss": 3.0}, 0)
        bench.pass_time(0.3)
        for step in (1, 2):
            bench.intake.put({"loss": 2.0}, step)
            bench.pass_time(0.3)
        bench.intake.put({"val": 0.25}, 3)
        bench.pass_time(0.3)
        said = [
            {kind: [(one["name"], one["value"]) for one in sample.get(kind, [])] for kind in ("metrics", "unchanged")}
            for sample in bench.endpoint.taken
        ]
        self.assertEqual(
            said,
            [
                {"metrics": [("val", "0.5"), ("loss", "3.0")], "unchanged": []},
                {"metrics": [("loss", "2.0")], "unchanged": [("val", "0.5")]},
                {"metrics": [("loss", "2.0")], "unchanged": [("val", "0.5")]},
                {"metrics": [("val", "0.25")], "unchanged": [("loss", "2.0")]},
            ],
        )

    def test_of_a_history_only_the_last_sample_says_it(self) -> None:
        bench = Bench()
        bench.endpoint.fail(OSError("away"))
        with self.assertLogs("milepost"):
            for step, name in enumerate(["a", "b", "c"]):
                bench.intake.put({name: float(step)}, step)
                bench.pass_time(1)
        bench.endpoint.say(200)
        bench.pass_time(30)
        *first, last = [sample.get("unchanged") for sample in bench.endpoint.taken]
        self.assertEqual(first, [None, None])
        self.assertEqual([one["name"] for one in last or []], ["b", "a"])

    def test_more_metrics_than_a_push_may_have_are_not_said_again(self) -> None:
        bench = Bench()
        for step in range(3):
            bench.intake.put({f"{step} {number} {'ü' * 40}": 1.0 for number in range(200)}, step)
            bench.pass_time(0.3)
        for sample, size in zip(bench.endpoint.taken, bench.endpoint.sizes):
            self.assertLessEqual(len(sample["metrics"]) + len(sample.get("unchanged", [])), 256)
            self.assertLessEqual(size, 1 << 16)

    def test_an_outage_of_ten_minutes_loses_nothing(self) -> None:
        bench = Bench(total=900)
        bench.push_each_second(100)
        bench.endpoint.fail(ConnectionRefusedError("nobody listens"))
        with self.assertLogs("milepost"):
            bench.push_each_second(600, first=100)
        tried = len(bench.endpoint.requests)
        bench.endpoint.say(200)
        bench.push_each_second(200, first=700)
        self.assertEqual(bench.steps(), list(range(900)))
        times = [sample["lastUpdatedTime"] for sample in bench.endpoint.taken]
        for step, time in enumerate(times):
            self.assertAlmostEqual(seconds(time), START + step, places=3)
        # It was left alone meanwhile, and told all at once.
        self.assertLess(tried, 100 + 40)
        self.assertLess(len(bench.endpoint.requests) - tried, 200)
        self.assertEqual(max(len(body.get("samples", [])) for _, body in bench.endpoint.requests[tried:]) // 100, 6)

    def test_of_more_than_a_thousand_samples_the_oldest_go(self) -> None:
        bench = Bench()
        bench.endpoint.fail(TimeoutError("no answer in time"))
        with self.assertLogs("milepost") as logs:
            bench.push_each_second(1500)
        self.assertTrue(any("the oldest are dropped" in line for line in logs.output))
        bench.endpoint.say(200)
        bench.pass_time(60)
        self.assertEqual(bench.steps(), list(range(500, 1500)))

    def test_a_history_keeps_its_limits_of_samples_and_bytes(self) -> None:
        bench = Bench()
        bench.endpoint.fail(OSError("away"))
        logging.disable()
        self.addCleanup(logging.disable, logging.NOTSET)
        names = [f"{number:03d}{'ü' * 61}" for number in range(256)]
        for step in range(200):
            bench.intake.put(dict.fromkeys(names, 1.0), step)
            bench.pass_time(1)
        bench.endpoint.say(200)
        first = len(bench.endpoint.requests)
        bench.pass_time(100)
        self.assertEqual(bench.steps(), list(range(200)))
        self.assertGreater(len(bench.endpoint.sizes[first:]), 8)
        self.assertLess(max(bench.endpoint.sizes[first:]), 1 << 20)

    def test_an_answer_that_was_lost_leads_to_the_same_samples_again(self) -> None:
        bench = Bench()
        bench.intake.put({"loss": 1.0}, 1)
        bench.endpoint.fail(ConnectionResetError("reset"))
        with self.assertLogs("milepost"):
            bench.pass_time(0.3)
        bench.endpoint.say(200)
        bench.intake.put({"loss": 2.0}, 2)
        bench.pass_time(5)
        (_, lost), (_, history) = bench.endpoint.requests
        self.assertEqual(history["samples"][0], lost["trainerStatus"])


class StopTest(unittest.TestCase):
    STOP = {"control": {"stop": True, "reason": "EarlyStopped", "message": "loss is over 0.5"}}

    def test_the_answer_of_a_push_says_stop(self) -> None:
        bench = Bench()
        bench.endpoint.say(200, body=self.STOP)
        bench.intake.put({"loss": 1.0})
        bench.pass_time(1)
        self.assertEqual(bench.sender.stop, Stop("EarlyStopped", "loss is over 0.5"))

    def test_a_stop_is_heard_while_nothing_is_pushed(self) -> None:
        bench = Bench()
        bench.intake.put({"loss": 1.0}, 1)
        bench.pass_time(1)
        bench.endpoint.say(200, body=self.STOP)
        bench.pass_time(20)
        # It is asked by an empty push: what another program has pushed meanwhile stays the newest.
        self.assertEqual(bench.endpoint.requests[1:], [("", {})])
        self.assertIsNotNone(bench.sender.stop)
        bench.pass_time(100)
        self.assertEqual(len(bench.endpoint.requests), 2)

    def test_who_listens_asks_each_second_and_changes_nothing(self) -> None:
        bench = Bench()
        bench.sender.listen()
        bench.pass_time(10)
        self.assertIn(len(bench.endpoint.requests), range(9, 12))
        self.assertEqual(bench.endpoint.requests[0], ("", {}))
        bench.endpoint.say(200, body=self.STOP)
        bench.pass_time(1.1)
        self.assertEqual(bench.sender.stop, Stop("EarlyStopped", "loss is over 0.5"))
        asked = len(bench.endpoint.requests)
        bench.pass_time(100)
        self.assertEqual(len(bench.endpoint.requests), asked)

    def test_who_listens_may_push(self) -> None:
        bench = Bench()
        bench.sender.listen()
        bench.intake.put({"loss": 1.0}, 1)
        bench.pass_time(5)
        self.assertEqual(bench.steps(), [1])
        self.assertEqual(bench.endpoint.requests[-1], ("", {}))

    def test_who_listens_leaves_alone_who_refuses(self) -> None:
        for code, most in ((403, 10), (429, 20), (503, 20)):
            with self.subTest(code=code), self.assertLogs("milepost") as logs:
                bench = Bench()
                bench.endpoint.say(code)
                bench.sender.listen()
                bench.pass_time(120)
                self.assertLess(len(bench.endpoint.requests), most)
                self.assertEqual(len(logs.output), 1)

    def test_other_answers_do_not_stop(self) -> None:
        for body in ({"control": {"stop": False}}, {"control": 1}, [1], {"control": {"stop": "true"}}):
            with self.subTest(body=body):
                bench = Bench()
                bench.endpoint.say(200, body=body)
                bench.intake.put({"loss": 1.0})
                bench.pass_time(1)
                self.assertIsNone(bench.sender.stop)


class ClockTest(unittest.TestCase):
    def test_a_clock_that_jumps_changes_no_order(self) -> None:
        for jump in (-3600.0, 3600.0):
            with self.subTest(jump=jump):
                bench = Bench()
                bench.endpoint.fail(OSError("away"))
                with self.assertLogs("milepost"):
                    bench.push_each_second(10)
                bench.clock.day += jump
                bench.push_each_second(10, first=10)
                bench.endpoint.say(200)
                bench.pass_time(60)
                self.assertEqual(bench.steps(), list(range(20)))
                times = [seconds(one["lastUpdatedTime"]) for one in bench.endpoint.taken]
                self.assertEqual(times, sorted(times))
                self.assertAlmostEqual(times[-1], START + jump + 19, places=3)


if __name__ == "__main__":
    unittest.main()
