"""Heart of a process: says every few seconds where it is, and the first one of a pod says it of all of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

from .control import Stop
from .endpoint import Answer
from .pacing import LONGEST_RETRY_AFTER_S
from .pod_folder import PodFolder
from .whereabouts import Whereabouts

INTERVAL_S = 10.0
RANKS_MAX = 16
# What may pass with time; every other refusal is of somebody who does not know heartbeats.
_PASSING = (401, 408, 429)
_logger = logging.getLogger("milepost")


class Heart:
    """When this process says where it is, and what. Nothing is said twice: the next heartbeat makes up for a lost one.

    `folder` is where the first process of a pod finds the others; `pushes` says that this one hears a stop otherwise.
    """

    def __init__(
        self,
        whereabouts: Whereabouts,
        folder: PodFolder | None,
        *,
        pushes: bool,
        is_first: bool,
        random: Callable[[], float],
        now: float,
    ) -> None:
        self._whereabouts = whereabouts
        self._folder = folder if is_first else None
        self._pushes = pushes
        self._random = random
        # What the others of a pod say is older by so much when it is passed on.
        self._interval = INTERVAL_S if is_first else INTERVAL_S / 2
        self._due = now + self._interval * (1 + random()) / 2
        self._is_over = False

    def wait(self, now: float) -> float | None:
        """Returns the seconds until a heartbeat is due; None if there will be none."""
        return None if self._is_over else max(0.0, self._due - now)

    def beat(self, now: float) -> bytes | None:
        """Returns the heartbeat that is due; None if there is nothing to say."""
        self._due = now + self._interval * (1 - self._random() / 10)
        entries = self._whereabouts.entries(now)
        if self._folder is not None:
            entries += self._folder.handed(now)
        if self._pushes and not entries:
            return None
        # Those that are furthest behind, if there are too many.
        kept = sorted(entries, key=lambda one: (one[1], one[0]))[:RANKS_MAX]
        beat = {"heartbeat": {"ranks": sorted(kept)}}
        return json.dumps(beat, ensure_ascii=False, separators=(",", ":")).encode()

    def refused(self, answer: Answer, now: float) -> None:
        """Notes that the endpoint does not take heartbeats, now or at all."""
        if answer.status < 500 and answer.status not in _PASSING:
            self._is_over = True
            _logger.debug("heartbeats are not taken: %d", answer.status)
        self._due = max(self._due, now + min(answer.retry_after, LONGEST_RETRY_AFTER_S))

    def stopped(self, stop: Stop) -> None:
        """Ends, and tells the other processes of the pod. Never raises."""
        self._is_over = True
        try:
            if self._folder is not None:
                self._folder.tell(stop)
        except OSError:
            pass

    def close(self) -> None:
        if self._folder is not None:
            self._folder.close()
