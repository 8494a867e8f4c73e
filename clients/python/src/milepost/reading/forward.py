"""Port-forward to a pod through the API server, as `kubectl port-forward` does, with TLS to the pod inside of it."""

from __future__ import annotations

import io
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from websocket import ABNF, WebSocket, WebSocketBadStatusException, WebSocketException

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

# Of the API's framing: the first byte of each message is a channel, the first message of a channel the port.
_PROTOCOL = "v4.channel.k8s.io"
_DATA, _ERROR = b"\0", b"\1"
_HEADER_BYTES = 2
_T = TypeVar("_T")


class NotForwarded(Exception):
    """The port is not forwarded. `code` is the API server's refusal, 0 if something else stands in the way."""

    def __init__(self, why: str, code: int = 0) -> None:
        super().__init__(why)
        self.code = code


def _open(api: Any, path: str, token: str, seconds: float) -> WebSocket:
    """Opens a WebSocket of the API server.

    Kubernetes' own `stream.portforward` has no deadline, and takes the token along to where a redirection leads.
    """
    its = api.configuration
    tls = {
        "cert_reqs": ssl.CERT_REQUIRED if its.verify_ssl else ssl.CERT_NONE,
        "ca_certs": its.ssl_ca_cert,
        "certfile": its.cert_file,
        "keyfile": its.key_file,
        "server_hostname": its.tls_server_name,
        "check_hostname": its.verify_ssl and its.assert_hostname is not False,
    }
    proxy = urlsplit(its.proxy or "")
    socket = WebSocket(sslopt=tls)
    socket.connect(
        # http becomes ws, and https wss.
        f"ws{its.host[4:]}{path}",
        header=[f"Authorization: {token}"],
        subprotocols=[_PROTOCOL],
        redirect_limit=0,
        timeout=seconds,
        http_proxy_host=proxy.hostname,
        http_proxy_port=proxy.port,
        http_no_proxy=its.no_proxy.split(",") if its.no_proxy else None,
    )
    # Former versions of websocket-client take a redirection for a connection.
    if socket.getstatus() != 101:
        socket.shutdown()
        raise NotForwarded(f"the API server answers {socket.getstatus()}")
    return socket


@contextmanager
def forwarded(
    api: Any, path: str, token: str, trust: ssl.SSLContext, name: str, seconds: float
) -> Iterator[ForwardedSocket]:
    """Gives TLS with the pod's port whose forward is at `path`; all that is done with it has `seconds` together."""
    end = time.monotonic() + seconds
    try:
        socket = _open(api, path, token, seconds)
        try:
            yield ForwardedSocket(socket, trust, name, end)
        finally:
            # Without a wait for the other side; what that has ended already is only let go.
            socket.close(timeout=0)
            socket.shutdown()
    except WebSocketBadStatusException as error:
        raise NotForwarded(f"the API server answers {error.status_code}", error.status_code) from error
    except WebSocketException as error:
        raise NotForwarded(str(error)) from error


class ForwardedSocket(io.RawIOBase):
    """TLS with a pod whose bytes go through a WebSocket: as much of a socket as an HTTP connection needs."""

    def __init__(self, socket: WebSocket, trust: ssl.SSLContext, name: str, end: float) -> None:
        self._socket, self._end = socket, end
        self._begun: set[bytes] = set()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = trust.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        self._carried(self._tls.do_handshake)

    def close(self) -> None:
        """Does nothing: an HTTP connection closes its socket before the answer is read."""

    def settimeout(self, seconds: float) -> None:
        """Gives all that is done from now on so many seconds together."""
        self._end = time.monotonic() + seconds

    def shutdown(self, how: int) -> None:
        """Ends it for who reads in another thread."""
        self._socket.sock.shutdown(how)

    def sendall(self, data: ReadableBuffer) -> None:
        self._carried(lambda: self._tls.write(data))

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        data = self._carried(lambda: self._tls.read(len(view)))
        view[: len(data)] = data
        return len(data)

    def _carried(self, step: Callable[[], _T]) -> _T:
        """Does a step of TLS, and what has to be sent and received for it."""
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                self._send()
                self._receive()
            else:
                self._send()
                return done

    def _arm(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        self._socket.settimeout(left)

    def _send(self) -> None:
        if self._outgoing.pending:
            self._arm()
            self._socket.send_binary(_DATA + self._outgoing.read())

    def _receive(self) -> None:
        self._arm()
        kind, data = self._socket.recv_data()
        if kind == ABNF.OPCODE_CLOSE:
            self._incoming.write_eof()
            return
        channel = data[:1]
        content = data[1:] if channel in self._begun else data[1 + _HEADER_BYTES :]
        self._begun.add(channel)
        if channel == _ERROR and content:
            raise NotForwarded(content[:1000].decode(errors="replace").strip())
        if channel == _DATA:
            self._incoming.write(content)
