"""A model on the loopback address that costs next to nothing, so that what is measured is the program.

The tests' fake server parses and checks each request, which for one of 50 MB takes longer than the program's
own work. Here answers are encoded beforehand (by the same code), requests are not looked into, and each
exchange keeps its times.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from tests.support.fake_llm import Dialect, Reply
from tests.support.fake_llm_answer import stream_steps
from tests.support.fake_llm_request import RecordedRequest

Protocol = Literal["anthropic", "openai"]

MODEL = "claude-opus-5-5"

_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)
_END = b"0\r\n\r\n"
# A side call (a title, a summary) sends no tools. Within a string the last quote would have a backslash.
_TOOLS = b'"tools":'


@dataclass(frozen=True, slots=True)
class Answer:
    """A stream as the pieces that are sent with one call each, ``pause`` seconds apart."""

    pieces: tuple[bytes, ...]
    pause: float = 0.0


@dataclass(slots=True)
class Exchange:
    """The `time.monotonic` of a request's first and last byte, and of the moments before the answer's first
    and last piece were sent (0.0 until then)."""

    begun: float
    received: float
    first_sent: float = 0.0
    last_sent: float = 0.0


def encode(reply: Reply, protocol: Protocol = "anthropic", *, serial: int = 1, pause: float = 0.0) -> Answer:
    """The answer that ``reply`` describes; ``serial`` makes the ids of its tool calls unique.

    Raises ValueError for a reply that misbehaves: here nothing does.
    """
    request = RecordedRequest(
        index=serial,
        method="POST",
        path="",
        query="",
        headers={},
        body=b"",
        json={"model": MODEL, "stream": True, "stream_options": {"include_usage": True}},
        protocol=protocol,
        time=0.0,
        connection=0,
        generates=True,
    )
    pieces: list[bytes] = []
    for step in stream_steps(request, reply, Dialect()):
        if not isinstance(step, bytes):
            raise ValueError("an answer that is measured has no gates and no cuts")
        pieces.append(b"%x\r\n%b\r\n" % (len(step), step))
    pieces[0] = _HEAD + pieces[0]
    pieces[-1] += _END
    return Answer(tuple(pieces), pause)


class ModelServer:
    """Serves from construction until `close`, with a thread for each connection.

    ``exchanges`` are the requests that offer tools, in order, since the last `play`; each takes the next
    answer, and the last one is repeated. Other requests get a short answer and are only counted, in
    ``side_calls``.
    """

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.side_calls = 0
        self._aside = {
            "anthropic": encode(Reply.text("ok")),
            "openai": encode(Reply.text("ok"), "openai"),
        }
        self._answers: deque[Answer] = deque()
        self._guard = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._thread = threading.Thread(target=self._accept, name="bench-model", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the listening; connections end with their clients."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    @property
    def url(self) -> str:
        """The base URL, for Chat Completions with ``/v1`` behind it."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def play(self, answers: Iterable[Answer]) -> None:
        """Begins a new run with these answers, at least one."""
        with self._guard:
            self._answers = deque(answers)
            self.exchanges = []
            self.side_calls = 0

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            try:
                while self._serve_one(connection):
                    pass
            except OSError:  # the program left: it ended or was ended, and the row sees to that
                return

    def _serve_one(self, connection: socket.socket) -> bool:
        head = bytearray(connection.recv(65536))
        begun = time.monotonic()
        while b"\r\n\r\n" not in head:
            more = connection.recv(65536)
            if not more:
                return False
            head += more
        first, _, rest = bytes(head).partition(b"\r\n\r\n")
        body = _body(connection, _length(first), rest)
        received = time.monotonic()
        if first.startswith(b"GET"):
            _send_models(connection)
        elif _TOOLS not in body:
            protocol = "anthropic" if b"/messages" in first.partition(b"\r\n")[0] else "openai"
            self.side_calls += 1
            _send(connection, self._aside[protocol], Exchange(begun, received))
        else:
            exchange = Exchange(begun, received)
            with self._guard:
                answer = self._answers.popleft() if len(self._answers) > 1 else self._answers[0]
                self.exchanges.append(exchange)
            exchange.first_sent = time.monotonic()
            _send(connection, answer, exchange)
        return True


def _send(connection: socket.socket, answer: Answer, exchange: Exchange) -> None:
    last = len(answer.pieces) - 1
    for place, piece in enumerate(answer.pieces):
        if place and answer.pause:
            time.sleep(answer.pause)
        if place == last:
            exchange.last_sent = time.monotonic()
        connection.sendall(piece)


def _send_models(connection: socket.socket) -> None:
    body = b'{"data": [{"id": "%b"}], "has_more": false}' % MODEL.encode()
    connection.sendall(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
        % (len(body), body)
    )


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _body(connection: socket.socket, length: int, begun: bytes) -> bytearray:
    body = bytearray(length)
    body[: len(begun)] = begun
    view, done = memoryview(body), len(begun)
    while done < length:
        count = connection.recv_into(view[done:])
        if not count:
            raise ConnectionError("the client left in the middle of its request")
        done += count
    view.release()
    return body
