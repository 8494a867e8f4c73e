"""Job in a notebook: state, progress, metrics as frames, and a picture that follows it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from kubernetes import client, config

from .drawing import html_of
from .manager import DEADLINE_S, Unreachable, curves_of

KIND = "trainjobs.trainer.kubeflow.org"
_VERSIONS = {"trainer.kubeflow.org": "v1alpha1", "kubeflow.org": "v1"}
_NAMESPACE_OF_POD = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_ENDS = ("Complete", "Failed", "EarlyStopped", "Succeeded")


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
        kind: str = KIND,
        api: Any = None,
        address: str | None = None,
        ca: str | None = None,
    ) -> None:
        text = name if isinstance(name, str) else name.name
        before, _, self.name = text.rpartition("/")
        self.namespace: str = before or namespace or getattr(name, "namespace", None) or _namespace()
        self.kind = kind
        self._address = address
        self._ca = ca
        self._api = api if api is not None else _api()
        self._object: dict[str, Any] = {}
        self.refresh()

    def refresh(self) -> Job:
        """Reads the job's object again."""
        plural, _, group = self.kind.partition(".")
        version = _VERSIONS.get(group, "v1")
        self._object = client.CustomObjectsApi(self._api).get_namespaced_custom_object(
            group, version, self.namespace, plural, self.name, _request_timeout=DEADLINE_S
        )
        return self

    @property
    def status(self) -> dict[str, Any]:
        """The newest report of the job: `trainerStatus`, which the Kubeflow SDK's TrainJob does not have."""
        return dict(self._object.get("status", {}).get("trainerStatus") or {})

    @property
    def state(self) -> str:
        """Such as Running, Complete, Failed or EarlyStopped."""
        status = self._object.get("status", {})
        held = [one["type"] for one in status.get("conditions", []) if one.get("status") == "True"]
        return str(status.get("state") or (held[-1] if held else "Created"))

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes."""
        return self.state in _ENDS

    @property
    def progress(self) -> int | None:
        """In percent."""
        return self.status.get("progressPercentage")

    @property
    def remaining(self) -> int | None:
        """In seconds."""
        return self.status.get("estimatedRemainingSeconds")

    def curves(self) -> list[dict[str, Any]]:
        """Returns of each metric its name and points: time in milliseconds, least, greatest and last value."""
        return curves_of(self._api, self.namespace, self.name, self.kind, self._address, self._ca)

    def metrics(self) -> Any:
        """Returns the metrics over time as a pandas frame: a row for each time, a column for each metric."""
        import pandas

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
        """Shows the job in the notebook, in one place, until it has ended."""
        from IPython.display import display

        place = display(self, display_id=True)
        for _ in self.watch(every=every, patience=patience):
            if place is not None:
                place.update(self)

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
        return html_of(title, self.state, self.progress, self.remaining, metric, points, problem)

    def __repr__(self) -> str:
        progress = "" if self.progress is None else f" {self.progress} %"
        return f"<{self.namespace}/{self.name} {self.state}{progress}>"


def _is_metric(curve: dict[str, Any]) -> bool:
    """Tells curves of metrics from those of the progress and of the step."""
    return not (curve.get("isProgress") or curve.get("isStep"))


def _api() -> Any:
    """Returns a client of the kubeconfig's user, in a pod of its service account."""
    try:
        return config.new_client_from_config()
    except config.ConfigException:
        config.load_incluster_config()
        return client.ApiClient()


def _namespace() -> str:
    """Returns the namespace of the kubeconfig's context, in a pod its own, as kubectl does."""
    try:
        return config.list_kube_config_contexts()[1]["context"].get("namespace") or "default"
    except config.ConfigException:
        return _NAMESPACE_OF_POD.read_text().strip() if _NAMESPACE_OF_POD.exists() else "default"


def compare(*names: str | Named, metric: str) -> Any:
    """Returns a metric of several jobs as a pandas frame: a column for each job, by seconds from its first report."""
    import pandas

    columns = {}
    for name in names:
        one = name if isinstance(name, Job) else Job(name)
        frame = one.metrics()
        if metric in frame:
            values = frame[metric].dropna()
            seconds = (values.index - values.index[0]).total_seconds() if len(values) else values.index
            columns[f"{one.namespace}/{one.name}"] = pandas.Series(values.to_numpy(), index=seconds)
    frame = pandas.DataFrame(columns)
    frame.index.name = "seconds"
    return frame
