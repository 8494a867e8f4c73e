"""Job in a notebook: state, progress, metrics as frames, and a picture that follows it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from kubernetes import client, config

from ..errors import BadName, JobNotFound, MetricNotFound, ReadingError, Unreachable, alternatives, needs
from ..kinds import TRAIN_JOBS, full_kind, place_of_kind, word_of
from ..spelling import spelled
from .drawing import html_of
from .frames import Lines, Over, is_metric, lines_over
from .listing import JOBS_MAX, ListedJob, filters_of, jobs_of
from .manager import DEADLINE_S, curves_of

# More names than these are not looked at for the one that was meant.
_NAMES_MAX = 500
_NAMESPACE_OF_POD = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
# Holds it as JSON where the definition of a kind has no field for it.
_FAILURE = "trainer.kubeflow.org/failure"
_ENDS = ("Complete", "Failed", "EarlyStopped")
# The state of each condition that is True, the first one that counts first: one word a state, also of kinds with words of their own.
_STATES = {
    "EarlyStopped": "EarlyStopped", "Failed": "Failed", "Complete": "Complete", "Succeeded": "Complete",
    "Suspended": "Suspended", "Running": "Running", "Restarting": "Running",
}


class Named(Protocol):
    """An object that stands for a job, such as a TrainJob of the Kubeflow SDK."""

    @property
    def name(self) -> str: ...


class Job:
    """A job. `refresh` reads it again; `watch` does so until it has ended.

    It is named by `NAMESPACE/NAME`, by its name in the kubeconfig's namespace or in `namespace`, or by an object with a
    name, such as the Kubeflow SDK's TrainJob. `kind` is as `full_kind` takes it; without `kind` it is a TrainJob, or what a `ListedJob` is.
    """

    def __init__(
        self,
        name: str | Named,
        *,
        namespace: str | None = None,
        kind: str | None = None,
        api: Any = None,
        address: str | None = None,
        ca: str | None = None,
    ) -> None:
        before, self.name = _parts_of(name)
        self.namespace: str = before or namespace or getattr(name, "namespace", None) or default_namespace()
        self.kind = full_kind(kind) if kind else (name.kind if isinstance(name, ListedJob) else TRAIN_JOBS)
        self._address = address
        self._ca = ca
        self._api = api if api is not None else default_api()
        self._object: dict[str, Any] = {}
        self.refresh()

    def refresh(self) -> Job:
        """Reads the job's object again. Raises `JobNotFound`, or another `ReadingError` that says what is in the way."""
        group, version, plural = place_of_kind(self.kind)
        place = group, version, self.namespace, plural
        objects = client.CustomObjectsApi(self._api)
        try:
            self._object = objects.get_namespaced_custom_object(*place, self.name, _request_timeout=DEADLINE_S)
        except client.ApiException as error:
            if error.status == 404:
                raise self._not_found(objects, place) from None
            raise refusal_of(error) from None
        except Exception as error:
            raise silence_of(self._api, error) from None
        return self

    def _not_found(self, objects: Any, place: tuple[str, str, str, str]) -> ReadingError:
        """Returns what to say of a job that is not there, with the name that was meant if that can be seen."""
        try:
            found = objects.list_namespaced_custom_object(*place, limit=_NAMES_MAX, _request_timeout=DEADLINE_S)
        except client.ApiException as error:
            if error.status == 404:
                return Unreachable(f"the cluster has no kind {self.kind}: is it the right cluster, and Milepost installed?")
            meant = ""
        except Exception as error:
            return silence_of(self._api, error)
        else:
            names = [str(one["metadata"]["name"]) for one in found.get("items", [])]
            meant = "; " + alternatives(self.name, names, "that namespace has none")
        return JobNotFound(f"no {word_of(self.kind)} {self.name} in {self.namespace}{meant}")

    @property
    def status(self) -> dict[str, Any]:
        """The newest report of the job: `trainerStatus`, which the Kubeflow SDK's TrainJob does not have."""
        return dict(self._object.get("status", {}).get("trainerStatus") or {})

    @property
    def state(self) -> str:
        """Created, Running, Suspended, Complete, Failed or EarlyStopped."""
        status = self._object.get("status", {})
        held = {one["type"] for one in status.get("conditions", []) if one.get("status") == "True"}
        return str(status.get("state") or next((word for one, word in _STATES.items() if one in held), "Created"))

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes."""
        return self.state in _ENDS

    @property
    def progress(self) -> int | None:
        """In percent."""
        return self.status.get("progressPercentage")

    @property
    def configuration(self) -> dict[str, str]:
        """What it was started with, in short: runtime, image, options of the command, variables. Raises `Unreachable`."""
        text = f"{self.namespace}/{self.name}"
        asked: dict[str, str | None] = {"namespace": self.namespace, "kind": self.kind, "text": text, "sort": "name"}
        found = jobs_of(self._api, asked, JOBS_MAX, self._address, self._ca)
        return next((one.configuration for one in found if one.name == self.name), {})

    @property
    def failure(self) -> str:
        """Why it failed, or why its pods are started again and again, in a line; empty if neither is so."""
        kept = self._object.get("status", {}).get("failure")
        if kept is None:
            annotations = self._object.get("metadata", {}).get("annotations") or {}
            try:
                kept = json.loads(annotations.get(_FAILURE, "{}"))
            except (ValueError, RecursionError):
                kept = {}
        return spelled(str(kept.get("headline") or "")) if isinstance(kept, dict) else ""

    @property
    def stopped(self) -> str:
        """Why it was stopped early: the rule that was met, or what who asked for it said; empty if it was not.

        While it has a grace, `state` is Running still, and this says why it is being stopped.
        """
        status = self._object.get("status", {})
        held = (one for one in status.get("conditions", []) if one.get("type") == "EarlyStopped" and one.get("status") == "True")
        kept = next(held, None) or status.get("stop")
        return spelled(str(kept.get("message") or kept.get("reason") or "")) if isinstance(kept, dict) else ""

    @property
    def remaining(self) -> int | None:
        """In seconds; None while its pods fail and are started again."""
        return None if self.failure else self.status.get("estimatedRemainingSeconds")

    def curves(self) -> list[dict[str, Any]]:
        """Returns of each metric its name and points: time in milliseconds, least, greatest and last value.

        The job's own progress and step come, too: `isProgress` and `isStep` tell them from metrics of those names. Points
        of one time are of one step. There are at most 128 of a metric, each of a bucket of time.
        """
        return curves_of(self._api, self.namespace, self.name, self.kind, self._address, self._ca)

    def metrics(self) -> Any:
        """Returns the metrics over time as a pandas frame: a row for each time, a column for each metric.

        Where pods push the step of the training, it is the first column, `step`, and NaN in rows without one. A metric
        that is called `step`, too, is then the column `step (metric)`.

        A metric that was reported as NaN or infinite has that value in its row. Where it has none it is NaN, too: the last
        column, `nonfinite`, tells them apart. It names the metrics that were NaN or infinite in a row, after commas, and is
        there only if one was.
        """
        return self._lines().frame()

    def plot(self, *, over: Over | None = None, **options: Any) -> Any:
        """Draws the metrics. Those that come at different times have lines without gaps.

        They are drawn over the "step", where pods push it, else over the "wall clock"; `over` says which, or "time": the
        seconds since the job's first report. Raises `MetricNotFound` if there are none.
        """
        lines = self._lines()
        if lines.values.empty:
            what = "metrics" if lines.codes.empty else "finite numbers"
            raise MetricNotFound(f"{lines.job} has reported no {what}")
        drawn = {name: (lines, name) for name in lines.values}
        return lines_over(drawn, over or ("step" if lines.has_steps else "wall clock")).plot(**options)

    def _lines(self) -> Lines:
        return Lines.of(f"{self.namespace}/{self.name}", self.curves())

    def watch(self, *, every: float = 1.0, patience: float | None = None) -> Iterator[Job]:
        """Yields the job whenever it has changed, last when it has ended. `patience` is in seconds."""
        end = None if patience is None else time.monotonic() + patience
        seen = None
        while True:
            version = self._object.get("metadata", {}).get("resourceVersion")
            if version != seen:
                seen = version
                yield self
            if self.has_ended or (end is not None and time.monotonic() > end):
                return
            time.sleep(every)
            self.refresh()

    def show(self, *, every: float = 1.0, patience: float | None = None) -> None:
        """Shows the job in the notebook, in one place, until it has ended; elsewhere in a line for each change."""
        try:
            from IPython.display import display
        except ImportError as error:
            raise needs(error) from None
        place = display(self, display_id=True)
        shown = repr(self)
        for _ in self.watch(every=every, patience=patience):
            if place is not None:
                place.update(self)
            elif repr(self) != shown:
                shown = repr(self)
                print(shown)

    def _repr_html_(self) -> str:
        metric, points, problem = "", [], ""
        try:
            for curve in self.curves():
                if is_metric(curve) and curve["points"]:
                    metric, points = curve["name"], curve["points"]
                    break
        except Unreachable as error:
            problem = str(error)
        title = f"{self.namespace}/{self.name}"
        notes = [text for text in (self.failure, self.stopped, problem) if text]
        return html_of(title, self.state, self.progress, self.remaining, metric, points, notes)

    def __repr__(self) -> str:
        progress = "" if self.progress is None else f" {self.progress} %"
        why = self.failure or self.stopped
        return f"<{self.namespace}/{self.name} {self.state}{progress}{f': {why}' if why else ''}>"


def _parts_of(name: object) -> tuple[str, str]:
    """Returns namespace, if it is given, and name of a job. Raises `BadName`."""
    text = name if isinstance(name, str) else getattr(name, "name", None)
    if not isinstance(text, str):
        raise BadName(f"a job is a name, or an object that has one, and not {type(name).__name__}")
    before, slash, after = text.rpartition("/")
    parts = [before, after] if slash else [after]
    # The API server would take dots for another path.
    if any(one.strip() in ("", ".", "..") for one in parts):
        raise BadName(f"{text!r} names no job: give NAMESPACE/NAME, or NAME for one in the namespace of the kubeconfig")
    return before, after


def refusal_of(error: Any) -> Unreachable:
    """Returns what an answer of the API server says that is no object."""
    text = str(error.body or error.reason or "")
    try:
        text = str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        pass
    if error.status == 401:
        return Unreachable("the API server does not know this user: is the kubeconfig's token still valid?")
    return Unreachable(f"the API server refuses: {error.status} {text}")


def silence_of(api: Any, error: Exception) -> Unreachable:
    """Returns what to say of an API server that does not answer."""
    host = getattr(getattr(api, "configuration", None), "host", "")
    # urllib3 has the reason within what it says of its tries.
    why = getattr(error, "reason", None) or error
    return Unreachable(f"the API server {host} does not answer: {type(why).__name__}: {why}")


def api_of(kubeconfig: str) -> Any:
    """Returns a client of a kubeconfig's user."""
    return config.new_client_from_config(config_file=kubeconfig)


