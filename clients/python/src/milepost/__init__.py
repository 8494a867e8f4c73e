"""Progress and metrics of a training run, shown by Milepost; and in a notebook, read from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .control import Stop
from .run import Run

if TYPE_CHECKING:
    from .reading.job import Job, Named

__version__ = "0.1.0"
__all__ = ["Run", "Stop", "compare", "job"]


def job(name: str | Named, **options: Any) -> Job:
    """Returns the job `NAMESPACE/NAME`, or that of the Kubeflow SDK's TrainJob. Needs `milepost[notebook]`."""
    from .reading.job import Job

    return Job(name, **options)


def compare(*names: str | Named, metric: str) -> Any:
    """Returns one metric of several jobs as a pandas frame. Needs `milepost[notebook]`."""
    from .reading.job import compare

    return compare(*names, metric=metric)
