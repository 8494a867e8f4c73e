"""Control plane of Milepost on this machine, for this process: `milepost standalone`, which ends with it."""

from __future__ import annotations

import atexit
import html
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from .command import NoProgram, environment, program
from .errors import ReadingError

if TYPE_CHECKING:
    from .reading.job import Job, Named

START_S = 60.0
END_S = 15.0
# Most of what the program may say when it is ready, or of why it is not.
_TEXT_MAX = 64 * 1024


class NotStarted(ReadingError):
    """The control plane has not started; the text says why."""


class Local:
    """A control plane of its own for this process. `stop`, or the end of the process, ends it with its pods.

    While it runs, KUBECONFIG of this process names it, so that `milepost.job`, the Kubeflow SDK and `!kubectl` use it.
    Pods are processes of this user; they find the programs of this Python's folder first.
    """

    def __init__(self, data_dir: str | os.PathLike[str] | None = None, *, patience: float = START_S) -> None:
        self.data_dir = None if data_dir is None else os.path.abspath(data_dir)
        self._owner = os.getpid()
        self._log: IO[bytes] = tempfile.TemporaryFile()
        try:
            self._process = self._start()
        except NoProgram as error:
            self._log.close()
            raise NotStarted(str(error)) from None
        try:
            ready = self._ready(time.monotonic() + patience)
        except BaseException:
            self._end()
            raise
        self.server = str(ready["server"])
        self.kubeconfig = str(ready["kubeconfig"])
        self.page = str(ready.get("ui") or "")
        _give_back_dead()
        self._before = os.environ.get("KUBECONFIG")
        _set(self.kubeconfig)
        _users.append(self)
        atexit.register(self.stop)

    def _start(self) -> subprocess.Popen[bytes]:
        words = [*program(), "standalone", "--json"]
        if self.data_dir is not None:
            words += ["--data-dir", self.data_dir]
        around = environment()
        own = os.path.dirname(sys.executable)
        around["PATH"] = os.pathsep.join([own, around.get("PATH", os.defpath)])
        # It follows this process, which may be killed before it can say anything.
        around["MILEPOST_WRAPPER_PID"] = str(self._owner)
        # Into this process's own kubeconfig nothing is merged.
        around.pop("MILEPOST_STANDALONE_KUBECONFIG", None)
        return subprocess.Popen(
            words, env=around, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log, start_new_session=True
        )

    def _ready(self, end: float) -> dict[str, Any]:
        """Returns what the program says of itself once it is ready. Raises `NotStarted`."""
        out = self._process.stdout
        assert out is not None
        said = b""
        while b"\n" not in said:
            left = end - time.monotonic()
            if left <= 0:
                raise NotStarted("the control plane is not ready in time: give it more with patience=")
            if select.select([out], [], [], left)[0]:
                more = os.read(out.fileno(), _TEXT_MAX)
                if not more or len(said) > _TEXT_MAX:
                    raise NotStarted(f"the control plane has not started: {self._complaint()}")
                said += more
        return dict(json.loads(said.partition(b"\n")[0]))

    def _complaint(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        self._log.seek(0)
        lines = self._log.read(_TEXT_MAX).decode(errors="replace").strip().split("\n")
        return lines[-1] or f"exit code {self._process.returncode}"

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def job(self, name: str | Named, *, namespace: str | None = None, kind: str | None = None) -> Job:
        """Returns a job of this control plane, as `milepost.job` does."""
        from . import _reading

        reading = _reading()
        made: Job = reading.Job(name, namespace=namespace, kind=kind, api=reading.api_of(self.kubeconfig))
        return made

    def stop(self) -> None:
        """Ends it with its pods, and gives KUBECONFIG back. It may be called again."""
        # A forked process has a copy of this object, and not the control plane.
        if os.getpid() != self._owner:
            return
        atexit.unregister(self.stop)
        _give_back(self)
        _give_back_dead()
        self._end()

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()

    def __enter__(self) -> Local:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = f"{self.server}, KUBECONFIG={self.kubeconfig}" if self.is_running else "ended"
        return f"<milepost.local: {state}>"

    def _repr_html_(self) -> str:
        if not self.is_running:
            return html.escape(repr(self))
        page = html.escape(self.page, quote=True)
        link = f'<a href="{page}" target="_blank" rel="noopener">the page of its jobs</a>' if page else ""
        return f"<div>{html.escape(self.server)} {link}</div>"


# Those that have not given KUBECONFIG back, in their order.
_users: list[Local] = []


def _give_back(ended: Local) -> None:
    """Gives back what was there before; those that came later then give that back, too."""
    if ended not in _users:
        return
    _users.remove(ended)
    for user in _users:
        if user._before == ended.kubeconfig:
            user._before = ended._before
    if os.environ.get("KUBECONFIG") == ended.kubeconfig:
        _set(ended._before)


def _give_back_dead() -> None:
    for user in [*_users]:
        # A forked process cannot tell.
        if user._owner == os.getpid() and not user.is_running:
            _give_back(user)


def _set(kubeconfig: str | None) -> None:
    """Makes a kubeconfig the one of this process."""
    if kubeconfig is None:
        os.environ.pop("KUBECONFIG", None)
    else:
        os.environ["KUBECONFIG"] = kubeconfig
    _tell(kubeconfig or "~/.kube/config")


def _tell(kubeconfig: str) -> None:
    """Tells Kubernetes' client, which reads the variable when it is imported alone."""
    loaded: Any = sys.modules.get("kubernetes.config.kube_config")
    if loaded is not None:
        loaded.KUBE_CONFIG_DEFAULT_LOCATION = kubeconfig


_running: dict[str | None, Local] = {}


def local(data_dir: str | os.PathLike[str] | None = None, *, patience: float = START_S) -> Local:
    """Returns the control plane of this process with that folder, or in memory; the one that runs already, if there is one."""
    key = None if data_dir is None else os.path.abspath(data_dir)
    known = _running.get(key)
    if known is None or not known.is_running or known._owner != os.getpid():
        known = _running[key] = Local(data_dir, patience=patience)
    return known
