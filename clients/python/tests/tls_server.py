"""Status endpoint over TLS on the loopback, and what a container would have of it."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from milepost.surroundings import Place


def make_authority(folder: Path, name: str, subject: str = "IP:127.0.0.1") -> Path:
    """Makes an authority, and a certificate of it. Returns the authority's file."""
    ca, key, pem = folder / f"{name}.ca", folder / f"{name}.key", folder / f"{name}.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    for command in (
        ["openssl", "req", "-x509", *curve, "-subj", f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign",
         "-keyout", f"{ca}.key", "-out", str(ca)],
        ["openssl", "req", "-x509", *curve, "-subj", "/CN=status", "-addext", f"subjectAltName={subject}",
         "-addext", "basicConstraints=critical,CA:FALSE", "-CA", str(ca), "-CAkey", f"{ca}.key",
         "-keyout", str(key), "-out", str(pem)],
    ):  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    return ca


class TlsServer:
    """An endpoint that demands a token, and answers as it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = make_authority(folder, "first")
        self.token = "token.number.1"
        self.ca_file, self.token_file = folder / "ca.crt", folder / "token"
        self.ca_file.write_bytes(self.authority.read_bytes())
        self.token_file.write_text(f"{self.token}\n")
        self.taken: list[dict[str, Any]] = []
        self.refused = 0
        self.connections = 0
        self.control: dict[str, Any] = {}
        # What a GET is answered, one after the other; the last one again and again.
        self.tells: list[tuple[int, object]] = [(404, {})]
        self.asked = 0
        self.drips = False
        self.retry_after: str | None = None
        self._over = threading.Event()
        self._came = threading.Condition()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.serve_as("first")
        outer = self

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def get_request(self) -> tuple[socket.socket, Any]:
                plain, address = self.socket.accept()
                plain.settimeout(20)
                secure = outer._context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
                return secure, address

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                self.request.do_handshake()
                outer.connections += 1

            def do_POST(self) -> None:
                outer._answer(self)

            def do_GET(self) -> None:
                outer._tell(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def place(self) -> Place:
        url = f"https://127.0.0.1:{self.port}/the/path/status"
        return Place(url, str(self.ca_file), str(self.token_file), "node")

    @property
    def environ(self) -> dict[str, str]:
        family, place = "KUBEFLOW_TRAINER_STATUS", self.place
        return {
            f"{family}_URL": place.url,
            f"{family}_CA_CERT": place.ca_file,
            f"{family}_TOKEN": place.token_file,
            f"{family}_CONTAINER": place.container,
        }

    def serve_as(self, name: str) -> None:
        """Shows the certificate of this authority to new connections."""
        self._context.load_cert_chain(self.folder / f"{name}.pem", self.folder / f"{name}.key")

    def replace(self, file: Path, content: bytes) -> None:
        """Replaces a file as the kubelet does: by another one of its name."""
        new = file.with_suffix(".new")
        new.write_bytes(content)
        os.replace(new, file)

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        is_known = request.headers["Authorization"] == f"Bearer {self.token}"
        if is_known:
            pushed = [body["trainerStatus"]] if "trainerStatus" in body else []
            samples = body["samples"] if request.path.endswith("/history") else pushed
            self.taken += [sample for sample in samples if sample not in self.taken]
        else:
            self.refused += 1
        answer = json.dumps({"control": self.control} if is_known else {"message": "expired"}).encode()
        request.send_response(200 if is_known else 401)
        request.send_header("Content-Length", str(len(answer)))
        if self.retry_after is not None:
            request.send_header("Retry-After", self.retry_after)
        request.end_headers()
        if self.drips:
            while not self._over.wait(0.05):
                request.wfile.write(b" ")
            return
        request.wfile.write(answer)
        with self._came:
            self._came.notify_all()

    def _tell(self, request: BaseHTTPRequestHandler) -> None:
        self.asked += 1
        is_known = request.headers["Authorization"] == f"Bearer {self.token}"
        status, body = self.tells.pop(0) if len(self.tells) > 1 else self.tells[0]
        answer = json.dumps(body).encode()
        request.send_response(status if is_known else 401)
        request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        while self.drips and not self._over.wait(0.05):
            request.wfile.write(b" ")
        request.wfile.write(answer)

    def until(self, condition: Callable[[], bool], seconds: float = 20) -> None:
        """Waits until something is so, which an answer brings about."""
        end = time.monotonic() + seconds
        with self._came:
            while not condition():
                if time.monotonic() > end:
                    raise AssertionError("it did not come to be so")
                self._came.wait(0.05)

    def steps(self) -> list[int]:
        """The steps of the samples that were taken."""
        return [sample["step"] for sample in self.taken]

    def stop(self) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
