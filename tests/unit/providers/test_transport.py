"""The HTTP client against a loopback server."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from mewcode.core.errors import AuthError, BadRequest, ConnectionFailed, Overloaded
from mewcode.providers.base import HttpRequest
from mewcode.providers.transport import Transport

Answer = Callable[[BaseHTTPRequestHandler], None]


class QuietServer(ThreadingHTTPServer):
    """A client that leaves early is part of these tests."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        return


class Server:
    """Answers each request with ``answer``; ``headers`` are those of the last one."""

    def __init__(self) -> None:
        self.answer: Answer = lambda handler: say(handler, b"hello")
        self.headers: dict[str, str] = {}
        self.body = b""
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                server.headers = {name.lower(): value for name, value in self.headers.items()}
                server.body = self.rfile.read(int(self.headers.get("content-length", 0)))
                server.answer(self)

            do_GET = do_POST

            def log_message(self, *args: object) -> None:
                return

        self.http = QuietServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/"


def say(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"content_length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    with made.http:
        thread = Thread(target=made.http.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.http.shutdown()
        thread.join()


def fetch(url: str, body: bytes = b"", read_timeout: float = 10.0) -> bytes:
    async def scenario() -> bytes:
        transport = Transport("mewcode/1.0", read_timeout)
        try:
            method = "POST" if body else "GET"
            return await transport.fetch(HttpRequest(method, url, {"x-more": "1"}, body))
        finally:
            await transport.aclose()

    return asyncio.run(scenario())


def test_a_request_says_who_we_are_and_asks_for_plain_bytes(server: Server) -> None:
    assert fetch(server.url, b"{}") == b"hello"
    assert server.headers["user-agent"] == "mewcode/1.0"
    assert server.headers["accept-encoding"] == "identity"
    assert server.headers["x-more"] == "1"
    assert server.body == b"{}"


def test_a_proxy_that_compresses_all_the_same_is_understood(server: Server) -> None:
    server.answer = lambda handler: say(handler, gzip.compress(b"hello"), content_encoding="gzip")
    assert fetch(server.url) == b"hello"
    server.answer = lambda handler: say(
        handler, gzip.compress(b'{"error": {"message": "the reason"}}'), 401, content_encoding="gzip"
    )
    with pytest.raises(AuthError, match="the reason"):
        fetch(server.url)


def test_a_refusal_is_raised_with_its_reason(server: Server) -> None:
    server.answer = lambda handler: say(handler, b'{"error": "the reason"}', 503, retry_after="7")
    with pytest.raises(Overloaded, match="the reason") as raised:
        fetch(server.url)
    assert raised.value.retry_after == 7.0


def test_of_a_long_refusal_only_the_beginning_is_read(server: Server) -> None:
    server.answer = lambda handler: say(handler, b"x" * 1_000_000, 500)
    with pytest.raises(Overloaded) as raised:
        fetch(server.url)
    assert len(raised.value.message) < 500


def test_a_redirect_is_not_followed_with_the_key(server: Server) -> None:
    server.answer = lambda handler: say(handler, b"", 302, location="http://127.0.0.1:9/")
    with pytest.raises(BadRequest, match="302"):
        fetch(server.url)


def test_a_body_that_is_cut_is_a_lost_connection(server: Server) -> None:
    server.answer = lambda handler: say(handler, b"hel", content_length="10", connection="close")
    with pytest.raises(ConnectionFailed):
        fetch(server.url)


def test_a_transport_can_be_used_again_after_it_was_closed(server: Server) -> None:
    async def scenario() -> None:
        transport = Transport("mewcode/1.0")
        for _ in range(2):
            assert await transport.fetch(HttpRequest("GET", server.url, {})) == b"hello"
            await transport.aclose()
        await transport.aclose()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("url", "kind"),
    [("nonsense", BadRequest), ("http://", BadRequest), ("http://127.0.0.1:1/", ConnectionFailed)],
)
def test_addresses_that_lead_nowhere(url: str, kind: type) -> None:
    with pytest.raises(kind):
        fetch(url)


# What httpx would import where they are installed costs as much as httpx itself. No trust store is made for
# plain http.
_LOADED = """
import asyncio, sys
from mewcode.providers.base import HttpRequest
from mewcode.providers.transport import Transport, load
assert "httpx" not in sys.modules
load()
load()
assert "httpx" in sys.modules
async def main():
    transport = Transport("x")
    body = await transport.fetch(HttpRequest("GET", sys.argv[1], {}))
    await transport.aclose()
    assert body == b"hello", body
asyncio.run(main())
bad = {"rich", "click", "truststore", "anthropic"} & set(sys.modules)
assert not bad, bad
"""


def test_nothing_is_loaded_that_is_not_needed(server: Server) -> None:
    subprocess.run([sys.executable, "-c", _LOADED, server.url], check=True, timeout=60)
