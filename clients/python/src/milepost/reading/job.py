"""Job in a notebook: state, progress, metrics as frames, and a picture that follows it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from kubernetes import client, config

from ..errors import BadName, JobNotFound, MetricNotFound, ReadingError, Unreachable, alternatives, needs
from ..kinds import TRAIN_JOBS, place_of_kind, word_of
from ..spelling import spelled
from .drawing import html_of
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

    name: str


class Job:
    """A job. `refresh` reads it again; `watch` does so until it has ended.

    It is named by `NAMESPACE/NAME`, by its name in the kubeconfig's namespace or in `namespace`, or by an object with a
    name, such as the Kubeflow SDK's TrainJob.
    """

    def __init__(
        self,
        name: str | Named,
        *,
        namespace: str | None = None,
        kind: str = TRAIN_JOBS,
        api: Any = None,
        address: str | None = None,
        ca: str | None = None,
    ) -> None:
        before, self.name = _parts_of(name)
        self.namespace: str = before or namespace or getattr(name, "namespace", None) or _namespace()
        self.kind = kind
        self._address = address
        self._ca = ca
        self._api = api if api is not None else _api()
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
            raise _refused(error) from None
        except Exception as error:
            raise _silent(self._api, error) from None
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
            return _silent(self._api, error)
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
    def remaining(self) -> int | None:
        """In seconds; None while its pods fail and are started again."""
        return None if self.failure else self.status.get("estimatedRemainingSeconds")

    def curves(self) -> list[dict[str, Any]]:
        """Returns of each metric its name and points: time in milliseconds, least, greatest and last value."""
        return curves_of(self._api, self.namespace, self.name, self.kind, self._address, self._ca)

    def metrics(self) -> Any:
        """Returns the metrics over time as a pandas frame: a row for each time, a column for each metric."""
        pandas = _pandas()
        columns = {
            curve["name"]: pandas.Series(
                [point[3] for point in curve["points"]],
                index=pandas.to_datetime([point[0] for point in curve["points"]], unit="ms", utc=True),
                dtype=float,
            )
            for curve in self.curves()
            if _is_metric(curve)
        }
        frame = pandas.DataFrame(columns)
        frame.index.name = "time"
        return frame

    def plot(self, **options: Any) -> Any:
        """Draws the metrics over time. Metrics that come at different times have lines without gaps."""
        frame = self.metrics()
        if frame.empty:
            raise MetricNotFound(f"{self.namespace}/{self.name} has reported no metrics")
        return _without_gaps(frame).plot(**options)

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
                if _is_metric(curve) and curve["points"]:
                    metric, points = curve["name"], curve["points"]
                    break
        except Unreachable as error:
            problem = str(error)
        title = f"{self.namespace}/{self.name}"
        notes = [text for text in (self.failure, problem) if text]
        return html_of(title, self.state, self.progress, self.remaining, metric, points, notes)

    def __repr__(self) -> str:
        progress = "" if self.progress is None else f" {self.progress} %"
        failure = f": {self.failure}" if self.failure else ""
        return f"<{self.namespace}/{self.name} {self.state}{progress}{failure}>"


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


def _is_metric(curve: dict[str, Any]) -> bool:
    """Returns whether a curve is of a metric's numbers: progress, step, and when it was none, come as curves, too."""
    return not any(curve.get(it) for it in ("isProgress", "isStep", "isNonFinite"))


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise needs(error) from None
    return pandas


def _without_gaps(frame: Any) -> Any:
    """Returns the frame with values between those of each column, so that each is a line."""
    return frame.interpolate(method="index", limit_area="inside")


def _refused(error: Any) -> Unreachable:
    """Returns what an answer of the API server says that is no object."""
    text = str(error.body or error.reason or "")
    try:
        text = str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        pass
    if error.status == 401:
        return Unreachable("the API server does not know this user: is the kubeconfig's token still valid?")
    return Unreachable(f"the API server refuses: {error.status} {text}")


def _silent(api: Any, error: Exception) -> Unreachable:
    """Returns what to say of an API server that does not answer."""
    host = getattr(getattr(api, "configuration", None), "host", "")
    # urllib3 has the reason within what it says of its tries.
    why = getattr(error, "reason", None) or error
    return Unreachable(f"the API server {host} does not answer: {type(why).__name__}: {why}")


def api_of(kubeconfig: str) -> Any:
    """Returns a client of a kubeconfig's user."""
    return config.new_client_from_config(config_file=kubeconfig)


def _api() -> Any:
    """Returns a client of the kubeconfig's user, in a pod of its service account."""
    try:
        return config.new_client_from_config()
    except config.ConfigException as error:
        try:
            config.load_incluster_config()
        except config.ConfigException:
            raise Unreachable(f"there is no cluster to read from: {error} Set KUBECONFIG, or run in a pod") from None
        return client.ApiClient()


def _namespace() -> str:
    """Returns the namespace of the kubeconfig's context, in a pod its own, as kubectl does."""
    try:
        return config.list_kube_config_contexts()[1]["context"].get("namespace") or "default"
    except config.ConfigException:
        return _NAMESPACE_OF_POD.read_text().strip() if _NAMESPACE_OF_POD.exists() else "default"


def compare(*names: str | Named, metric: str) -> Any:
    """Returns a metric of several jobs as a pandas frame: a column for each job, by seconds from its first report.

    Between a job's own values there are values on the line between them, so that each job is a line without gaps.
    Raises `MetricNotFound` with the metrics that there are, if no job has this one.
    """
    pandas = _pandas()
    if not names:
        raise BadName("compare what? Give the names of jobs")
    columns = {}
    there: set[str] = set()
    for name in names:
        one = name if isinstance(name, Job) else Job(name)
        frame = one.metrics()
        there |= set(frame.columns)
        values = frame[metric].dropna() if metric in frame else pandas.Series(dtype=float)
        seconds = (values.index - values.index[0]).total_seconds() if len(values) else None
        columns[f"{one.namespace}/{one.name}"] = pandas.Series(values.to_numpy(), index=seconds, dtype=float)
    if metric not in there:
        raise MetricNotFound(f"no metric {metric}; {alternatives(metric, there, 'these jobs have reported none yet')}")
    frame = _without_gaps(pandas.DataFrame(columns).sort_index())
    frame.index.name = "seconds"
    return frame
