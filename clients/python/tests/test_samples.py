"""Tests of what is merged, and of how far a run is."""

import unittest

from milepost.echo import line_of
from milepost.intake import Intake
from milepost.samples import Estimate, Sample, samples_of
from tests.fakes import FakeClock


class MergingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = FakeClock()
        self.intake = Intake(self.clock)

    def samples(self, total: int | None = None) -> list[list[Sample]]:
        windows, _ = self.intake.take(now=True)
        return [samples_of(window, Estimate(total)) for window in windows]

    def test_the_newest_value_of_a_tenth_of_a_second_stays_with_its_step(self) -> None:
        for step in range(100):
            self.intake.put({"loss": float(step)}, step)
            self.clock.move(0.0009)
        [[sample]] = self.samples()
        self.assertEqual((sample.step, sample.values), (99, {"loss": 99.0}))

    def test_values_of_two_steps_are_two_samples(self) -> None:
        self.intake.put({"loss": 1.0}, 1)
        self.clock.move(0.01)
        self.intake.put({"accuracy": 0.5}, 1)
        self.clock.move(0.01)
        self.intake.put({"loss": 2.0}, 2)
        [[first, second]] = self.samples()
        self.assertEqual((first.step, first.values), (1, {"accuracy": 0.5}))
        self.assertEqual((second.step, second.values), (2, {"loss": 2.0}))
        self.assertLess(first.at, second.at)

    def test_values_of_one_step_are_one_sample(self) -> None:
        self.intake.put({"loss": 1.0}, 1)
        self.intake.put({"accuracy": 0.5}, 1)
        [[sample]] = self.samples()
        self.assertEqual(sample.values, {"loss": 1.0, "accuracy": 0.5})

    def test_a_step_without_values_is_a_sample(self) -> None:
        self.intake.put({"loss": 1.0}, 1)
        self.intake.put({}, 2)
        [[first, second]] = self.samples(total=4)
        self.assertEqual([first.progress, second.progress], [25, 50])
        self.assertEqual(second.values, {})

    def test_what_the_program_says_itself_is_of_the_newest_step(self) -> None:
        self.intake.put({"loss": 1.0}, 1)
        self.clock.move(0.01)
        self.intake.put({"accuracy": 0.5}, 2, progress=100, remaining=0)
        [samples] = self.samples(total=4)
        self.assertEqual([(one.progress, one.remaining) for one in samples], [(25, 0), (100, 0)])

    def test_at_most_256_metrics(self) -> None:
        many = {f"m{number}": 1.0 for number in range(300)}
        self.assertEqual(self.intake.put(many), (True, False))
        [[sample]] = self.samples()
        self.assertEqual(len(sample.values), 256)


class EstimateTest(unittest.TestCase):
    def test_progress_and_remaining_time_of_steps(self) -> None:
        estimate = Estimate(1000)
        self.assertEqual(estimate.of(500, 10.0), (50, None))
        # From a checkpoint: what was before does not count.
        self.assertEqual(estimate.of(600, 30.0), (60, 80))
        self.assertEqual(estimate.of(1000, 110.0), (100, 0))
        self.assertEqual(estimate.of(5000, 120.0)[0], 100)

    def test_without_a_total_or_a_step_nothing_is_known(self) -> None:
        self.assertEqual(Estimate(None).of(5, 1.0), (None, None))
        self.assertEqual(Estimate(10).of(None, 1.0), (None, None))

    def test_a_loop_that_begins_again_counts_from_there(self) -> None:
        estimate = Estimate(100)
        estimate.of(50, 0.0)
        self.assertEqual(estimate.of(0, 100.0), (0, None))
        self.assertEqual(estimate.of(10, 110.0), (10, 90))


class LineTest(unittest.TestCase):
    def test_a_sample_is_a_line(self) -> None:
        sample = Sample(0.0, 40, {"loss": 0.25, "lr": 1e-05}, 4, 12)
        self.assertEqual(line_of(sample), "step 40  4 %  loss 0.25  lr 1e-05  12 s left")


if __name__ == "__main__":
    unittest.main()
