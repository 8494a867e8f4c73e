"""Manager of a cluster, as far as it is read: the curves of a job, with the token of the kubeconfig's user."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import urllib.parse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from kubernetes import client

from ..errors import Unreachable
from .forward import NotForwarded, forwarded

NAMESPACE = "kubeflow-system"
PUBLIC = "kubeflow-trainer-public"
SERVICE = "kubeflow-trainer-controller-manager"
DEADLINE_S = 10.0
ANSWER_MAX = 16 << 20
_NOT_TAKEN = (
    "the manager does not accept this user's token: it takes tokens of the API server with --read-with-api-tokens "
    "alone. Give the manager that flag, or use a token of the audience observation.trainer.kubeflow.org"
)
_ELSEWHERE = 'give address="https://…" of a status port that can be reached from here'


def _authority(api: Any) -> str:
    """Returns the CA that the manager publishes in its own namespace, where no tenant writes."""
    try:
        published = client.CoreV1Api(api).read_namespaced_config_map(PUBLIC, NAMESPACE, _request_timeout=DEADLINE_S)
        found = str((published.data or {}).get("ca.crt") or "")
    except client.ApiException as error:
        if error.status not in (403, 404):
            raise
        found = ""
    if not found:
        raise Unreachable(
            f"the manager's CA is not in the ConfigMap {NAMESPACE}/{PUBLIC}, where a manager of this version puts it: "
            'give its file, ca="FILE"'
        )
    return found


def _place(api: Any) -> tuple[str, int, str]:
    """Returns host and port of the manager, and its pod if it is reached through the API server alone.

    A standalone is on loopback. In a pod of the cluster it is the Service.
    """
    service = f"{SERVICE}.{NAMESPACE}.svc"
    is_in_pod = "KUBERNETES_SERVICE_HOST" in os.environ
    try:
        slices = client.DiscoveryV1Api(api).list_namespaced_endpoint_slice(
            NAMESPACE, label_selector=f"kubernetes.io/service-name={SERVICE}", _request_timeout=DEADLINE_S
        ).items
    except client.ApiException as error:
        if error.status != 403:
            raise
        if not is_in_pod:
            raise _lacks("list endpointslices", "found") from error
        slices = []
    pods: list[tuple[str, int, str]] = []
    for one in slices:
        port = int({port.name: port.port for port in one.ports or []}.get("status") or 0)
        for endpoint in (one.endpoints or []) if port else []:
            if endpoint.conditions is not None and endpoint.conditions.ready is False:
                continue
            if endpoint.target_ref is not None and endpoint.target_ref.kind == "Pod":
                pods.append((service, port, endpoint.target_ref.name))
            # A cluster's API server refuses such an endpoint; that of a standalone runs on this machine.
            elif "127.0.0.1" in endpoint.addresses:
                return "127.0.0.1", port, ""
    if is_in_pod:
        return service, 8082, ""
    if not pods:
        raise Unreachable(
            f"no manager is found: the Service {SERVICE} in {NAMESPACE} has no replica that is ready; {_ELSEWHERE}"
        )
    return pods[0]


def _lacks(right: str, use: str) -> Unreachable:
    return Unreachable(
        f"the user has no right to {right} in {NAMESPACE}, by which the manager is {use}: ask for it, or {_ELSEWHERE}"
    )


@contextmanager
def _connection(
    api: Any, address: str | None, token: str, trust: ssl.SSLContext
) -> Iterator[tuple[http.client.HTTPConnection, str]]:
    """Gives a connection to the manager, and what paths begin with there."""
    base = urllib.parse.urlsplit(address or "")
    if address and (base.scheme != "https" or not base.hostname):
        raise Unreachable(f"{address} is no address of a manager: it begins with https://")
    host, port, pod = (base.hostname, base.port or 443, "") if base.hostname else _place(api)
    if not pod:
        # No proxy: the manager is in the cluster or on this machine.
        with closing(http.client.HTTPSConnection(host, port, timeout=DEADLINE_S, context=trust)) as direct:
            yield direct, base.path.rstrip("/")
        return
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{urllib.parse.quote(pod, safe='')}/portforward?ports={port}"
    try:
        with forwarded(api, path, token, trust, host, DEADLINE_S) as socket:
            connection = http.client.HTTPConnection(host, port)
            connection.sock = socket
            yield connection, ""
    except NotForwarded as error:
        if error.code == 403:
            raise _lacks("get and create pods/portforward", "reached") from error
        raise Unreachable(f"port {port} of the manager's pod {pod} cannot be forwarded: {error}; {_ELSEWHERE}") from error


class Refused(Unreachable):
    """The manager refuses a request, with that code of HTTP."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(why)
        self.code = code


@contextmanager
def asked(
    api: Any, method: str, path: str, body: bytes | None = None, address: str | None = None, ca: str | None = None,
) -> Iterator[tuple[http.client.HTTPResponse, Any]]:  # fmt: skip
    """Gives the manager's answer to a request, and its socket, whose deadline can be moved.

    `ca` is the file of the CA of the manager's certificate; by default it is the one that the manager publishes. Raises
    `Refused` for an answer that is not 200, and else `Unreachable`, also for what goes wrong while the answer is read.
    """
    # By its name there: as a key it has had two.
    token = str(api.configuration.auth_settings().get("BearerToken", {}).get("value") or "")
    # Said here, because http.client would write a token that it does not like into its error.
    if not token or not all(" " <= one <= "~" for one in token):
        raise Unreachable("the manager shows jobs to tokens, and this kubeconfig has none: use one with a token")
    try:
        trust = ssl.create_default_context(cafile=ca, cadata=None if ca else _authority(api))
        with _connection(api, address, token, trust) as (connection, base):
            connection.request(method, base + path, body, {"Authorization": token})
            socket = connection.sock
            answer = connection.getresponse()
            if answer.status != 200:
                place, text = answer.headers["Location"], answer.read(ANSWER_MAX)
                raise Refused(_refusal(answer.status, place, text), answer.status)
            yield answer, socket
    except Unreachable:
        raise
    except Exception as error:
        raise Unreachable(f"the manager cannot be read: {type(error).__name__}: {error}") from error


def answer_of(
    api: Any, path: str, parameters: dict[str, Any], address: str | None = None, ca: str | None = None,
) -> bytes:  # fmt: skip
    """Returns the manager's answer to a question of `/view/v1/`. Raises `Unreachable`."""
    query = urllib.parse.urlencode(parameters)
    with asked(api, "GET", f"/view/v1/{path}?{query}", None, address, ca) as (answer, _):
        body = answer.read(ANSWER_MAX + 1)
    if len(body) > ANSWER_MAX:
        raise Unreachable(f"the manager's answer has more than {ANSWER_MAX >> 20} MiB")
    return body


def curves_of(
    api: Any, namespace: str, job: str, kind: str, address: str | None = None, ca: str | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Returns the curves of a job: of each metric its name and points. Throws `Unreachable`."""
    body = answer_of(api, "curves", {"job": f"{kind}/{namespace}/{job}"}, address, ca)
    try:
        curves = json.loads(body)["curves"]
        return list(curves[0]["metrics"]) if curves else []
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise Unreachable(f"the manager's answer has no curves: {type(error).__name__}: {error}") from error


def _refusal(code: int, place: str | None, body: bytes) -> str:
    if code == 401:
        return _NOT_TAKEN
    if place is not None:
        return f"the manager answers {code} and names {place}, to which no token is sent: give its own address"
    text = body[:1000].decode(errors="replace")
    try:
        text = str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        pass
    return f"the manager refuses: {code} {text.strip()}"
