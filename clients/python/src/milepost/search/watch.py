"""Watch of a search's jobs: one stream of what they push, read by a thread of its own and opened again after a break."""

from __future__ import annotations

import json
import logging
import queue
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from ..errors import Unreachable
from ..pacing import Pace
from ..reading.manager import ANSWER_MAX, Refused
from .cluster import AGAIN

# The manager says something every 15 s.
_SILENCE_S = 45.0
_QUEUE_MAX = 10_000
# Below that of Optuna, which says how much of it is shown.
_log = logging.getLogger("optuna.milepost")
# What a stream is opened by: the positions from which jobs are told.
Opens = Callable[[dict[str, str]], AbstractContextManager[tuple[Any, Any]]]


class Watch:
    """What a stream says, event by event: `observation` and `gone` with their data, `synced` with the UIDs that were told.

    A stream that breaks is opened again where it was. An error after which none can be had is raised by `next`.
    """

    def __init__(self, opens: Opens) -> None:
        self._opens = opens
        self._events: queue.Queue[tuple[str, Any]] = queue.Queue(_QUEUE_MAX)
        self._positions: dict[str, str] = {}
        self._closed = threading.Event()
        self._socket: Any = None
        self._is_known = False
        self._pace = Pace(random.random)
        self._thread = threading.Thread(target=self._run, name="milepost-watch", daemon=True)
        self._thread.start()

    def next(self, seconds: float) -> tuple[str, Any] | None:
        """Returns the next event, or None if there is none in that time."""
        try:
            name, data = self._events.get(timeout=seconds)
        except queue.Empty:
            return None
        if name == "failed":
            raise data
        return name, data

    def close(self) -> None:
        """Ends the stream."""
        self._closed.set()
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):  # It is closed, or was never there.
            pass

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self._follow()
            except Unreachable as error:
                if self._closed.is_set():
                    return
                if error.code not in AGAIN if isinstance(error, Refused) else not self._is_known:
                    self._put("failed", error)
                    return
                _log.info(f"What jobs push is asked for again: {error}")
                self._pace.failed(time.monotonic(), 0.0)
            self._closed.wait(self._pace.wait(time.monotonic()))

    def _follow(self) -> None:
        """Follows one stream to its end."""
        with self._opens(self._positions) as (answer, self._socket):
            self._is_known = True
            told: set[str] = set()
            for name, text in self._said(answer):
                data = json.loads(text)
                uid = data.get("job", {}).get("uid")
                if name == "observation":
                    told.add(uid)
                    self._put(name, data)
                    if data.get("continue"):
                        self._positions[uid] = data["continue"]
                elif name == "gone":
                    self._positions.pop(uid, None)
                    self._put(name, data)
                elif name == "synced":
                    self._pace = Pace(random.random)
                    self._put(name, told)
                    # Those of jobs that went during a break would be too many one day.
                    self._positions = {uid: at for uid, at in self._positions.items() if uid in told}
                elif name == "end":
                    raise Unreachable(f"the stream has ended: {data.get('reason')}")

    def _said(self, answer: Any) -> Iterator[tuple[str, str]]:
        """Yields the events of a stream, each with its data."""
        name = data = ""
        while not self._closed.is_set():
            self._socket.settimeout(_SILENCE_S)
            line = answer.readline(ANSWER_MAX)
            if not line:
                raise Unreachable("the stream has ended")
            text = line.decode().rstrip("\r\n")
            field, _, value = text.partition(":")
            if not text and data:
                yield name, data
                name = data = ""
            elif field == "event":
                name = value.strip()
            elif field == "data":
                data += value.strip()

    def _put(self, name: str, data: Any) -> None:
        while not self._closed.is_set():
            try:
                self._events.put((name, data), timeout=0.5)
                return
            except queue.Full:
                continue
