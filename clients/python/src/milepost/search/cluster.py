"""Cluster in which a search's jobs run: they are made and looked up with the user's own rights, and stopped by the manager."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from kubernetes import client

from ..errors import ReadingError, SearchError, TrialFailed, Unreachable
from ..kinds import place_of_kind, word_of
from ..reading.job import default_api, default_namespace, refusal_of, silence_of
from ..reading.manager import DEADLINE_S, Refused, asked
from .trial_jobs import SEARCH, TrialJobs

# A quota that is full, and objects that are not valid or that admission denies, in the words of the API server.
_QUOTA = "exceeded quota"
_INVALID = (400, 413, 422)
_DENIED = "denied the request"
# Answers of the manager after which the same request may go again.
AGAIN = (408, 429, 500, 502, 503, 504)


class Later(Exception):
    """What was asked for may be had later, by the same request."""


def _is_invalid(error: Any) -> bool:
    """Returns whether the job is refused, whoever makes it."""
    return error.status in _INVALID or (error.status == 403 and _DENIED in str(error.body))


class Cluster:
    """The cluster of a kubeconfig's user, as far as a search needs it."""

    def __init__(self, jobs: TrialJobs, namespace: str | None, api: Any, address: str | None, ca: str | None) -> None:
        self._kind = jobs.kind
        self._api = api if api is not None else default_api()
        self.namespace: str = namespace or jobs.namespace or default_namespace()
        group, version, plural = place_of_kind(jobs.kind)
        self._place = group, version, self.namespace, plural
        self._path = f"/apis/{group}/{version}/namespaces/{self.namespace}/{plural}"
        self._address, self._ca = address, ca
        self._objects = client.CustomObjectsApi(self._api)

    def check(self, job: dict[str, Any]) -> None:
        """Raises an error if such a job could not be made, and makes none."""
        try:
            self._asked(self._objects.create_namespaced_custom_object, job, dry_run="All")
        except Later as error:
            if _QUOTA not in str(error):
                raise Unreachable(str(error)) from None
        except client.ApiException as error:
            if error.status != 409:
                raise self._refusal(error) from None

    def create(self, job: dict[str, Any], search: str) -> str:
        """Makes the job of a trial, if it is not there already. Returns its UID.

        Raises `Later`, `TrialFailed` for a job that is not valid, or an error that ends the search.
        """
        name = job["metadata"]["name"]
        try:
            made = self._asked(self._objects.create_namespaced_custom_object, job)
        except client.ApiException as error:
            if error.status != 409:
                refusal = self._refusal(error)
                raise (TrialFailed(str(refusal)) if _is_invalid(error) else refusal) from None
            made = self._found(name)
            if made is None:
                raise Later(f"the job {name} is being deleted") from None
            if (made["metadata"].get("labels") or {}).get(SEARCH) != search:
                raise SearchError(f"the job {name} in {self.namespace} is not of this study: delete it") from None
        return str(made["metadata"]["uid"])

    def has(self, name: str, uid: str) -> bool:
        """Returns whether that job is there. Raises `Later`."""
        there = self._found(name)
        return there is not None and there["metadata"]["uid"] == uid

    def _found(self, name: str) -> Any:
        try:
            return self._asked(self._objects.get_namespaced_custom_object, name)
        except client.ApiException as error:
            if error.status == 404:
                return None
            raise refusal_of(error) from None

    def _asked(self, ask: Callable[..., Any], *what: Any, **options: Any) -> Any:
        """Returns what the API server answers. Raises `Later` if it may answer otherwise later."""
        try:
            return ask(*self._place, *what, _request_timeout=DEADLINE_S, **options)
        except client.ApiException as error:
            if error.status in AGAIN or _QUOTA in str(error.body):
                raise Later(str(refusal_of(error))) from None
            raise
        except Exception as error:
            raise Later(str(silence_of(self._api, error))) from None

    def stop(self, name: str, uid: str, reason: str, message: str) -> bool:
        """Stops a job early. Returns whether that is decided: a job that has ended, or is gone, is not stopped. Raises `Later`."""
        body = json.dumps({"reason": reason, "message": message[:1024], "uid": uid}).encode()
        try:
            with asked(self._api, "POST", f"{self._path}/{name}/stop", body, self._address, self._ca) as (answer, _):
                answer.read()
        except Refused as error:
            if error.code in (404, 409):
                return False
            if error.code in AGAIN:
                raise Later(str(error)) from None
            raise SearchError(f"trials cannot be stopped: {error}") from None
        except Unreachable as error:
            raise Later(str(error)) from None
        return True

    def observations(self, search: str, positions: dict[str, str]) -> AbstractContextManager[tuple[Any, Any]]:
        """Opens the stream of what the jobs of a search push, behind these positions of jobs by their UID."""
        body = json.dumps({"labelSelector": f"{SEARCH}={search}", "from": positions}).encode()
        return asked(self._api, "POST", f"{self._path}/observations", body, self._address, self._ca)

    def _refusal(self, error: Any) -> ReadingError:
        """Returns why a job is not made, and what to do."""
        why = refusal_of(error)
        if _is_invalid(error):
            return SearchError(f"the {word_of(self._kind)} is not valid: {why}")
        if error.status == 403:
            return SearchError(f"{why}: ask for the right to create {self._kind} in {self.namespace}, or name another namespace")
        if error.status == 404:
            where = f"the cluster has no kind {self._kind}, or no namespace {self.namespace}"
            return SearchError(f"{where}: is it the right cluster, and Milepost installed?")
        return why
