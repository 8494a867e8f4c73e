"""Sender of samples: newest windows as they come, and after an outage those that were kept, as histories."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from .clock import Clock, Stamps
from .control import Stop, stop_of, warnings_of
from .endpoint import Answer, Endpoint
from .heart import Heart
from .intake import KEPT, METRICS, Intake
from .notices import Notices, shown
from .pacing import Pace
from .resumption import Checkpoint
from .samples import Estimate, Sample, metric_of, samples_of

# A history has at most 1,000 samples and 1 MiB, of which room is left for what its last sample says again.
SAMPLES_MAX = 1000
BYTES_MAX = 950_000
# A request has at most 64 KiB: the metrics of a sample, and half a KiB for all else.
METRICS_BYTES_MAX = 65_000
# A stop is heard in an answer. Where nothing is pushed for so long, the endpoint is asked.
SILENCE_S = 15.0
# Where another program pushes for the job, it is asked so often.
LISTEN_S = 1.0
# What only asks: an empty push, which changes nothing and is answered with what the job's object says.
_QUESTION = b"{}"
# What may pass with time. Every other refusal is final.
_PASSING = (401, 408, 429)
# What may be meant for one sample of a history alone.
_OF_A_SAMPLE = (400, 413, 422)


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
        heart: Heart | None = None,
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
        self._heart = heart
        self._backlog: deque[Sample] = deque(maxlen=KEPT)
        # Of each metric by its name; what was pushed last is first.
        self._newest: dict[str, float] = {}
        # Said again with each push: an owner of the job's state may have gone with it.
        self._checkpoint: Checkpoint | None = None
        # How many samples a history may have: fewer after one was refused, until what was wrong is found.
        self._limit = SAMPLES_MAX
        self._listens_every: float | None = None
        self._heard = clock.monotonic()

    @property
    def is_behind(self) -> bool:
        """Whether there are samples that were not taken yet."""
        return bool(self._backlog) or self._intake.due() is not None

    def listen(self) -> None:
        """Asks often from now on whether to stop, which changes nothing."""
        self._listens_every = LISTEN_S

    def show(self, values: dict[str, float]) -> None:
        """Takes values that another part of the program has pushed, which the job goes on to show."""
        self._newest = dict(islice((self._newest | values).items(), METRICS))

    def turn(self, *, closing: bool = False) -> float | None:
        """Does what is due. Returns the seconds until it has to be called again; None if only a push changes that.

        With `closing` it sends what there is, and None says that all of it was taken.
        """
        self._collect(closing)
        beat = None if closing else self._beat()
        if self._backlog:
            wait = self._send()
        elif closing or self._listens_every is None or self.stop is not None:
            wait = None
        else:
            wait = self._listen(self._listens_every)
        times = [one for one in (wait, beat, self._intake.due()) if one is not None]
        return min(times, default=None)

    def _collect(self, closing: bool) -> None:
        windows, is_dropped = self._intake.take(now=closing)
        for sample in (one for window in windows for one in samples_of(window, self._estimate)):
            if self._echo is not None:
                self._echo(sample)
            is_dropped = is_dropped or len(self._backlog) == KEPT
            self._backlog.append(self._fitting(sample))
        if is_dropped:
            self._notices.say(f"the endpoint takes nothing: of more than {KEPT} samples the oldest are dropped")

    def _fitting(self, sample: Sample) -> Sample:
        """Returns the sample with as many of its metrics as a request can hold, and of those that it has not."""
        known = self._checkpoint = sample.checkpoint or self._checkpoint
        room = METRICS_BYTES_MAX
        if known is not None:
            room -= len(self._json(known.said()).encode(errors="replace"))
        values, room = self._within(room, sample.values)
        if len(values) < len(sample.values):
            self._notices.say("the metrics of a step are more than 64 KiB: the last of them are not pushed")
        self._newest = dict(islice((values | self._newest | values).items(), METRICS))
        others = {name: value for name, value in self._newest.items() if name not in values}
        unchanged, _ = self._within(room, others)
        return replace(sample, values=values, unchanged=unchanged, newest_checkpoint=known)

    def _within(self, room: int, values: dict[str, float]) -> tuple[dict[str, float], int]:
        """Returns the first of the values that take no more than so many bytes, and how many are left."""
        kept: dict[str, float] = {}
        for name, value in values.items():
            size = len(self._json(metric_of(name, value)).encode(errors="replace")) + 1
            if size > room:
                break
            kept[name] = value
            room -= size
        return kept, room

    def _send(self) -> float | None:
        """Sends the oldest samples, if it is time. Returns the seconds until the next ones may go."""
        now = self._clock.monotonic()
        wait = self._pace.wait(now)
        if wait > 0:
            return wait
        texts = self._batch(self._limit if self._pace.wait_for_history(now) == 0 else 1)
        is_history = len(texts) > 1
        key, value = ("samples", f"[{','.join(texts)}]") if is_history else ("trainerStatus", texts[0])
        answer = self._post("/history" if is_history else "", self._body(key, value), is_history=is_history)
        if answer is not None:
            self._done(answer, len(texts))
        return self._pace.wait(self._clock.monotonic())

    def _done(self, answer: Answer, samples: int) -> None:
        """Lets go of samples that were answered for good. A history that was refused goes again in parts."""
        if answer.status == 200:
            if samples > 1 or self._limit == 1:
                self._limit = min(2 * self._limit, SAMPLES_MAX)
        elif samples > 1 and answer.status in _OF_A_SAMPLE:
            self._limit = samples // 2
            return
        else:
            self._refused(answer)
        for _ in range(samples):
            self._backlog.popleft()

    def _batch(self, limit: int) -> list[str]:
        """Returns so many of the oldest samples as one request may hold as JSON, in the order of their times."""
        self._stamps.refresh()
        batch: list[tuple[Sample, str]] = []
        size = 0
        for sample in islice(self._backlog, limit):
            text = self._text(sample)
            size += len(text.encode(errors="replace")) + 1
            if batch and size > BYTES_MAX:
                break
            batch.append((sample, text))
        batch.sort(key=lambda one: one[0].at)
        newest, _ = batch[-1]
        if newest.unchanged or newest.newest_checkpoint is not None:
            batch[-1] = (newest, self._text(newest, is_last=True))
        return [text for _, text in batch]

    def _text(self, sample: Sample, *, is_last: bool = False) -> str:
        return self._json(sample.status(self._stamps.text(sample.at), is_last=is_last))

    def _listen(self, every: float) -> float:
        """Asks whether to stop, if it is time. Returns the seconds until then."""
        now = self._clock.monotonic()
        wait = max(self._pace.wait(now), self._heard + every - now)
        if wait > 0:
            return wait
        answer = self._post("", _QUESTION, is_history=False)
        if answer is not None and answer.status != 200:
            self._refused(answer)
        return max(self._pace.wait(self._clock.monotonic()), self._listens_every or every)

    def _beat(self) -> float | None:
        """Sends a heartbeat, if it is time. Returns the seconds until the next one; None if there will be none."""
        heart, now = self._heart, self._clock.monotonic()
        wait = None if heart is None else heart.wait(now)
        if heart is None or wait is None:
            return None
        wait = max(wait, self._pace.wait(now))
        if wait > 0:
            return wait
        try:
            body = heart.beat(now)
            answer = None if body is None else self._endpoint.post("", body)
        except Exception:  # The next one makes up for it, and what is wrong is said where samples are sent.
            answer = None
        if answer is not None and answer.status == 200:
            self._heard = self._clock.monotonic()
            self._pace.taken(now, is_history=False)
            self._hear(answer.body)
        elif answer is not None:
            heart.refused(answer, now)
        return heart.wait(self._clock.monotonic())

    def close(self) -> None:
        """Lets go of the endpoint, and of the processes beside this one."""
        self._endpoint.close()
        if self._heart is not None:
            self._heart.close()

    @staticmethod
    def _json(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def _body(self, key: str, value: str) -> bytes:
        whose = "".join(f',{self._json(name)}:{self._json(one)}' for name, one in self._whose.items())
        return f'{{"{key}":{value}{whose}}}'.encode(errors="replace")

    def _post(self, suffix: str, body: bytes, *, is_history: bool) -> Answer | None:
        """Sends a request. Returns what it was answered for good; None if it has to go again."""
        began = self._clock.monotonic()
        try:
            answer = self._endpoint.post(suffix, body)
        except Exception as error:
            self._again(0.0, f"{type(error).__name__}: {shown(error)}")
            return None
        self._heard = self._clock.monotonic()
        if answer.status in _PASSING or answer.status >= 500:
            self._again(answer.retry_after, _words(answer))
            return None
        self._pace.taken(began, is_history=is_history)
        self._listens_every = self._listens_every or SILENCE_S
        if answer.status == 200:
            self._hear(answer.body)
        return answer

    def _refused(self, answer: Answer) -> None:
        self._notices.say(f"progress was not taken: {_words(answer)}")
        # It refuses for good: there is no use in asking it often.
        self._listens_every = SILENCE_S

    def _again(self, retry_after: float, text: str) -> None:
        self._pace.failed(self._clock.monotonic(), retry_after)
        self._notices.say(f"progress was not taken yet: {text}")

    def _hear(self, body: bytes) -> None:
        try:
            answer = json.loads(body)
        except ValueError:
            return
        if self.stop is None and (stop := stop_of(answer)) is not None:
            self.stop = stop
            if self._heart is not None:
                self._heart.stopped(stop)
        for warning in warnings_of(answer):
            self._notices.say(f"the endpoint warns: {warning}")


def _words(answer: Answer) -> str:
    text = answer.body[:1000].decode(errors="replace")
    try:
        text = str(json.loads(answer.body)["message"])
    except (ValueError, KeyError, TypeError):
        pass
    return f"{answer.status} {text.strip()}"
