"""Jobs of a search's trials: how they are called, and what is made of the job that was given and a trial's values."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from ..errors import BadName, SearchError
from ..kinds import TRAIN_JOBS, full_kind

# By it page and lists show jobs of one search together.
SEARCH = "katib.kubeflow.org/experiment"
_NUMBER = "trainer.kubeflow.org/optuna-trial"
# Gives a job a log of what it pushes, with steps.
_TEMPLATE = "trainer.kubeflow.org/trial-template"
_OBJECTIVE = "trainer.kubeflow.org/objective"
_PREFIX = "KUBEFLOW_TRAINER_OPT_"
_NAME_MAX = 30
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
# The container that trains, as the kinds of the v1 API call it.
_CONTAINERS = {
    "jaxjob": "jax", "mpijob": "mpi", "mxjob": "mxnet", "paddlejob": "paddle", "pytorchjob": "pytorch",
    "tfjob": "tensorflow", "xgboostjob": "xgboost",
}  # fmt: skip


def search_name(study: str, random: str) -> str:
    """Returns what the jobs of a study are labelled with, and their names begin with."""
    slug = re.sub(r"[^a-z0-9]+", "-", study.lower()).strip("-")
    slug = slug if slug[:1].isalpha() else f"study-{slug}"
    return f"{slug[:_NAME_MAX].strip('-')}-{random}"


def objective_text(direction: str, objective: str) -> str:
    """Returns what is optimized, such as "minimize loss"."""
    return f"{direction.lower()} {objective}"


def variables(values: Mapping[str, object], parameters: Mapping[str, object]) -> dict[str, str]:
    """Returns the variables of a trial: the values by their names, and the study's parameters by theirs in upper case.

    Raises `SearchError` for a name that no variable can have, and for parameters that would be one variable.
    """
    found: dict[str, str] = {}
    named = [(str(name), value) for name, value in values.items()]
    for name, value in [*named, *((_PREFIX + name.upper(), value) for name, value in parameters.items())]:
        if not _VARIABLE.fullmatch(name):
            raise SearchError(f"{name!r} cannot be a variable: name parameters with letters, digits, '_', '-' and '.' alone")
        if found.setdefault(name, str(value)) != str(value):
            raise SearchError(f"two parameters would be the variable {name}: give one of them another name")
    return found


class TrialJobs:
    """What the jobs of a search have in common. `template` is a job; its name and status count for nothing."""

    def __init__(self, template: Mapping[str, Any], objective: str) -> None:
        group, _, _ = str(template.get("apiVersion")).partition("/")
        word = str(template.get("kind")).lower()
        spec = template.get("spec")
        try:
            self.kind = full_kind(word)
        except BadName:
            self.kind = ""
        if self.kind != f"{word}s.{group}" or not isinstance(spec, Mapping):
            raise SearchError("the job is no TrainJob and no job of kubeflow.org/v1: it needs apiVersion, kind and spec")
        metadata = template.get("metadata") or {}
        self.namespace: str | None = metadata.get("namespace")
        self._labels = dict(metadata.get("labels") or {})
        self._annotations: dict[str, str] = {_TEMPLATE: "{}", **(metadata.get("annotations") or {})}
        direction, _, metric = self._annotations.get(_OBJECTIVE, objective).partition(" ")
        if objective_text(direction, metric.strip()) != objective:
            raise SearchError(f"the study is to {objective}, and the job is annotated with {direction} {metric}: make them agree")
        self.objective = self._annotations[_OBJECTIVE] = objective
        self._head = {"apiVersion": template["apiVersion"], "kind": template["kind"]}
        self._container = _CONTAINERS.get(word, "")
        self._spec = dict(spec)
        try:
            self.job("search", 0, {})
        except (LookupError, TypeError, AttributeError):
            raise SearchError("no variables can be given to the job: it has no container that trains, or its env is no list") from None

    def job(self, search: str, number: int, variables: Mapping[str, str]) -> dict[str, Any]:
        """Returns the job of a trial. Its variables replace those of the same names."""
        spec = copy.deepcopy(self._spec)
        for env in self._environments(spec):
            kept = [one for one in env if one.get("name") not in variables]
            env[:] = [*kept, *({"name": name, "value": value} for name, value in variables.items())]
        metadata = {
            "name": f"{search}-{number}",
            "labels": {**self._labels, SEARCH: search, _NUMBER: str(number)},
            "annotations": self._annotations,
        }
        return {**self._head, "metadata": metadata, "spec": spec}

    def _environments(self, spec: dict[str, Any]) -> list[list[dict[str, Any]]]:
        """Returns the variables of the trainer, or of the container that trains in each kind of replica."""
        places: list[dict[str, Any]] = []
        if self.kind == TRAIN_JOBS:
            spec["trainer"] = spec.get("trainer") or {}
            places.append(spec["trainer"])
        else:
            replicas: dict[str, Any] = [value for name, value in spec.items() if name.endswith("ReplicaSpecs")][0]
            for replica in replicas.values():
                containers = replica["template"]["spec"]["containers"]
                places.append(next((one for one in containers if one.get("name") == self._container), containers[0]))
        for place in places:
            place["env"] = place.get("env") or []
        return [place["env"] for place in places]
