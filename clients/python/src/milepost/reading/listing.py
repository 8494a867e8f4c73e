"""List of jobs of all kinds, as the manager shows it to a user."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadName, Unreachable
from ..kinds import full_kind
from .drawing import number_in
from .manager import answer_of

# Most jobs of one list, and of one answer of the manager.
JOBS_MAX, WINDOW = 1000, 200
STATES = ("Created", "Running", "Suspended", "Complete", "Failed", "EarlyStopped")


@dataclass(frozen=True)
class ListedJob:
    """A job in a list, as it was then; `milepost.job` and `milepost.compare` take it for its name.

    `kind` is such as "trainjobs.trainer.kubeflow.org", `progress` in percent, `metrics` are the newest values, and
    `configuration` is what it was started with, in short: runtime, image, options of the command, variables.
    """

    namespace: str
    name: str
    kind: str
    state: str
    progress: int | None = None
    created: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)


def filters_of(namespace: str | None, kind: str | None, state: str | None) -> dict[str, str | None]:
    """Returns what a list is asked for. Raises `BadName` for a kind or a state that there is not."""
    found = next((one for one in STATES if state and one.lower() == state.lower()), None)
    if state and found is None:
        raise BadName(f"there is no state {state}; there are {', '.join(STATES)}")
    return {"namespace": namespace, "kind": full_kind(kind) if kind else None, "state": found}


def jobs_of(
    api: Any, filters: dict[str, str | None], limit: int, address: str | None, ca: str | None
) -> list[ListedJob]:
    """Returns at most `limit` jobs, the newest first. Raises `Unreachable`."""
    asked = {"configuration": "true", **{name: value for name, value in filters.items() if value}}
    # By UID: a job that is new while windows are read moves the others into the next one.
    found: dict[str, ListedJob] = {}
    offset, end = 0, min(limit, JOBS_MAX)
    while offset < end:
        query = {**asked, "offset": offset, "limit": min(WINDOW, end - offset)}
        body = answer_of(api, "jobs", query, address, ca)
        try:
            answer = json.loads(body)
            rows = answer["rows"]
            found |= {row["uid"]: _listed(row) for row in rows}
            offset += len(rows)
            if not rows or offset >= answer["total"]:
                break
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise Unreachable(f"the manager's answer is no list of jobs: {type(error).__name__}: {error}") from error
    return list(found.values())


def _listed(row: dict[str, Any]) -> ListedJob:
    metrics = {str(one["name"]): number_in(one["value"]) for one in row.get("metrics", [])}
    namespace, name, kind, state = (str(row[one]) for one in ("namespace", "name", "kind", "state"))
    configuration = {str(setting): str(text) for setting, text in row.get("configuration", [])}
    created = str(row.get("created", ""))
    return ListedJob(namespace, name, kind, state, row.get("progress"), created, metrics, configuration)
