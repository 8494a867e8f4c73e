"""API server on the loopback that lists the manager's replicas and forwards the port of its pod, each as it is told."""

from __future__ import annotations

import base64
import hashlib
import json
import queue
import select
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_PROTOCOL = "v4.channel.k8s.io"
_BINARY, _CLOSE = 0x82, 0x88
_DATA, _ERROR = b"\0", b"\1"
_CORE = "/api/v1/namespaces/kubeflow-system"
_SLICES = "/apis/discovery.k8s.io/v1/namespaces/kubeflow-system/endpointslices"


class Quiet(ThreadingHTTPServer):
    """Server with TLS whose connections end with their clients."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler], folder: Path, name: str) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.present(folder, name)
        self.port = int(self.server_address[1])
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def present(self, folder: Path, name: str) -> None:
        """Shows that certificate to new connections."""
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")

    def get_request(self) -> tuple[socket.socket, Any]:
        plain, address = self.socket.accept()
        plain.settimeout(20)
        return self._context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


class ApiServer:
    """The API server. `refusal` is its answer to a forward, `failure` the pod's; `silent` says where it stops to answer."""

    def __init__(self, folder: Path, name: str, ca: str, port: int) -> None:
        self.published = ca
        self.port_of_pod = port
        self.replicas = [("m-0", False), ("m-1", True)]
        self.slices = 200
        self.refusal, self.place = 0, ""
        self.failure = b""
        self.silent = ""
        self.over = threading.Event()
        self.forwards: list[tuple[str, str | None]] = []
        self.ended: queue.Queue[str] = queue.Queue()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = self.path.split("?")[0]
                if path == _SLICES:
                    outer._list(self)
                elif path == f"{_CORE}/configmaps/kubeflow-trainer-public":
                    _say(self, 200, {"kind": "ConfigMap", "data": {"ca.crt": outer.published}})
                elif path.endswith("/portforward"):
                    outer._forward(self)
                else:
                    _say(self, 404, {"kind": "Status"})

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = Quiet(Handler, folder, name)
        self.url = f"https://127.0.0.1:{self._server.port}"

    def _list(self, request: BaseHTTPRequestHandler) -> None:
        endpoints = [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": ready}, "targetRef": {"kind": "Pod", "name": pod}}
            for pod, ready in self.replicas
        ]
        ports = [{"name": "webhook", "port": 1}, {"name": "status", "port": self.port_of_pod}]
        one = {"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": endpoints, "ports": ports}
        _say(request, self.slices, {"kind": "EndpointSliceList", "items": [one]})

    def _forward(self, request: BaseHTTPRequestHandler) -> None:
        self.forwards.append((request.path, request.headers["Authorization"]))
        if self.silent == "before":
            self.over.wait(20)
            return
        if self.refusal:
            _say(request, self.refusal, {"kind": "Status"}, self.place)
            return
        asked = [one.strip() for one in str(request.headers["Sec-WebSocket-Protocol"]).split(",")]
        assert _PROTOCOL in asked and request.headers["Upgrade"].lower() == "websocket", asked
        key = request.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        request.send_response(101)
        request.send_header("Upgrade", "websocket")
        request.send_header("Connection", "Upgrade")
        request.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        request.send_header("Sec-WebSocket-Protocol", _PROTOCOL)
        request.end_headers()
        request.close_connection = True
        self._carry(request)

    def _carry(self, request: BaseHTTPRequestHandler) -> None:
        """Carries bytes between the WebSocket and the pod's port, until the client ends it."""
        connection: ssl.SSLSocket = request.connection
        # One thread at a time may use such a connection.
        lock = threading.Lock()

        def frame() -> tuple[int, bytes]:
            if not connection.pending():
                select.select([connection], [], [], 20)
            with lock:
                return _frame(connection)

        def send(kind: int, data: bytes) -> None:
            length = len(data).to_bytes(1, "big") if len(data) < 126 else b"\x7e" + len(data).to_bytes(2, "big")
            with lock:
                connection.sendall(bytes([kind]) + length + data)

        for channel in (_DATA, _ERROR):
            send(_BINARY, channel + self.port_of_pod.to_bytes(2, "little"))
        if self.failure:
            send(_BINARY, _ERROR + self.failure)
        with socket.create_connection(("127.0.0.1", self.port_of_pod), timeout=20) as pod:

            def back() -> None:
                try:
                    while data := pod.recv(30_000):
                        if self.silent != "after":
                            send(_BINARY, _DATA + data)
                    send(_CLOSE, (1000).to_bytes(2, "big"))
                except OSError:
                    pass

            returning = threading.Thread(target=back, daemon=True)
            returning.start()
            try:
                while (came := frame())[0] != _CLOSE:
                    assert came[0] == _BINARY and came[1][:1] == _DATA, came
                    pod.sendall(came[1][1:])
                self.ended.put("closed")
            except (OSError, EOFError) as error:
                self.ended.put(repr(error))
            finally:
                try:
                    pod.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                returning.join()

    def stop(self) -> None:
        self.over.set()
        self._server.stop()


def _say(request: BaseHTTPRequestHandler, code: int, value: Any, place: str = "") -> None:
    body = json.dumps(value).encode()
    request.send_response(code)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(body)))
    if place:
        request.send_header("Location", place)
    request.end_headers()
    request.wfile.write(body)


def _frame(connection: ssl.SSLSocket) -> tuple[int, bytes]:
    """Reads one frame of a client, which is masked."""

    def read(length: int) -> bytes:
        data = b""
        while len(data) < length:
            more = connection.recv(length - len(data))
            if not more:
                raise EOFError("the client has gone")
            data += more
        return data

    kind, length = read(2)
    assert length & 0x80, "not masked"
    length &= 0x7F
    if length >= 126:
        length = int.from_bytes(read(2 if length == 126 else 8), "big")
    mask = read(4)
    return kind, bytes(byte ^ mask[at % 4] for at, byte in enumerate(read(length)))
