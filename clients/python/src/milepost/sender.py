"""Sender of samples: newest windows as they come, and after an outage those that were kept, as histories."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from itertools import islice

from .clock import Clock, Stamps
from .control import Stop, stop_of, warnings_of
from .endpoint import Answer, Endpoint
from .intake import KEPT, Intake, Window
from .notices import Notices, shown
from .pacing import Pace
from .samples import Estimate, Sample, samples_of

# A history has at most 1,000 samples and 1 MiB.
SAMPLES_MAX = 1000
BYTES_MAX = 1_000_000
# A stop is heard in an answer. Where nothing is pushed for so long, the last sample goes again, which counts once.
SILENCE_S = 15.0
# Where another program pushes for the job, it is asked for so often whether to stop.
LISTEN_S = 1.0
# What may pass with time. Every other refusal is final.
_PASSING = (401, 408, 429)


class Sender:
    """Sends what the intake has. One thread calls `turn`; time, chance and the endpoint are handed in."""

    def __init__(
        self,
        intake: Intake,
        endpoint: Endpoint,
        *,
        clock: Clock,
        random: Callable[[], float],
        estimate: Estimate,
        notices: Notices,
        container: str = "",
        echo: Callable[[Sample], None] | None = None,
    ) -> None:
        self.stop: Stop | None = None
        self._intake = intake
        self._endpoint = endpoint
        self._clock = clock
        self._stamps = Stamps(clock)
        self._pace = Pace(random)
        self._estimate = estimate
        self._notices = notices
        self._whose = {"container": container} if container else {}
        self._echo = echo
        self._backlog: deque[list[Sample]] = deque()
        self._last: bytes | None = None
        self._asks: bytes | None = None
        self._listens_every = SILENCE_S
        self._heard = clock.monotonic()

    def listen(self) -> None:
        """Asks often from now on whether to stop, by empty pushes, which change nothing."""
        self._asks, self._listens_every = b"{}", LISTEN_S

    @property
    def _question(self) -> bytes | None:
        """What is sent only for its answer: an empty push, or the last sample, which counts once."""
        return self._asks or self._last

    def turn(self, *, closing: bool = False) -> float | None:
        """Does what is due. Returns the seconds until it has to be called again; None if only a push changes that.

        With `closing` it sends what there is, and None says that all of it was taken.
        """
        self._collect(closing)
        if self._backlog:
            wait = self._send()
        elif closing or self._question is None or self.stop is not None:
            wait = None
        else:
            wait = self._listen()
        times = [one for one in (wait, self._intake.due()) if one is not None]
        return min(times, default=None)

    def _collect(self, closing: bool) -> None:
        windows, is_dropped = self._intake.take(now=closing)
        for window in windows:
            is_dropped = self._keep(window) or is_dropped
        if is_dropped:
            self._notices.say(f"the endpoint takes nothing: of more than {KEPT} samples the oldest are dropped")

    def _keep(self, window: Window) -> bool:
        samples = samples_of(window, self._estimate)
        if self._echo is not None:
            for sample in samples:
                self._echo(sample)
        self._backlog.append(samples)
        if len(self._backlog) <= KEPT:
            return False
        self._backlog.popleft()
        return True

    def _send(self) -> float | None:
        """Sends the oldest samples, if it is time. Returns the seconds until the next ones may go."""
        now = self._clock.monotonic()
        wait = self._pace.wait(now)
        if wait > 0:
            return wait
        wait = self._pace.wait_for_history(now)
        is_single = len(self._backlog[0]) == 1
        if wait > 0 and not is_single:
            return wait
        windows, texts = self._batch(limit=KEPT if wait == 0 else 1)
        is_history = len(texts) > 1
        key, value = ("samples", f"[{','.join(texts)}]") if is_history else ("trainerStatus", texts[0])
        body = self._body(key, value)
        if self._post("/history" if is_history else "", body, is_history=is_history):
            self._last = self._body("trainerStatus", texts[-1])
            for _ in range(windows):
                self._backlog.popleft()
        return self._pace.wait(self._clock.monotonic())

    def _batch(self, limit: int) -> tuple[int, list[str]]:
        """Returns so many of the oldest windows as one request may hold, and their samples as JSON."""
        self._stamps.refresh()
        texts: list[str] = []
        size = windows = 0
        for samples in islice(self._backlog, limit):
            more = [self._json(one.status(self._stamps.text(one.at))) for one in samples]
            size += sum(len(one.encode(errors="replace")) + 1 for one in more)
            if texts and (len(texts) + len(more) > SAMPLES_MAX or size > BYTES_MAX):
                break
            texts += more
            windows += 1
        return windows, texts

    def _listen(self) -> float:
        """Asks whether to stop, if it is time. Returns the seconds until then."""
        now = self._clock.monotonic()
        wait = max(self._pace.wait(now), self._heard + self._listens_every - now)
        if wait > 0 or self._question is None:
            return wait
        self._post("", self._question, is_history=False)
        return max(self._pace.wait(self._clock.monotonic()), self._listens_every)

    @staticmethod
    def _json(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def _body(self, key: str, value: str) -> bytes:
        whose = "".join(f',{self._json(name)}:{self._json(one)}' for name, one in self._whose.items())
        return f'{{"{key}":{value}{whose}}}'.encode(errors="replace")

    def _post(self, suffix: str, body: bytes, *, is_history: bool) -> bool:
        """Sends a request. Returns whether it is done with, taken or refused for good."""
        began = self._clock.monotonic()
        try:
            answer = self._endpoint.post(suffix, body)
        except Exception as error:
            return self._again(0.0, f"{type(error).__name__}: {shown(error)}")
        self._heard = self._clock.monotonic()
        if answer.status in _PASSING or answer.status >= 500:
            return self._again(answer.retry_after, _words(answer))
        self._pace.taken(began, is_history=is_history)
        if answer.status == 200:
            self._hear(answer.body)
        else:
            self._notices.say(f"progress was not taken: {_words(answer)}")
            # It refuses for good: there is no use in asking it often.
            self._listens_every = SILENCE_S
        return True

    def _again(self, retry_after: float, text: str) -> bool:
        self._pace.failed(self._clock.monotonic(), retry_after)
        self._notices.say(f"progress was not taken yet: {text}")
        return False

    def _hear(self, body: bytes) -> None:
        try:
            answer = json.loads(body)
        except ValueError:
            return
        self.stop = self.stop or stop_of(answer)
        for warning in warnings_of(answer):
            self._notices.say(f"the endpoint warns: {warning}")


def _words(answer: Answer) -> str:
    text = answer.body[:1000].decode(errors="replace")
    try:
        text = str(json.loads(answer.body)["message"])
    except (ValueError, KeyError, TypeError):
        pass
    return f"{answer.status} {text.strip()}"
