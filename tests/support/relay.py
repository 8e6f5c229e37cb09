"""A server between a client and the fake model server: a proxy that writes down what it is asked, or a wall
of TLS. Both serve one exchange a connection on loopback."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_CHUNK = 64 * 1024
_LIMIT = 10.0


class _LoopbackServer:
    """Accepts connections, each in a thread of its own, until the context is left."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()

    def __enter__(self) -> Self:
        self._begin(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(_LIMIT)
        self._listener.close()

    def _begin(self, work, *arguments) -> threading.Thread:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._begin(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(_LIMIT)
        self._open.add(client)
        try:
            with client:
                self.serve(client)
        except OSError:
            return
        finally:
            self._open.discard(client)

    def serve(self, client: socket.socket) -> None:
        raise NotImplementedError

    def join(self, client: socket.socket, address: tuple[str, int], first: bytes = b"") -> None:
        """Carries bytes both ways until one side ends. In one thread: a connection of TLS may not be read and
        written at the same time."""
        with socket.create_connection(address, _LIMIT) as server:
            server.sendall(first)
            while _carry(client, server):
                pass
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)


def _carry(client: socket.socket, server: socket.socket) -> bool:
    """Waits for bytes of either side and gives them to the other; False at the end of one."""
    if isinstance(client, ssl.SSLSocket) and client.pending():
        ready = [client]
    else:
        ready, _, _ = select.select([client, server], [], [], _LIMIT)
    for source in ready:
        data = source.recv(_CHUNK)
        if not data:
            return False
        (server if source is client else client).sendall(data)
    return bool(ready)


class TlsWall(_LoopbackServer):
    """Speaks TLS with this certificate and carries what is within to ``port``."""

    def __init__(self, port: int, certificate: str, key: str) -> None:
        super().__init__()
        self._target = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def serve(self, client: socket.socket) -> None:
        with self._context.wrap_socket(client, server_side=True) as inner:
            self.join(inner, ("127.0.0.1", self._target))


class RecordingProxy(_LoopbackServer):
    """An HTTP proxy; ``asked`` holds the first line of each request, ``headers`` those of the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.headers: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            data = client.recv(_CHUNK)
            if not data:
                return
            head += data
        first, _, rest = head.partition(b"\r\n")
        method, target, version = first.decode().split(" ")
        self.asked.append(f"{method} {target}")
        lines = rest.partition(b"\r\n\r\n")[0].decode().split("\r\n")
        self.headers = dict(line.lower().split(": ", 1) for line in lines)
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self.join(client, (host, int(port)))
            return
        parts = urlsplit(target)
        assert parts.hostname is not None
        line = f"{method} {parts.path} {version}\r\n".encode()
        self.join(client, (parts.hostname, parts.port or 80), line + rest)
