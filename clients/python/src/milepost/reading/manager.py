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
PUBLIC = "kubeflow-trainer-public"
SERVICE = "kubeflow-trainer-controller-manager"
DEADLINE_S = 10.0
ANSWER_MAX = 16 << 20
_NOT_TAKEN = (
    "the manager does not accept this user's token: it takes tokens of the API server with --read-with-api-tokens "
    "alone. Give the manager that flag, or use a token of the audience observation.trainer.kubeflow.org"
)


class Unreachable(Exception):
    """The manager cannot be asked; the text says why, and what to do."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses to go elsewhere: the token would go, too."""

    # Python 3.10 has no such method.
    http_error_308 = urllib.request.HTTPRedirectHandler.http_error_302

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        raise Unreachable(f"the manager answers {code} and names {newurl}, to which no token is sent: give its own address")


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


def curves_of(
    api: Any, namespace: str, job: str, kind: str, address: str | None = None, ca: str | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Returns the curves of a job: of each metric its name and points. Throws `Unreachable`.

    `ca` is the file of the CA of the manager's certificate; by default it is the one that the manager publishes.
    """
    token = api.configuration.get_api_key_with_prefix("authorization") or ""
    if not token:
        raise Unreachable("curves are shown to tokens, and this kubeconfig has none: use one with a token")
    query = urllib.parse.urlencode({"job": f"{kind}/{namespace}/{job}"})
    try:
        trust = ssl.create_default_context(cafile=ca, cadata=None if ca else _authority(api))
        url = f"{address or _address(api)}/view/v1/curves?{query}"
        request = urllib.request.Request(url, headers={"Authorization": token})
        # No proxy: the manager is in the cluster or on this machine.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust), _NoRedirects()
        )
        with opener.open(request, timeout=DEADLINE_S) as answer:
            curves = json.loads(answer.read(ANSWER_MAX))["curves"]
    except Unreachable:
        raise
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
