"""Job that is given to a search: a file, a dict, or an object of the Kubeflow SDK or of Kubernetes' client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import yaml
from kubernetes import client

from ..errors import SearchError

_HINT = "give a file of a TrainJob or a v1 job, a dict, or an object with to_dict"


def template_of(job: Any) -> Mapping[str, Any]:
    """Returns the job as its manifest. Raises `SearchError` with what to do."""
    if isinstance(job, (str, os.PathLike)):
        try:
            with open(job, encoding="utf-8") as file:
                found = [one for one in yaml.safe_load_all(file) if one is not None]
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise SearchError(f"the job cannot be read from {os.fspath(job)}: {error}") from None
        if len(found) != 1:
            raise SearchError(f"{os.fspath(job)} has {len(found)} objects: {_HINT}")
        job = found[0]
    # Objects of Kubernetes' client, whose own to_dict has other names for the fields.
    elif hasattr(job, "openapi_types"):
        job = client.ApiClient().sanitize_for_serialization(job)
    elif hasattr(job, "to_dict"):
        job = job.to_dict()
    if not isinstance(job, Mapping):
        raise SearchError(f"{type(job).__name__} is no job: {_HINT}")
    return job
