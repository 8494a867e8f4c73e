"""Status endpoint over HTTPS: one connection, a deadline for each request, token and CA as their files are now."""

from __future__ import annotations

import http.client
import os
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from .surroundings import Place

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

DEADLINE_S = 5.0
ANSWER_MAX = 1 << 20


@dataclass(frozen=True)
class Answer:
    """What the endpoint said."""

    status: int
    retry_after: float = 0.0
    body: bytes = b""


class Endpoint(Protocol):
    """Who takes requests."""

    def post(self, suffix: str, body: bytes) -> Answer:
        """Sends a body to the status path with this suffix. Raises what stands in the way."""
        ...

    def close(self) -> None: ...

    def forget(self) -> None:
        """Lets go, in a forked process, of what belongs to its parent."""
        ...


class _Socket(ssl.SSLSocket):
    """Socket with a deadline for a whole request, which an answer in small drops cannot put off."""

    deadline: float | None = None

    def _arm(self) -> None:
        if self.deadline is None:
            return
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        self.settimeout(left)

    def recv_into(
        self, buffer: WriteableBuffer, nbytes: int | None = None, flags: int = 0
    ) -> int:
        self._arm()
        return super().recv_into(buffer, nbytes, flags)

    def send(self, data: ReadableBuffer, flags: int = 0) -> int:
        self._arm()
        return super().send(data, flags)


def _token_of(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        token = file.read(1 << 16).strip()
    # Said here, because http.client would write a token that it does not like into its error.
    if not token or not all("!" <= one <= "~" for one in token):
        raise ValueError("the token's file holds no token")
    return token


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and text.isdecimal() and len(text) < 9 else 0.0


class HttpsEndpoint:
    """The endpoint of a container. One thread uses it."""

    def __init__(self, place: Place, *, deadline_s: float = DEADLINE_S) -> None:
        self._place = place
        self._deadline_s = deadline_s
        parts = urlsplit(place.url)
        if parts.scheme != "https" or not parts.hostname:
            raise ValueError(f"{place.url} is not an address with https")
        self._host, self._port, self._path = parts.hostname, parts.port or 443, parts.path
        self._connection: http.client.HTTPSConnection | None = None
        self._trusted: tuple[int, int, int] | None = None
        self._trust: ssl.SSLContext | None = None

    def post(self, suffix: str, body: bytes) -> Answer:
        """Sends a body. A connection that the endpoint has closed meanwhile is opened again, once."""
        return self._request("POST", suffix, body)

    def get(self) -> Answer:
        """Reads the status of the job."""
        return self._request("GET", "", b"")

    def _request(self, method: str, suffix: str, body: bytes) -> Answer:
        headers = {
            "Authorization": f"Bearer {_token_of(self._place.token_file)}",
            "Content-Type": "application/json",
        }
        call = (method, self._path + suffix, body, headers)
        deadline = time.monotonic() + self._deadline_s
        trust = self._current_trust()
        is_open = self._connection is not None and self._connection.sock is not None
        try:
            return self._exchange(call, trust, deadline)
        except TimeoutError:
            raise
        except (OSError, http.client.HTTPException):
            if not is_open:
                raise
        return self._exchange(call, trust, deadline)

    def _current_trust(self) -> ssl.SSLContext:
        """Returns the trust in the CA as its file is now. A connection of former trust is closed."""
        path = self._place.ca_file
        found = os.stat(path) if path else None
        state = (found.st_ino, found.st_mtime_ns, found.st_size) if found else (0, 0, 0)
        if self._trust is None or state != self._trusted:
            self.close()
            self._trust = ssl.create_default_context(cafile=path or None)
            self._trust.sslsocket_class = _Socket
            self._trusted = state
        return self._trust

    def _exchange(
        self, call: tuple[str, str, bytes, dict[str, str]], trust: ssl.SSLContext, deadline: float
    ) -> Answer:
        try:
            connection = self._connection
            if connection is None or connection.sock is None:
                left = max(0.001, deadline - time.monotonic())
                connection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=left, context=trust
                )
                self._connection = connection
                connection.connect()
            if isinstance(connection.sock, _Socket):
                connection.sock.deadline = deadline
            connection.request(*call)
            response = connection.getresponse()
            text = response.read(ANSWER_MAX)
            if not response.isclosed():
                self.close()
            return Answer(response.status, _seconds(response.headers.get("Retry-After")), text)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def forget(self) -> None:
        """Closes this process's copy of the socket, without a word to the endpoint."""
        connection = self._connection
        if connection is not None and connection.sock is not None:
            os.close(connection.sock.detach())
