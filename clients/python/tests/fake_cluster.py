"""Cluster on the loopback for searches: an API server that makes jobs, and a manager that streams what they push and stops them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from .api_server import Quiet
from .tls_server import make_authority

_KIND = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs"
TOKEN = "of-the-user"
# Rows of an event.
PAGE = 3
# What a job pushes: of each report its step, if it pushes one, and the value as it is pushed.
Curve = Sequence[tuple["int | None", str]]


@dataclass
class FakeJob:
    """A job: what it will push, how it will end, and how far it is."""

    name: str
    uid: str
    manifest: dict[str, Any]
    curve: Curve
    end: tuple[str, str, str] = ("Succeeded", "AllJobsCompleted", "jobset completed successfully")
    rows: list[dict[str, Any]] = field(default_factory=list)
    state: tuple[str, str, str] = ("Running", "", "")

    @property
    def variables(self) -> dict[str, str]:
        return {one["name"]: one["value"] for one in self.manifest["spec"]["trainer"]["env"]}

    @property
    def number(self) -> int:
        return int(self.manifest["metadata"]["labels"]["trainer.kubeflow.org/optuna-trial"])

    def advance(self) -> None:
        """Pushes the next value, or ends."""
        if len(self.rows) == len(self.curve):
            self.state = self.end
            return
        step, value = self.curve[len(self.rows)]
        row = {"time": "2026-01-01T00:00:00Z", "name": "loss", "value": value, "podUid": "pod"}
        self.rows.append(row if step is None else {**row, "step": step})


class FakeCluster:
    """The cluster. `curve_of` says what a job pushes by its variables. Jobs go on while `runs` is set, a report each `pace` seconds."""

    def __init__(self, folder: Path, curve_of: Callable[[dict[str, str]], Curve], pace: float = 0.004) -> None:
        self.ca = make_authority(folder, "cluster")
        self._curve_of, self._pace = curve_of, pace
        self.jobs: dict[str, FakeJob] = {}
        self.made: list[str] = []
        self.stops: list[tuple[str, dict[str, Any]]] = []
        self.most_at_once = 0
        # Each is the answer to the next request of its kind in place of the usual one: code, and message.
        self.refusals: dict[str, list[tuple[int, str]]] = {"create": [], "stop": [], "observations": []}
        self.always: dict[str, tuple[int, str]] = {}
        # A stream is cut off after so many events, if this is set.
        self.cut_after: int | None = None
        self.streams = 0
        # Numbers of jobs whose log cannot be read.
        self.unread: set[int] = set()
        self.changes_jobs: Callable[[FakeJob], None] = lambda job: None
        self.may_advance: Callable[[FakeJob], bool] = lambda job: True
        self.runs = threading.Event()
        self.runs.set()
        self.news = threading.Condition()
        self._over = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                self.request.do_handshake()

            def do_GET(self) -> None:
                job = outer.jobs.get(self.path.split("?")[0].removeprefix(f"{_KIND}/"))
                _say(self, 404, {"message": "not found"}) if job is None else _say(self, 200, outer._object(job))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.headers["Authorization"] != f"Bearer {TOKEN}":
                    _say(self, 401, {"message": "Unauthorized"})
                    return
                path, _, query = self.path.replace("/other/", "/team/").partition("?")
                rest = path.removeprefix(_KIND)
                kind = {"": "create", "/observations": "observations"}.get(rest, "stop")
                if path == rest:
                    _say(self, 404, {"message": "404 page not found"})
                elif kind in outer.always or outer.refusals[kind]:
                    code, text = outer.always[kind] if kind in outer.always else outer.refusals[kind].pop(0)
                    _say(self, code, {"message": text})
                elif kind == "create":
                    _say(self, *outer._create(body, is_dry="dryRun=All" in query))
                elif kind == "observations":
                    outer._stream(self, body)
                else:
                    _say(self, *outer._stop(rest[1:].removesuffix("/stop"), body))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = Quiet(Handler, folder, "cluster")
        self.url = f"https://127.0.0.1:{self._server.port}"
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()

    def _object(self, job: FakeJob) -> dict[str, Any]:
        return {**job.manifest, "metadata": {**job.manifest["metadata"], "uid": job.uid}}

    def _create(self, manifest: dict[str, Any], *, is_dry: bool) -> tuple[int, Any]:
        name = manifest["metadata"]["name"]
        with self.news:
            if name in self.jobs:
                return 409, {"message": f"{name} already exists"}
            job = FakeJob(name, f"uid-{len(self.made)}", manifest, [])
            if not is_dry:
                job.curve = self._curve_of(job.variables)
                self.changes_jobs(job)
                self.jobs[name] = job
                self.made.append(name)
                self.most_at_once = max(self.most_at_once, sum(one.state[0] == "Running" for one in self.jobs.values()))
                self.news.notify_all()
            return 201, self._object(job)

    def _stop(self, name: str, body: dict[str, Any]) -> tuple[int, Any]:
        with self.news:
            job = self.jobs.get(name)
            if job is None or job.uid != body["uid"]:
                return 404, {"message": "no such job"}
            if job.state[0] != "Running" and job.state[0] != "EarlyStopped":
                return 409, {"message": "the job has ended"}
            if job.state[0] == "Running":
                self.stops.append((name, body))
                job.state = ("EarlyStopped", body["reason"], body["message"])
            self.news.notify_all()
            return 200, {"stop": body}

    def delete(self, name: str) -> None:
        """Deletes a job."""
        with self.news:
            del self.jobs[name]
            self.news.notify_all()

    def change(self, name: str, state: tuple[str, str, str]) -> None:
        """Ends a job by other hands."""
        with self.news:
            self.jobs[name].state = state
            self.news.notify_all()

    def _tick(self) -> None:
        with self.news:
            while not self._over:
                self.news.wait_for(lambda: self._over, self._pace)
                for job in [*self.jobs.values()] if self.runs.is_set() else []:
                    if job.state[0] == "Running" and self.may_advance(job):
                        job.advance()
                self.news.notify_all()

    def _stream(self, request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        label, _, value = asked["labelSelector"].partition("=")
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.send_header("Connection", "close")
        request.end_headers()
        request.close_connection = True
        self.streams += 1
        sent: dict[str, tuple[FakeJob, int, tuple[str, str, str]]] = {}
        left = self.cut_after

        def say(name: str, data: Any) -> bool:
            nonlocal left
            request.wfile.write(f": still there\n\nevent: {name}\nid: 1\ndata: {json.dumps(data)}\n\n".encode())
            request.wfile.flush()
            left = None if left is None else left - 1
            return left != 0

        is_synced = False
        while True:
            with self.news:
                events = self._events(sent, asked.get("from", {}), label, value)
                if not events and is_synced:
                    self.news.wait(5)
                if self._over:
                    return
            for event in events:
                if not say(*event):
                    return
            if not is_synced and not any(data.get("more") and not data.get("problem") for _, data in events):
                is_synced = True
                if not say("synced", {}):
                    return

    def _events(self, sent: dict[str, Any], positions: dict[str, str], label: str, value: str) -> list[tuple[str, Any]]:
        events: list[tuple[str, Any]] = []
        there = {job.uid: job for job in self.jobs.values() if job.manifest["metadata"]["labels"].get(label) == value}
        for uid in [uid for uid in sent if uid not in there]:
            events.append(("gone", {"job": {"name": sent.pop(uid)[0].name, "uid": uid}}))
        for uid, job in there.items():
            _, count, state = sent.get(uid, (job, int(positions.get(uid, 0)), None))
            if state == job.state and count == len(job.rows):
                continue
            word, reason, message = job.state
            if job.number in self.unread:
                if state != ("unread", "", ""):
                    sent[uid] = job, count, ("unread", "", "")
                    events.append(("observation", {"job": {"name": job.name, "uid": uid}, "state": word, "log": [],
                        "more": True, "problem": "the observation log is out of reach: down"}))  # fmt: skip
                continue
            page = job.rows[count : count + PAGE]
            data: dict[str, Any] = {"job": {"name": job.name, "uid": uid}, "state": word, "reason": reason, "message": message,
                    "log": page, "continue": str(count + len(page))}  # fmt: skip
            if count + len(page) < len(job.rows):
                data = {**data, "more": True}
            sent[uid] = job, count + len(page), job.state
            events.append(("observation", data))
        return events

    def stop(self) -> None:
        with self.news:
            self._over = True
            self.news.notify_all()
        self._ticker.join()
        self._server.stop()


def _say(request: BaseHTTPRequestHandler, code: int, value: Any) -> None:
    body = json.dumps(value).encode()
    request.send_response(code)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)
