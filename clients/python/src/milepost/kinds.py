"""Kinds of jobs, by which a job is read."""

from __future__ import annotations

TRAIN_JOBS = "trainjobs.trainer.kubeflow.org"
_VERSIONS = {"trainer.kubeflow.org": "v1alpha1", "kubeflow.org": "v1"}
# Of the kinds whose plurals end in "jobs", what is before that, as it is written.
_WRITTEN = {
    "jax": "JAX", "mpi": "MPI", "mx": "MX", "paddle": "Paddle", "pytorch": "PyTorch", "tf": "TF", "train": "Train",
    "xgboost": "XGBoost",
}  # fmt: skip


def place_of_kind(kind: str) -> tuple[str, str, str]:
    """Returns group, version and plural of a kind such as `trainjobs.trainer.kubeflow.org`."""
    plural, _, group = kind.partition(".")
    return group, _VERSIONS.get(group, "v1"), plural


def word_of(kind: str) -> str:
    """Returns a kind for people, such as TrainJob."""
    plural = kind.partition(".")[0]
    before = plural.removesuffix("jobs")
    return f"{_WRITTEN[before]}Job" if before in _WRITTEN else plural