def default_api() -> Any:
    """Returns a client of the kubeconfig's user, in a pod of its service account."""
    try:
        return config.new_client_from_config()
    except config.ConfigException as error:
        try:
            config.load_incluster_config()
        except config.ConfigException:
            raise Unreachable(f"there is no cluster to read from: {error} Set KUBECONFIG, or run in a pod") from None
        return client.ApiClient()


def default_namespace() -> str:
    """Returns the namespace of the kubeconfig's context, in a pod its own, as kubectl does."""
    try:
        return config.list_kube_config_contexts()[1]["context"].get("namespace") or "default"
    except config.ConfigException:
        return _NAMESPACE_OF_POD.read_text().strip() if _NAMESPACE_OF_POD.exists() else "default"


def jobs(
    namespace: str | None = None,
    *,
    kind: str | None = None,
    state: str | None = None,
    limit: int = JOBS_MAX,
    api: Any = None,
    address: str | None = None,
    ca: str | None = None,
) -> list[ListedJob]:
    """Returns the jobs that the kubeconfig's user may list, the newest first. Raises `BadName` or `Unreachable`."""
    filters = filters_of(namespace, kind, state)
    return jobs_of(api if api is not None else default_api(), filters, limit, address, ca)


def compare(*names: str | Named, metric: str, over: Over | None = None) -> Any:
    """Returns a metric of several jobs as a pandas frame: a column for each job, by its step or by time.

    Between a job's own values there are values on the line between them, so that each job is a line without gaps.
    Raises `MetricNotFound` with the metrics that there are, if no job has this one, or if `over` is "step" and one of
    them has no steps.
    """
    if not names:
        raise BadName("compare what? Give the names of jobs")
    compared = [(name if isinstance(name, Job) else Job(name))._lines() for name in names]
    there = {name for lines in compared for name in lines.values}
    if metric not in there:
        raise MetricNotFound(f"no metric {metric}; {alternatives(metric, there, 'these jobs have reported none yet')}")
    # A job without values has no place on either.
    all_step = all(lines.has_steps for lines in compared if metric in lines.values)
    return lines_over({lines.job: (lines, metric) for lines in compared}, over or ("step" if all_step else "time"))
