"""Kinds of jobs, by which a job is read."""

from __future__ import annotations

from .errors import BadName

TRAIN_JOBS = "trainjobs.trainer.kubeflow.org"
_VERSIONS = {"trainer.kubeflow.org": "v1alpha1", "kubeflow.org": "v1"}
# Of the kinds whose plurals end in "jobs", what is before that, as it is written.
_WRITTEN = {
    "jax": "JAX", "mpi": "MPI", "mx": "MX", "paddle": "Paddle", "pytorch": "PyTorch", "tf": "TF", "train": "Train",
    "xgboost": "XGBoost",
}  # fmt: skip
# Plural and group of each, by its plural and its singular.
_KNOWN = {
    word: f"{before}jobs.{'trainer.' if before == 'train' else ''}kubeflow.org"
    for before in _WRITTEN for word in (f"{before}jobs", f"{before}job")
}  # fmt: skip


def full_kind(kind: str) -> str:
    """Returns plural and group of a kind: of one that is known by its plural, its singular or either with its group, in any case.

    Another is given with its group, and is returned as it is. Raises `BadName` for a word without a group that names none.
    """
    word, dot, group = kind.lower().partition(".")
    known = _KNOWN.get(word, "")
    if known and (not dot or known.partition(".")[2] == group):
        return known
    if dot:
        return kind
    names = ", ".join(name for name in _KNOWN if not name.endswith("s"))
    raise BadName(f"there is no kind of job {kind}; known: {names}; others are PLURAL.GROUP")


def place_of_kind(kind: str) -> tuple[str, str, str]:
    """Returns group, version and plural of a kind such as `trainjobs.trainer.kubeflow.org`."""
    plural, _, group = kind.partition(".")
    return group, _VERSIONS.get(group, "v1"), plural


def word_of(kind: str) -> str:
    """Returns a kind for people, such as TrainJob."""
    plural = kind.partition(".")[0]
    before = plural.removesuffix("jobs")
    return f"{_WRITTEN[before]}Job" if before in _WRITTEN else plural
