"""Tests of refusals: what passes with time is sent again, and of what is final only that is lost."""

import unittest

from milepost.notices import Notices
from tests.fakes import Bench


class RefusalTest(unittest.TestCase):
    def test_retry_after_is_heeded(self) -> None:
        for code in (429, 503):
            with self.subTest(code=code):
                bench = Bench()
                bench.endpoint.say(code, retry_after=20, body={"message": "too often"})
                with self.assertLogs("milepost"):
                    bench.push_each_second(19)
                self.assertEqual(len(bench.endpoint.requests), 1)
                bench.endpoint.say(200)
                bench.push_each_second(11, first=19)
                self.assertEqual(bench.steps(), list(range(30)))

    def test_the_pauses_grow_and_stay_bounded(self) -> None:
        bench = Bench()
        bench.intake.put({"loss": 1.0})
        bench.endpoint.say(500)
        with self.assertLogs("milepost") as logs:
            bench.pass_time(3600)
        self.assertEqual(len(logs.output), 1)
        # 0.5, 1, 2 … 30 s, and then each 30 s.
        self.assertGreater(len(bench.endpoint.requests), 3600 / 45)
        self.assertLess(len(bench.endpoint.requests), 3600 / 30 + 10)

    def test_a_token_that_has_expired_loses_nothing(self) -> None:
        bench = Bench()
        bench.endpoint.say(401)
        with self.assertLogs("milepost"):
            bench.push_each_second(10)
        bench.endpoint.say(200)
        bench.pass_time(60)
        self.assertEqual(bench.steps(), list(range(10)))

    def test_a_final_refusal_is_said_once_and_not_repeated(self) -> None:
        bench = Bench()
        bench.endpoint.say(403, body={"message": "not part of this TrainJob"})
        with self.assertLogs("milepost") as logs:
            bench.push_each_second(5)
        self.assertEqual(len(bench.endpoint.requests), 5)
        self.assertEqual(
            logs.output, ["WARNING:milepost:progress was not taken: 403 not part of this TrainJob"]
        )

    def test_a_history_that_is_refused_loses_only_what_is_wrong(self) -> None:
        for bad in ([0], [57], [199], [3, 4, 150]):
            for code in (400, 413, 422):
                with self.subTest(bad=bad, code=code):
                    bench = Bench()
                    bench.endpoint.fail(OSError("away"))
                    with self.assertLogs("milepost") as logs:
                        bench.push_each_second(200)
                        tried = len(bench.endpoint.requests)
                        bench.endpoint.refuse(lambda sample: sample["step"] in bad, code)
                        bench.pass_time(120)
                    self.assertEqual(bench.steps(), [step for step in range(200) if step not in bad])
                    self.assertLess(len(bench.endpoint.requests) - tried, 100)
                    self.assertEqual(sum(f"{code} bad" in line for line in logs.output), 1)

    def test_a_history_of_a_job_that_is_gone_goes_once(self) -> None:
        for code in (403, 404):
            with self.subTest(code=code):
                bench = Bench()
                bench.endpoint.fail(OSError("away"))
                with self.assertLogs("milepost"):
                    bench.push_each_second(200)
                    tried = len(bench.endpoint.requests)
                    bench.endpoint.say(code)
                    bench.pass_time(60)
                histories = [suffix for suffix, _ in bench.endpoint.requests[tried:] if suffix]
                self.assertEqual(len(histories), 1)

    def test_samples_that_came_in_disorder_are_a_history_in_order(self) -> None:
        bench = Bench()
        bench.endpoint.fail(OSError("away"))
        with self.assertLogs("milepost"):
            for step, moment in enumerate((5.0, 3.0, 4.0, 9.0)):
                bench.clock.now = 1000.0 + moment
                bench.intake.put({"loss": 1.0}, step)
                bench.clock.now = 1010.0
                bench.sender.turn()
        bench.endpoint.say(200)
        bench.pass_time(60)
        times = [sample["lastUpdatedTime"] for sample in bench.endpoint.taken]
        self.assertEqual((times, len(times)), (sorted(times), 4))

    def test_the_metrics_of_a_sample_fit_in_a_request(self) -> None:
        for sign in ("😀", "\x1b", '"'):
            with self.subTest(sign=sign), self.assertLogs("milepost") as logs:
                bench = Bench()
                names = [f"{number:03d}{sign * 61}" for number in range(256)]
                bench.intake.put(dict.fromkeys(names, -1.2345678901234567e-300), 2**53 - 1, 100, 2**31 - 1)
                Notices().say("begins")
                bench.pass_time(1)
                kept = [one["name"] for one in bench.endpoint.taken[0]["metrics"]]
                self.assertEqual(kept, names[: len(kept)])
                self.assertLess(bench.endpoint.sizes[0], 65_536 - 100)
                self.assertEqual(len(logs.output), 1 if len(kept) == 256 else 2)
                self.assertTrue(len(kept) == 256 or bench.endpoint.sizes[0] > 64_500)


if __name__ == "__main__":
    unittest.main()
