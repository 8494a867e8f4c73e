"""Manager of a cluster, as far as it is read: the curves of a job, with the token of the kubeconfig's user."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from kubernetes import client

NAMESPACE = "kubeflow-system"
SERVICE = "kubeflow-trainer-controller-manager"
DEADLINE_S = 10.0
ANSWER_MAX = 16 << 20
_NOT_TAKEN = (
    "the manager does not accept this user's token: it takes tokens of the API server with --read-with-api-tokens "
    "alone. Give the manager that flag, or use a token of the audience observation.trainer.kubeflow.org"
)


class Unreachable(Exception):
    """The manager cannot be asked; the text says why, and what to do."""


def _address(api: Any) -> str:
    """Returns the URL of the status port: a standalone's on loopback, else the Service, which pods reach."""
    try:
        slices = client.DiscoveryV1Api(api).list_namespaced_endpoint_slice(
            NAMESPACE, label_selector=f"kubernetes.io/service-name={SERVICE}", _request_timeout=DEADLINE_S
        ).items
    except client.ApiException as error:
        if error.status != 403:
            raise
        slices = []
    for one in slices:
        ports = {port.name: port.port for port in one.ports or []}
        for endpoint in one.endpoints or []:
            if "127.0.0.1" in endpoint.addresses and "status" in ports:
                return f"https://127.0.0.1:{ports['status']}"
    return f"https://{SERVICE}.{NAMESPACE}.svc:8082"


def curves_of(api: Any, namespace: str, job: str, kind: str, address: str | None = None) -> list[dict[str, Any]]:
    """Returns the curves of a job: of each metric its name and points. Throws `Unreachable`."""
    token = api.configuration.get_api_key_with_prefix("authorization") or ""
    if not token:
        raise Unreachable("curves are shown to tokens, and this kubeconfig has none: use one with a token")
    query = urllib.parse.urlencode({"job": f"{kind}/{namespace}/{job}"})
    try:
        config_map = client.CoreV1Api(api).read_namespaced_config_map(
            f"{job}-tls-config", namespace, _request_timeout=DEADLINE_S
        )
        url = f"{address or _address(api)}/view/v1/curves?{query}"
        request = urllib.request.Request(url, headers={"Authorization": token})
        trust = ssl.create_default_context(cadata=config_map.data["ca.crt"])
        # No proxy: the manager is in the cluster or on this machine.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
        )
        with opener.open(request, timeout=DEADLINE_S) as answer:
            curves = json.loads(answer.read(ANSWER_MAX))["curves"]
    except urllib.error.HTTPError as error:
        with error:
            raise Unreachable(_NOT_TAKEN if error.code == 401 else _words(error)) from error
    except Exception as error:
        raise Unreachable(f"the manager cannot be read: {type(error).__name__}: {error}") from error
    return list(curves[0]["metrics"]) if curves else []


def _words(error: urllib.error.HTTPError) -> str:
    text = error.read(1000).decode(errors="replace")
    try:
        text = str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        pass
    return f"the manager refuses to show curves: {error.code} {text.strip()}"
