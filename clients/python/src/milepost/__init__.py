"""Progress and metrics of a training run, shown by Milepost; and in a notebook, read from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .control import Stop
from .errors import BadName, JobNotFound, MetricNotFound, NotInstalled, ReadingError, Unreachable, needs
from .kinds import TRAIN_JOBS
from .run import Run

if TYPE_CHECKING:
    import os

    from .control_plane import Local
    from .reading.job import Job, Named

__all__ = [
    "BadName", "JobNotFound", "MetricNotFound", "NotInstalled", "ReadingError", "Run", "Stop", "Unreachable",
    "compare", "job", "local",
]  # fmt: skip


def job(
    name: str | Named,
    *,
    namespace: str | None = None,
    kind: str = TRAIN_JOBS,
    api: Any = None,
    address: str | None = None,
    ca: str | None = None,
) -> Job:
    """Returns the job `NAMESPACE/NAME`, or that of the Kubeflow SDK's TrainJob. Needs `milepost[notebook]`.

    Without a namespace it is in `namespace`, else in that of the kubeconfig. `kind` is such as
    "pytorchjobs.kubeflow.org". `api` is a `kubernetes.client.ApiClient` for another cluster than the kubeconfig's.
    `address` is where curves are read, such as "https://manager:8082", and `ca` a file with the CA of its certificate,
    where neither is found by itself. Raises `JobNotFound`, or another `ReadingError`.
    """
    made: Job = _reading().Job(name, namespace=namespace, kind=kind, api=api, address=address, ca=ca)
    return made


def compare(*names: str | Named, metric: str) -> Any:
    """Returns one metric of several jobs as a pandas frame, a line for each job. Needs `milepost[notebook]`.

    A row is so many seconds after a job's first report. Raises `MetricNotFound` with the metrics that there are.
    """
    return _reading().compare(*names, metric=metric)


def local(data_dir: str | os.PathLike[str] | None = None, *, patience: float = 60.0) -> Local:
    """Returns a control plane of Milepost on this machine, for this process, with which it ends. Needs `milepost[server]`.

    KUBECONFIG of this process names it while it runs, for `milepost.job`, the Kubeflow SDK and kubectl. Its jobs are kept
    in `data_dir`, or in memory. `patience` is how many seconds it may take to start. Called again, it returns the same.
    """
    from .control_plane import local

    return local(data_dir, patience=patience)


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("milepost")
    except PackageNotFoundError:  # In a clone.
        return "0+clone"


def _reading() -> Any:
    try:
        from .reading import job
    except ImportError as error:
        raise needs(error) from None
    return job
