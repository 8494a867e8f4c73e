"""Clock and endpoint of tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from milepost.endpoint import Answer
from milepost.heart import Heart
from milepost.intake import Intake
from milepost.notices import Notices
from milepost.pod_folder import PodFolder
from milepost.samples import Estimate
from milepost.sender import Sender
from milepost.whereabouts import Whereabouts

START = 1_800_000_000.0


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.day = START

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.day

    def move(self, seconds: float) -> None:
        self.now += seconds
        self.day += seconds


class FakeEndpoint:
    """An endpoint that answers as it is told, and keeps what it took."""

    def __init__(self) -> None:
        self.answer: Callable[[], Answer] = lambda: Answer(200, body=b"{}")
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.taken: list[dict[str, Any]] = []
        self.sizes: list[int] = []
        self.is_closed = False
        self.is_bad: Callable[[dict[str, Any]], bool] = lambda sample: False
        self.bad = 422

    def post(self, suffix: str, body: bytes) -> Answer:
        parsed = json.loads(body)
        self.requests.append((suffix, parsed))
        self.sizes.append(len(body))
        answer = self.answer()
        pushed = [parsed["trainerStatus"]] if "trainerStatus" in parsed else []
        samples = parsed["samples"] if suffix == "/history" else pushed
        if any(self.is_bad(sample) for sample in samples):
            answer = Answer(self.bad, body=b'{"message": "bad"}')
        if answer.status == 200:
            # The same time and the same metrics are the same sample.
            self.taken += [sample for sample in samples if sample not in self.taken]
        return answer

    def close(self) -> None:
        self.is_closed = True

    def forget(self) -> None:
        pass

    def fail(self, error: Exception) -> None:
        """Lets every request fail from now on."""

        def answer() -> Answer:
            raise error

        self.answer = answer

    def refuse(self, is_bad: Callable[[dict[str, Any]], bool], status: int) -> None:
        """Refuses requests with such samples from now on, and takes the others."""
        self.is_bad, self.bad = is_bad, status
        self.say(200)

    def say(self, status: int, *, retry_after: float = 0.0, body: object = None) -> None:
        """Gives this answer to every request from now on."""
        self.answer = lambda: Answer(status, retry_after, json.dumps(body or {}).encode())


class Bench:
    """A sender on a clock that is moved, with an endpoint that does as it is told."""

    def __init__(
        self,
        total: int | None = None,
        *,
        rank: int | None = None,
        folder: Callable[[FakeClock], PodFolder] | None = None,
    ) -> None:
        """With a rank it has a heart; with a folder that is the one of its pod."""
        self.clock = FakeClock()
        self.whereabouts = Whereabouts(rank or 0, self.clock)
        heart = None if rank is None else Heart(
            self.whereabouts,
            None if folder is None else folder(self.clock),
            pushes=rank == 0,
            is_first=True,
            random=lambda: 0.5,
            now=self.clock.now,
        )  # fmt: skip
        self.endpoint = FakeEndpoint()
        self.intake = Intake(self.clock)
        self.sender = Sender(
            self.intake,
            self.endpoint,
            clock=self.clock,
            random=lambda: 0.5,
            estimate=Estimate(total),
            notices=Notices(),
            heart=heart,
        )

    def pass_time(self, seconds: float) -> None:
        """Lets time pass, and the sender do what is due meanwhile."""
        end = self.clock.now + seconds
        for _ in range(1_000_000):
            wait = self.sender.turn()
            if wait is None or self.clock.now + wait > end:
                break
            self.clock.move(max(wait, 0.001))
        self.clock.move(max(0.0, end - self.clock.now))

    def push_each_second(self, seconds: int, first: int = 0) -> None:
        """Pushes a loss each second."""
        for step in range(first, first + seconds):
            self.intake.put({"loss": float(step)}, step)
            self.pass_time(1.0)

    def beats(self) -> list[list[Any]]:
        """The ranks of each heartbeat that came."""
        return [body["heartbeat"]["ranks"] for _, body in self.endpoint.requests if "heartbeat" in body]

    def steps(self) -> list[int]:
        """The steps of the samples that were taken."""
        return [sample["step"] for sample in self.endpoint.taken]
