"""Progress and metrics of a training run, shown by Milepost; and in a notebook, read from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .control import Stop
from .errors import BadName, JobNotFound, MetricNotFound, NotInstalled, ReadingError, Unreachable, needs
from .resumption import Checkpoint, Resumption, resume
from .run import Run

if TYPE_CHECKING:
    import os

    from .control_plane import Local
    from .reading.frames import Over
    from .reading.job import Job, Named
    from .reading.listing import ListedJob

__all__ = [
    "BadName", "Checkpoint", "JobNotFound", "MetricNotFound", "NotInstalled", "ReadingError", "Resumption", "Run", "Stop",
    "Unreachable", "compare", "job", "jobs", "local", "resume",
]  # fmt: skip


def job(
    name: str | Named,
    *,
    namespace: str | None = None,
    kind: str | None = None,
    api: Any = None,
    address: str | None = None,
    ca: str | None = None,
) -> Job:
    """Returns the job `NAMESPACE/NAME`, or that of the Kubeflow SDK's TrainJob. Needs `milepost[notebook]`.

    Without a namespace it is in `namespace`, else in that of the kubeconfig. `kind` is such as
    "pytorchjob", in any case, or "widgets.example.org" of a kind that Milepost only watches; without it, it is a TrainJob,
    or of the kind of a job of `jobs`. `api` is a `kubernetes.client.ApiClient` for another cluster than the kubeconfig's.
    `address` is where curves are read, such as "https://manager:8082", and `ca` a file with the CA of its certificate,
    where neither is found by itself. Raises `JobNotFound`, or another `ReadingError`.
    """
    made: Job = _reading().Job(name, namespace=namespace, kind=kind, api=api, address=address, ca=ca)
    return made


def jobs(
    namespace: str | None = None,
    *,
    kind: str | None = None,
    state: str | None = None,
    limit: int = 1000,
    api: Any = None,
    address: str | None = None,
    ca: str | None = None,
) -> list[ListedJob]:
    """Returns the jobs of all kinds that the kubeconfig's user may list, the newest first. Needs `milepost[notebook]`.

    They are of all namespaces, for which it needs the right to list jobs in all of them, or of `namespace`; of `kind`,
    such as "pytorchjob", and in `state`, such as "running", each in any case, if these are given. There are at most
    `limit`, and never more than 1000. Each has namespace, name, kind, state, progress, when it was created, and its newest
    metrics; `pandas.DataFrame(milepost.jobs())` is a table of them. `api`, `address` and `ca` are as those of `job`.
    Raises `BadName`, a ValueError, for a kind or a state that there is not, and `Unreachable`.
    """
    listed: list[ListedJob] = _reading().jobs(
        namespace, kind=kind, state=state, limit=limit, api=api, address=address, ca=ca
    )
    return listed


def compare(*names: str | Named, metric: str, over: Over | None = None) -> Any:
    """Returns one metric of several jobs as a pandas frame, a line for each job. Needs `milepost[notebook]`.

    A row is of a "step" of the training, if all these jobs push it, else of a "time": so many seconds after a job's first
    report. `over` says which, or "wall clock" for times in UTC. Of a step that was trained again after a
    restart the newest value counts, and none of the steps beyond it that came before; `over="time"` has them all. Raises
    `MetricNotFound` with the metrics that there are.
    """
    return _reading().compare(*names, metric=metric, over=over)


def local(data_dir: str | os.PathLike[str] | None = None, *, patience: float = 60.0) -> Local:
    """Returns a control plane of Milepost on this machine, for this process, with which it ends. Needs `milepost[server]`.

    KUBECONFIG of this process names it while it runs, for `milepost.job`, the Kubeflow SDK and kubectl. Its jobs are kept
    in `data_dir`, or in memory. `patience` is how many seconds it may take to start. Called again, it returns the same.
    """
    from .control_plane import local

    return local(data_dir, patience=patience)


def __getattr__(name: str) -> Any:
    if name == "optuna":
        from importlib import import_module

        return import_module(".optuna", __name__)
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
