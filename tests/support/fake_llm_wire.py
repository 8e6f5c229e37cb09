"""HTTP/1.1 on a loopback socket: what the fake model server needs of it, and how to break it on purpose."""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Payload Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
    529: "Overloaded",
}


class ClientGoneError(Exception):
    """The client closed its connection before the answer was complete."""


class AnswerCutError(Exception):
    """The script ended the connection; nothing more can be sent on it."""


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A request off the wire, with header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def keeps_alive(self) -> bool:
        """Whether the client expects to send another request on this connection."""
        return self.headers.get("connection", "").lower() != "close"


class Connection:
    """One accepted connection. Writing raises ClientGoneError when the client has left."""

    def __init__(self, sock: socket.socket, number: int) -> None:
        self.number = number
        self.sock = sock
        self._unread = b""
        self._chunks = False
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read_request(self) -> RawRequest | None:
        """The next request, or None when the client is done. Raises ValueError on what is not HTTP."""
        try:
            head = self._until(b"\r\n\r\n")
            if head is None:
                return None
            first, *lines = head.decode("latin-1").split("\r\n")
            method, target, _version = first.split(" ", 2)
            headers: dict[str, str] = {}
            for line in lines:
                name, _, value = line.partition(":")
                headers[name.strip().lower()] = value.strip()
            if "100-continue" in headers.get("expect", "").lower():
                self.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            if "chunked" in headers.get("transfer-encoding", "").lower():
                body = self._read_chunks()
            else:
                body = self._exactly(int(headers.get("content-length", "0")))
        except OSError:
            return None
        return None if body is None else RawRequest(method, target, headers, body)

    def send_head(
        self, status: int, headers: dict[str, str], body: Literal["chunked", "until_close"] | int
    ) -> None:
        """The status line and headers of a body of known length, in chunks, or up to the close."""
        self._chunks = body == "chunked"
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body == "chunked":
            lines.append("transfer-encoding: chunked")
        elif body == "until_close":
            lines.append("connection: close")
        else:
            lines.append(f"content-length: {body}")
        self._send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def send(self, data: bytes) -> None:
        """Bytes of the body, as one HTTP chunk of their own where chunks are in use."""
        if not data:
            return
        self._send(b"%x\r\n%b\r\n" % (len(data), data) if self._chunks else data)

    def end(self) -> None:
        """The end of the body."""
        if self._chunks:
            self._send(b"0\r\n\r\n")

    def reset(self) -> None:
        """Close with a TCP reset in place of an orderly end."""
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def shut(self) -> None:
        """Wake whoever reads or writes here; the owner of the connection then closes it."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection in good order."""
        self.shut()
        self.sock.close()

    def wait_for(self, wake: socket.socket, timeout: float | None = None) -> None:
        """Return when `wake` can be read or the time is over. Raises ClientGoneError if the client leaves."""
        with selectors.DefaultSelector() as selector:
            selector.register(wake, selectors.EVENT_READ)
            selector.register(self.sock, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select(timeout)}
                if wake in ready or not ready:
                    return
                if self._has_left():
                    raise ClientGoneError
                selector.unregister(self.sock)  # the next request is here already; it will be read in time

    def _has_left(self) -> bool:
        try:
            return self.sock.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def _send(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except OSError as error:
            raise ClientGoneError from error

    def _more(self) -> bool:
        data = self.sock.recv(64 * 1024)
        self._unread += data
        return bool(data)

    def _until(self, mark: bytes) -> bytes | None:
        while mark not in self._unread:
            if not self._more():
                return None
        found, _, self._unread = self._unread.partition(mark)
        return found

    def _exactly(self, count: int) -> bytes | None:
        parts = [self._unread]
        missing = count - len(self._unread)
        while missing > 0:
            data = self.sock.recv(min(missing, 1024 * 1024))
            if not data:
                return None
            parts.append(data)
            missing -= len(data)
        joined = b"".join(parts)
        self._unread = joined[count:]
        return joined[:count]

    def _read_chunks(self) -> bytes | None:
        body = b""
        while True:
            size = self._until(b"\r\n")
            if size is None:
                return None
            count = int(size.split(b";")[0], 16)
            if count == 0:
                while (trailer := self._until(b"\r\n")) is not None:
                    if not trailer:
                        return body
                return None
            data = self._exactly(count + 2)
            if data is None:
                return None
            body += data[:-2]


class Listener:
    """A port on the loopback address that can refuse and accept connections by turns.

    While it refuses, the port stays bound without listening, so that nobody else can take it.
    """

    def __init__(self, port: int = 0) -> None:
        self._sock = _bound(port)
        self.port: int = self._sock.getsockname()[1]
        self._thread: threading.Thread | None = None
        self._wake: socket.socket | None = None

    def accept(self, on_connection: Callable[[socket.socket], None]) -> None:
        """Listen; each connection is handed over in the accepting thread, which must not be kept."""
        if self._thread is not None:
            return
        self._sock.listen(128)
        self._sock.setblocking(False)
        woken, self._wake = socket.socketpair()
        self._thread = threading.Thread(
            target=self._run, args=(woken, on_connection), name="fake-llm-accept", daemon=True
        )
        self._thread.start()

    def refuse(self) -> None:
        """Stop listening: a new connection is refused by the system."""
        self._stop()
        self._sock.close()
        self._sock = _bound(self.port)

    def close(self) -> None:
        """Stop listening and give the port back."""
        self._stop()
        self._sock.close()

    def _stop(self) -> None:
        if self._thread is None or self._wake is None:
            return
        self._wake.send(b"x")
        self._thread.join()
        self._wake.close()
        self._thread = self._wake = None

    def _run(self, woken: socket.socket, on_connection: Callable[[socket.socket], None]) -> None:
        with woken, selectors.DefaultSelector() as selector:
            selector.register(self._sock, selectors.EVENT_READ)
            selector.register(woken, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if woken in ready:
                    return
                try:
                    sock, _ = self._sock.accept()
                except OSError:
                    continue
                sock.setblocking(True)
                on_connection(sock)


def _bound(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", port))
    except OSError:
        sock.close()
        raise
    return sock
