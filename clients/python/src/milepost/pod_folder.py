"""Folder of a pod, in which its processes hand to the first of them where they are, and learn from it of a stop."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import tempfile

from .clock import Clock
from .control import Stop
from .endpoint import Answer
from .surroundings import Place
from .whereabouts import Entry

_BYTES_MAX = 1 << 16
_STOP = "stop"


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


class PodFolder:
    """What is shared by the processes of one pod. Those that are not the first take it for their endpoint.

    A file has the name of a rank. It is of its process: one that is frozen stays, one of a process that has ended goes.
    """

    def __init__(self, place: Place, rank: int, clock: Clock) -> None:
        # `standalone` runs pods of one machine, which may share the folder of temporary files.
        pod = f"{place.url} {place.token_file} {socket.gethostname()}".encode(errors="replace")
        name = f"milepost-{os.getuid()}-{hashlib.sha256(pod).hexdigest()[:16]}"
        self.path = os.path.join(tempfile.gettempdir(), name)
        self._rank = rank
        self._clock = clock

    def post(self, suffix: str, body: bytes) -> Answer:
        """Takes the heartbeat of this process for the first one. The answer holds a stop that the first one has heard."""
        ranks = json.loads(body)["heartbeat"]["ranks"]
        self._write(str(self._rank), json.dumps([os.getpid(), self._clock.monotonic(), ranks]).encode())
        return Answer(200, body=self._read(_STOP) if _STOP in self._names() else b"{}")

    def handed(self, now: float) -> list[Entry]:
        """Returns where the other processes are; a step of one that does not say so any more grows old."""
        entries: list[Entry] = []
        for name in self._names():
            if not name.isdecimal() or int(name) == self._rank:
                continue
            try:
                process, written, ranks = json.loads(self._read(name))
                if _lives(process):
                    age = max(0.0, now - written)
                    entries += [(int(rank), int(step), round(age + s, 1), str(at)) for rank, step, s, at in ranks]
                else:
                    self._remove(name)
            except (OSError, ValueError, TypeError):  # It has just gone, or is of another's making.
                continue
        return entries

    def tell(self, stop: Stop) -> None:
        """Hands a stop to the other processes, if there are some."""
        if self._names():
            # Not the whole answer, which repeats what was pushed.
            control = {"stop": True, "reason": stop.reason, "message": stop.message}
            self._write(_STOP, json.dumps({"control": control}).encode())

    def begin(self) -> None:
        """Takes back the stop of a program that was killed."""
        if _STOP in self._names():
            self._remove(_STOP)

    def close(self) -> None:
        """Takes this process's file away, and the last one the folder."""
        try:
            self.handed(0.0)
            if str(self._rank) in self._names():
                self._remove(str(self._rank))
            if set(self._names()) <= {_STOP}:
                self.begin()
                os.rmdir(self.path)
        except OSError:  # It is not there, or another one has just come.
            pass

    def forget(self) -> None:
        pass

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.path) if self._is_ours() else []
        except FileNotFoundError:
            return []

    def _is_ours(self) -> bool:
        """Returns whether nobody else has made the folder, or a link of its name."""
        found = os.lstat(self.path)
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()

    def _read(self, name: str) -> bytes:
        with open(os.path.join(self.path, name), "rb") as file:
            return file.read(_BYTES_MAX)

    def _write(self, name: str, data: bytes) -> None:
        try:
            os.mkdir(self.path, 0o700)
        except FileExistsError:
            if not self._is_ours():
                raise
        made = os.path.join(self.path, f".{name}.{os.getpid()}")
        with open(made, "wb") as file:
            file.write(data)
        os.replace(made, os.path.join(self.path, name))

    def _remove(self, name: str) -> None:
        os.unlink(os.path.join(self.path, name))
