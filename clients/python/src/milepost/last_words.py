"""Last words of a process: the exception that ends it, in its container's termination message, where Kubernetes shows it.

Where several processes share a container, as under torchrun, the first that fails is the reason, and what its launcher
prints at the end of the log is not.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Mapping
from types import TracebackType

from .notices import Notices
from .spelling import spelled

# Where Kubernetes has the file; the kubelet of `standalone` and `node` says where it is.
PATH = "/dev/termination-log"
PATH_VARIABLE = "MILEPOST_TERMINATION_LOG"
BYTES_MAX = 2048


def words_of(error: BaseException) -> str:
    """Returns an exception as Python prints it, in at most 2 KiB: the end of its traceback, with its text from the start."""
    whole = spelled("".join(traceback.format_exception(type(error), error, error.__traceback__)), "\n").strip()
    data = whole.encode(errors="replace")
    if len(data) <= BYTES_MAX:
        return whole
    end = data[-BYTES_MAX:].partition(b"\n")[2].decode(errors="replace")
    said = _cut("".join(traceback.format_exception_only(type(error), error)))
    return end if end.endswith(said) else said


def _cut(text: str) -> str:
    return spelled(text, "\n").strip().encode(errors="replace")[:BYTES_MAX].decode(errors="ignore")


def _began() -> float:
    """Returns when this process began, in seconds since the epoch."""
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")


class LastWords:
    """The termination message of this container, as far as this process writes it. Nothing here raises."""

    def __init__(self, path: str, notices: Notices) -> None:
        self._path = path
        self._notices = notices
        self._process = os.getpid()
        self._is_ours = False

    def say(self, error: BaseException) -> None:
        """Writes what ends this process, unless another process of the container has failed before."""
        try:
            if isinstance(error, Exception):
                self._write(words_of(error))
            elif isinstance(error, SystemExit) and isinstance(error.code, str):
                self._write(_cut(error.code))
        except Exception as problem:
            self._notices.say("the error is not in the container's termination message", problem)

    def take_back(self) -> None:
        """Empties the message, if this process has written it: it has gone on."""
        try:
            if self._is_ours:
                self._write("")
                self._is_ours = False
        except Exception as problem:
            self._notices.say("an error that has passed stays in the container's termination message", problem)

    def _write(self, text: str) -> None:
        # A forked process, such as one that loads data, is not the one that the container waits for.
        if os.getpid() != self._process or not os.path.isfile(self._path):
            return
        import fcntl

        file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # Another process fails at this moment.
                return
            # What is older than this process is of an attempt before it in the same container.
            found = os.fstat(file)
            if found.st_size > 0 and not self._is_ours and found.st_mtime >= _began():
                return
            os.ftruncate(file, 0)
            os.pwrite(file, text.encode(errors="replace"), 0)
            self._is_ours = True
        finally:
            os.close(file)


# By their files: a process has one.
_known: dict[str, LastWords] = {}


def last_words(environ: Mapping[str, str], notices: Notices) -> LastWords:
    """Returns the last words of this process, which from now on are also those of an exception that nobody catches."""
    path = environ.get(PATH_VARIABLE) or PATH
    words = _known.get(path)
    if words is None:
        words = _known[path] = LastWords(path, notices)
        _listen(words)
    return words


def _listen(words: LastWords) -> None:
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        words.say(error)
        before(kind, error, trace)

    sys.excepthook = hook
