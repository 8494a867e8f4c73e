"""Tests of phases: said at once and with all that follows, and of a program that does not say them nothing."""

import threading
import unittest
from typing import Any

import milepost
from tests.fakes import FakeEndpoint


class Waiting(FakeEndpoint):
    """An endpoint for which a test waits."""

    def __init__(self) -> None:
        super().__init__()
        self.came = threading.Condition()

    def post(self, suffix: str, body: bytes) -> Any:
        answer = super().post(suffix, body)
        with self.came:
            self.came.notify_all()
        return answer

    def wait_for(self, phase: str) -> dict[str, Any]:
        """Returns the newest sample, once that has the phase."""
        with self.came:
            assert self.came.wait_for(lambda: bool(self.taken) and self.taken[-1].get("phase") == phase, 20)
            return self.taken[-1]


class PhaseTest(unittest.TestCase):
    def setUp(self) -> None:
        self.endpoint = Waiting()

    def run_of(self, total: "int | None" = 100, **more: Any) -> milepost.Run:
        run = milepost.Run(total, endpoint=self.endpoint, environ={}, **more)
        self.addCleanup(run.close)
        return run

    def test_it_is_pushed_at_once_and_clears_nothing(self) -> None:
        run = self.run_of()
        run.phase("training")
        self.endpoint.wait_for("Training")
        run.push({"loss": 0.5}, step=40)
        run.phase("EVALUATING")
        sample = self.endpoint.wait_for("Evaluating")
        shown = [*sample.get("metrics", []), *sample.get("unchanged", [])]
        self.assertEqual(shown, [{"name": "loss", "value": "0.5"}])
        self.assertEqual((sample["step"], sample["progressPercentage"]), (40, 40))

    def test_progress_of_the_programs_own_stays(self) -> None:
        run = self.run_of(None)
        run.push(progress=30, remaining=70)
        run.phase("checkpointing")
        sample = self.endpoint.wait_for("Checkpointing")
        self.assertEqual((sample["progressPercentage"], sample["estimatedRemainingSeconds"]), (30, 70))

    def test_each_push_has_it_once_it_was_said_and_none_before(self) -> None:
        run = self.run_of()
        run.push(step=1)
        run.close()
        self.assertNotIn("phase", self.endpoint.taken[-1])
        run = self.run_of()
        run.phase("training")
        for step in (1, 2):
            run.push(step=step)
        run.close(done=True)
        self.assertEqual({one["phase"] for one in self.endpoint.taken[1:]}, {"Training"})
        self.assertEqual(self.endpoint.taken[-1]["progressPercentage"], 100)

    def test_after_a_with_it_is_as_before(self) -> None:
        run = self.run_of()
        with run.phase("checkpointing"):
            self.endpoint.wait_for("Checkpointing")
            with run.phase("evaluating"):
                self.endpoint.wait_for("Evaluating")
            self.endpoint.wait_for("Checkpointing")
        # Whoever says what else it does trains otherwise.
        self.endpoint.wait_for("Training")
        with self.assertRaises(ZeroDivisionError), run.phase("evaluating"):
            self.endpoint.wait_for("Evaluating")
            _ = 1 // 0
        self.endpoint.wait_for("Training")

    def test_a_word_that_is_none_is_said_once_and_changes_nothing(self) -> None:
        run = self.run_of()
        with self.assertLogs("milepost") as logs:
            for word in ("sleeping", "sleeping", 7):
                with run.phase(word):  # type: ignore[arg-type]
                    run.push(step=1)
            run.close()
        self.assertEqual(len(logs.output), 2)
        self.assertIn("starting, training, evaluating, checkpointing", logs.output[0])
        self.assertNotIn("phase", self.endpoint.taken[-1])

    def test_what_is_said_already_is_not_pushed_again(self) -> None:
        run = self.run_of()
        for _ in range(3):
            run.phase("training")
            self.endpoint.wait_for("Training")
        run.close()
        self.assertEqual(len(self.endpoint.taken), 1)

    def test_after_the_end_of_a_run_of_no_known_length_it_does_not_train(self) -> None:
        run = self.run_of(None)
        run.phase("training")
        run.push(step=3, loss=1.0)
        run.close(done=True)
        last = self.endpoint.taken[-1]
        self.assertEqual((last["step"], last["phase"]), (3, "Starting"))

    def test_a_process_that_does_not_push_says_none(self) -> None:
        run = self.run_of(rank=1)
        with run.phase("training"):
            run.push(step=1)
        run.close()
        run.phase("evaluating")
        self.assertEqual(self.endpoint.taken, [])


if __name__ == "__main__":
    unittest.main()
