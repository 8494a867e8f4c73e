"""Tests of reading curves from outside of the cluster, with Kubernetes' own client: `python -m unittest tests.forward_scenes`."""

import json
import os
import socket
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from unittest import mock

from kubernetes import config

from milepost.errors import Unreachable
from milepost.reading import manager

from .api_server import ApiServer, Quiet
from .tls_server import make_authority

NAME = f"{manager.SERVICE}.{manager.NAMESPACE}.svc"
METRICS = [{"name": "loss", "points": [[at, 1, 1, 1 / (at + 1)] for at in range(10_000)]}]


class ForwardScenes(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        make_authority(self.folder, "server")
        self.ca = make_authority(self.folder, "manager", f"DNS:{NAME}").read_text()
        make_authority(self.folder, "other", "DNS:other.svc")
        self.asked: list[tuple[str, str, str]] = []
        self.bodies: list[bytes] = []
        self.code, self.place, self.drips, self.says_length = 200, "", False, True
        outer = self

        class Manager(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                self.request.do_handshake()

            def do_GET(self) -> None:
                outer.answer(self)

            def do_POST(self) -> None:
                outer.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                outer.answer(self)

            def finish(self) -> None:
                super().finish()
                try:
                    self.request.unwrap()
                except OSError:
                    pass

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.manager = Quiet(Manager, self.folder, "manager")
        self.addCleanup(self.manager.stop)
        self.server = ApiServer(self.folder, "server", self.ca, self.manager.port)
        self.addCleanup(self.server.stop)
        self.over = threading.Event()
        self.addCleanup(self.over.set)
        outside = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        outside.pop("KUBERNETES_SERVICE_HOST", None)
        patched = mock.patch.dict(os.environ, outside, clear=True)
        patched.start()
        self.addCleanup(patched.stop)
        self.api = config.new_client_from_config_dict({
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {
                "server": self.server.url, "certificate-authority": str(self.folder / "server.ca")}}],
            "users": [{"name": "u", "user": {"token": "of-the-user"}}],
        })  # fmt: skip
        self.addCleanup(self.api.close)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append((request.path, str(request.headers["Host"]), str(request.headers["Authorization"])))
        body = json.dumps({"curves": [{"metrics": METRICS}]}).encode()
        request.send_response(self.code)
        if self.place:
            request.send_header("Location", self.place)
        if self.says_length:
            request.send_header("Content-Length", str(len(body)))
        else:
            request.send_header("Connection", "close")
        request.end_headers()
        while self.drips and not self.over.wait(0.02):
            request.wfile.write(b" ")
        request.wfile.write(body)

    def curves(self) -> Any:
        return manager.curves_of(self.api, "team", "job", "kind")

    def refused(self, words: str) -> None:
        with self.assertRaisesRegex(Unreachable, words) as caught:
            self.curves()
        self.assertNotIn("of-the-user", str(caught.exception))

    def refused_in_time(self) -> None:
        begun = time.monotonic()
        with mock.patch.object(manager, "DEADLINE_S", 0.5):
            self.refused("cannot be (read|forwarded): .*time")
        self.assertLess(time.monotonic() - begun, 10, "the server would wait for 20 s")

    def test_curves_come_by_a_forward_to_a_ready_pod_and_it_is_closed(self) -> None:
        for self.says_length in (True, False):
            self.assertEqual(self.curves(), METRICS)
            self.assertEqual(self.server.ended.get(timeout=20), "closed")
        path = f"/api/v1/namespaces/kubeflow-system/pods/m-1/portforward?ports={self.manager.port}"
        self.assertEqual(self.server.forwards, [(path, "Bearer of-the-user")] * 2)
        view = "/view/v1/curves?job=kind%2Fteam%2Fjob"
        self.assertEqual(self.asked, [(view, f"{NAME}:{self.manager.port}", "Bearer of-the-user")] * 2)

    def test_what_is_missing_is_said(self) -> None:
        self.server.refusal = 403
        self.refused("no right to get and create pods/portforward in kubeflow-system, .*address=")
        self.server.refusal = 404
        self.refused(f"port {self.manager.port} of the manager's pod m-1 .* the API server answers 404; .*address=")
        self.server.slices = 403
        self.refused("no right to list endpointslices in kubeflow-system, .*address=")
        self.server.slices, self.server.replicas = 200, [("m-0", False)]
        self.refused("no replica that is ready")
        self.assertEqual(self.asked, [])

    def test_the_pod_has_to_be_the_manager(self) -> None:
        self.server.published = (self.folder / "other.ca").read_text()
        self.refused("CERTIFICATE_VERIFY_FAILED.*certificate")
        # The right authority, another name.
        self.manager.present(self.folder, "other")
        self.refused("Hostname mismatch")
        self.assertEqual(self.asked, [])
        for _ in range(2):
            self.assertEqual(self.server.ended.get(timeout=20), "closed")

    def test_the_forward_is_asked_of_the_kubeconfigs_server_alone(self) -> None:
        manager._authority(self.api)
        # The pool of Kubernetes' client keeps the CA that it began with; the hook would read the kubeconfig's again.
        self.api.configuration.refresh_api_key_hook = None
        self.api.configuration.ssl_ca_cert = str(self.folder / "other.ca")
        self.refused("CERTIFICATE_VERIFY_FAILED")
        self.assertEqual((self.server.forwards, self.asked), ([], []))

    def test_no_redirection_is_followed(self) -> None:
        self.server.refusal, self.server.place = 302, f"ws{self.server.url[4:]}/elsewhere/portforward"
        self.refused("pod m-1 cannot be forwarded")
        self.assertEqual(len(self.server.forwards), 1)
        self.server.refusal = 0
        self.code, self.place = 302, "https://elsewhere/"
        self.refused("answers 302 and names https://elsewhere/")
        self.assertEqual(len(self.asked), 1)

    def test_what_the_pods_end_says_is_said(self) -> None:
        self.server.failure = b"connection refused\n"
        self.refused("pod m-1 cannot be forwarded: connection refused; ")

    def test_everything_has_a_deadline(self) -> None:
        for self.server.silent in ("before", "after"):
            with self.subTest(silent=self.server.silent):
                self.refused_in_time()
        self.server.silent, self.drips = "", True
        self.refused_in_time()

    def test_a_stream_has_the_time_that_its_reader_gives_it_and_can_be_cut_off(self) -> None:
        self.drips = True
        begun = time.monotonic()
        with (
            mock.patch.object(manager, "DEADLINE_S", 0.5),
            self.assertRaises(Unreachable),
            manager.asked(self.api, "POST", "/apis/x/observations", b'{"a": 1}') as (answer, its_socket),
        ):
            its_socket.settimeout(60)
            while time.monotonic() < begun + 1:
                self.assertEqual(answer.read(1), b" ")
            its_socket.shutdown(socket.SHUT_RDWR)
            while answer.read(1):
                pass
        self.assertLess(time.monotonic() - begun, 20)
        self.assertEqual((self.asked[0][0], self.bodies), ("/apis/x/observations", [b'{"a": 1}']))

    def test_an_answer_has_a_bound(self) -> None:
        with mock.patch.object(manager, "ANSWER_MAX", 1 << 10):
            self.refused("more than 0 MiB")


if __name__ == "__main__":
    unittest.main()
