"""Variables of a container: where to push, and which process of the job this is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

# The first family is from KEP-2779, the second from the Kubeflow SDK.
_FAMILIES = ("KUBEFLOW_TRAINER_STATUS", "KUBEFLOW_TRAINER_SERVER")

# What is set beside a number of a name that could be anybody's: a JAXJob of `kubeflow.org/v1` sets both.
_BESIDE = {"PROCESS_ID": "COORDINATOR_ADDRESS"}

# Numbers of a process among all of the job, and then those of its node.
_RANKS = (
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "JAX_PROCESS_ID",
    "PROCESS_ID",
    "DMLC_TASK_ID",
    "SLURM_PROCID",
)
_NODE_RANKS = ("PET_NODE_RANK", "JOB_COMPLETION_INDEX")
# Numbers of a process among those of its pod.
_LOCAL_RANKS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


@dataclass(frozen=True)
class Place:
    """Where a container pushes, and the files that prove both sides; both are renewed in place."""

    url: str
    ca_file: str
    token_file: str
    container: str


def place_of(environ: Mapping[str, str]) -> Place | None:
    """Returns the place of this container; None outside of a job."""
    for family in _FAMILIES:
        url = environ.get(f"{family}_URL", "")
        if url:
            return Place(
                url=url.rstrip("/"),
                ca_file=environ.get(f"{family}_CA_CERT", ""),
                token_file=environ.get(f"{family}_TOKEN", ""),
                container=environ.get("KUBEFLOW_TRAINER_STATUS_CONTAINER", ""),
            )
    return None


def _rank_in_tensorflow(config: str) -> int | None:
    """Returns 0 for the task that speaks for a job: the chief, else the first worker."""
    try:
        parsed = json.loads(config)
        task, cluster = parsed["task"], parsed["cluster"]
        chiefs = [kind for kind in ("chief", "master") if kind in cluster] or ["worker"]
        return 0 if task["type"] in chiefs and int(task["index"]) == 0 else 1
    except (ValueError, KeyError, TypeError):
        return None


def _number(environ: Mapping[str, str], *names: str) -> int | None:
    """Returns the first number among those variables."""
    for name in names:
        if name in _BESIDE and _BESIDE[name] not in environ:
            continue
        try:
            return int(environ[name])
        except (KeyError, ValueError):
            continue
    return None


def rank_of(environ: Mapping[str, str]) -> int:
    """Returns the number of this process in its job; 0 where nothing says so."""
    rank = _number(environ, *_RANKS)
    if rank is not None:
        return rank
    node = _number(environ, *_NODE_RANKS)
    if node is not None:
        return node * (_number(environ, "LOCAL_WORLD_SIZE") or 1) + local_rank_of(environ)
    return _rank_in_tensorflow(environ.get("TF_CONFIG", "")) or 0


def local_rank_of(environ: Mapping[str, str]) -> int:
    """Returns the number of this process in its pod; 0 where nothing says so."""
    return _number(environ, *_LOCAL_RANKS) or 0
