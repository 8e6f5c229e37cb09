"""The fake model server: threads that answer both wire protocols from a script."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TypeAlias
from urllib.parse import unquote

from .fake_llm_answer import (
    error_body,
    id_headers,
    model_entry,
    model_list,
    stream_steps,
    wants_usage,
    whole_body,
)
from .fake_llm_anthropic_check import anthropic_violation
from .fake_llm_extraction import NOTHING_TO_NOTE, is_extraction
from .fake_llm_openai_check import openai_violation
from .fake_llm_progress import Gates, Progress
from .fake_llm_reply import Cut, Dialect, Gate, JsonObject, Reply, happenings
from .fake_llm_request import Protocol, RecordedRequest
from .fake_llm_sse import Step
from .fake_llm_wire import AnswerCutError, ClientGoneError, Connection, Listener, RawRequest

Rule: TypeAlias = Callable[[RecordedRequest], Reply | None]

_GENERATES: dict[str, Protocol] = {"/v1/messages": "anthropic", "/v1/chat/completions": "openai"}
_JSON = "application/json"


class FakeLLM:
    """A loopback server that speaks Anthropic Messages and OpenAI Chat Completions.

    Each request for a model answer takes the next of `replies`; when they are used up it asks the rule of
    `respond_with`, then takes `default`, and else answers 500. What no test should overlook (a request the
    real service would refuse, a script that ran out, a rule that raised) is listed in `problems`.

    The attributes may be changed while the server runs. `routes` maps a path such as `/v1/models` to a reply
    that is sent for it without using up the script. `aside` is a reply to every request that offers no tools,
    likewise: what a program asks beside its conversations. Such requests are then `side_calls` and no
    `generations`. What it asks for notes has answers of its own, `extracts`, in order, then that there is
    nothing to note, unless the rule `extract_with` says otherwise; such requests are `extractions`, and
    neither of the others. `api_key` of None lets any key in. `input_tokens` is what count_tokens answers;
    None means a quarter of the body's bytes.
    """

    def __init__(
        self,
        replies: Iterable[Reply] = (),
        *,
        default: Reply | None = None,
        validate: bool = True,
        dialect: Dialect | None = None,
        api_key: str | None = None,
        models: Sequence[str] = ("fake-large", "fake-small"),
        port: int = 0,
    ) -> None:
        self.replies: deque[Reply] = deque(replies)
        self.default = default
        self.validate = validate
        self.dialect = dialect or Dialect()
        self.api_key = api_key
        self.models = list(models)
        self.input_tokens: int | None = None
        self.routes: dict[str, Reply] = {}
        self.aside: Reply | None = None
        self.extracts: deque[Reply] = deque()
        self.extract_with: Rule | None = None
        self.requests: list[RecordedRequest] = []
        self.disconnects: list[int] = []
        self.problems: list[str] = []
        self._rule: Rule | None = None
        self._progress = Progress()
        self._gates = Gates(self._progress)
        self._connections: dict[threading.Thread, Connection] = {}
        self._accepted = 0
        self._closing = False
        self._bulk: dict[tuple[int, Protocol, str, bool], list[Step]] = {}
        self._listener = Listener(port)
        self._never_listens = Listener()

    def start(self) -> FakeLLM:
        """Begin to listen. The addresses are known from the construction on."""
        self._listener.accept(self._on_connection)
        return self

    def close(self) -> None:
        """End every connection and thread and give the port back. May be called twice."""
        self._closing = True
        self._gates.close()
        self._listener.close()
        self._never_listens.close()
        self._end_connections()

    def __enter__(self) -> FakeLLM:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def refuse(self) -> None:
        """Refuse new connections and end those there are, until `accept` is called."""
        self._listener.refuse()
        self._end_connections()

    def accept(self) -> None:
        """Accept connections again, on the same port."""
        self._listener.accept(self._on_connection)

    @property
    def url(self) -> str:
        """The base URL for the Anthropic protocol, without a final slash."""
        return f"http://127.0.0.1:{self._listener.port}"

    @property
    def openai_url(self) -> str:
        """The base URL for the OpenAI protocol: it ends in `/v1`."""
        return f"{self.url}/v1"

    @property
    def refused_url(self) -> str:
        """A base URL whose port refuses every connection as long as this server lives."""
        return f"http://127.0.0.1:{self._never_listens.port}"

    def script(self, *replies: Reply) -> None:
        """Append replies to the script."""
        self.replies.extend(replies)

    def respond_with(self, rule: Rule | None) -> None:
        """Ask `rule` when the script is used up; it runs in the server's threads and may return None."""
        self._rule = rule

    def release(self, name: str = "gate") -> None:
        """Let every answer held at this gate go on, now and later."""
        self._gates.release(name)

    @property
    def generations(self) -> list[RecordedRequest]:
        """The requests that asked for a model answer, in order."""
        others = [item for item in list(self.requests) if item.generates and not is_extraction(item)]
        return [item for item in others if not self._is_aside(item)]

    @property
    def side_calls(self) -> list[RecordedRequest]:
        """The requests that are answered with `aside`, in order."""
        return [item for item in list(self.requests) if item.generates and self._is_aside(item)]

    @property
    def extractions(self) -> list[RecordedRequest]:
        """The requests for notes, in order."""
        return [item for item in list(self.requests) if item.generates and is_extraction(item)]

    def _is_aside(self, request: RecordedRequest) -> bool:
        is_bare = self.aside is not None and "tools" not in request.payload
        return is_bare and not is_extraction(request)

    def assert_clean(self) -> None:
        """Raise AssertionError when there were problems."""
        assert not self.problems, "the fake model server has problems:\n" + "\n".join(self.problems)

    def wait_for_request(self, n: int = 1, *, timeout: float = 5.0) -> RecordedRequest:
        """The n-th request (from 1) for a model answer; waits for it. Raises TimeoutError."""
        self._wait(lambda: len(self.generations) >= n, timeout, f"request {n}")
        return self.generations[n - 1]

    def wait_for_extraction(self, n: int = 1, *, timeout: float = 10.0) -> RecordedRequest:
        """The n-th request for notes (from 1); waits for it. Raises TimeoutError."""
        self._wait(lambda: len(self.extractions) >= n, timeout, f"extraction {n}")
        return self.extractions[n - 1]

    async def request_seen(self, n: int = 1, *, timeout: float = 5.0) -> RecordedRequest:
        """`wait_for_request` for a coroutine."""
        await self._watch(lambda: len(self.generations) >= n, timeout, f"request {n}")
        return self.generations[n - 1]

    def wait_gate_reached(self, name: str = "gate", *, times: int = 1, timeout: float = 5.0) -> None:
        """Wait until an answer has come to this gate so many times. Raises TimeoutError."""
        self._wait(lambda: self._gates.reached(name) >= times, timeout, f"gate {name!r}")

    async def gate_reached(self, name: str = "gate", *, times: int = 1, timeout: float = 5.0) -> None:
        """`wait_gate_reached` for a coroutine."""
        await self._watch(lambda: self._gates.reached(name) >= times, timeout, f"gate {name!r}")

    def wait_for_disconnect(self, n: int = 1, *, timeout: float = 5.0) -> RecordedRequest:
        """The n-th request whose client left before the answer was complete. Raises TimeoutError."""
        self._wait(lambda: len(self.disconnects) >= n, timeout, f"disconnect {n}")
        return self.requests[self.disconnects[n - 1]]

    async def disconnect_seen(self, n: int = 1, *, timeout: float = 5.0) -> RecordedRequest:
        """`wait_for_disconnect` for a coroutine."""
        await self._watch(lambda: len(self.disconnects) >= n, timeout, f"disconnect {n}")
        return self.requests[self.disconnects[n - 1]]

    def _wait(self, reached: Callable[[], bool], timeout: float, what: str) -> None:
        if not self._progress.wait(reached, timeout):
            raise self._missed(what, timeout)

    async def _watch(self, reached: Callable[[], bool], timeout: float, what: str) -> None:
        if not await self._progress.watch(reached, timeout):
            raise self._missed(what, timeout)

    def _missed(self, what: str, timeout: float) -> TimeoutError:
        seen = [f"{request.method} {request.path}" for request in self.requests]
        return TimeoutError(
            f"{what} did not come within {timeout} s; requests: {seen}; problems: {self.problems}"
        )

    def _problem(self, text: str) -> None:
        with self._progress.change():
            self.problems.append(text)

    def _on_connection(self, sock: socket.socket) -> None:
        with self._progress.change():
            self._accepted += 1
            connection = Connection(sock, self._accepted)
            name = f"fake-llm-{self._accepted}"
            thread = threading.Thread(target=self._serve, args=(connection,), name=name, daemon=True)
            self._connections[thread] = connection
        thread.start()

    def _end_connections(self) -> None:
        with self._progress.change():
            running = list(self._connections.items())
        for _, connection in running:
            connection.shut()
        for thread, _ in running:
            thread.join()

    def _serve(self, connection: Connection) -> None:
        try:
            while not self._closing and self._serve_one(connection):
                pass
        except (ClientGoneError, AnswerCutError):
            pass
        finally:
            connection.close()
            with self._progress.change():
                self._connections.pop(threading.current_thread(), None)

    def _serve_one(self, connection: Connection) -> bool:
        """Answer one request; False when the connection ends with it."""
        try:
            raw = connection.read_request()
        except ValueError as error:
            self._problem(f"not an HTTP request: {error}")
            return False
        if raw is None:
            return False
        request = self._record(raw, connection)
        try:
            return self._answer(connection, request, self._reply_to(request)) and raw.keeps_alive
        except ClientGoneError:
            with self._progress.change():
                if not self._closing:
                    self.disconnects.append(request.index)
            raise

    def _record(self, raw: RawRequest, connection: Connection) -> RecordedRequest:
        path, _, query = raw.target.partition("?")
        anthropic = path.startswith("/v1/messages") or "anthropic-version" in raw.headers
        body: object = None
        with contextlib.suppress(ValueError):
            body = json.loads(raw.body) if raw.body else None
        with self._progress.change():
            request = RecordedRequest(
                index=len(self.requests),
                method=raw.method,
                path=path,
                query=query,
                headers=raw.headers,
                body=raw.body,
                json=body,
                protocol=_GENERATES.get(path, "anthropic" if anthropic else "openai"),
                time=time.monotonic(),
                connection=connection.number,
                generates=path in _GENERATES and raw.method == "POST",
            )
            self.requests.append(request)
        return request

    def _reply_to(self, request: RecordedRequest) -> Reply | JsonObject:
        """The script's reply, or the JSON of what is no model answer."""
        if request.path in self.routes:
            return self.routes[request.path]
        if self.api_key is not None and _key_of(request) != self.api_key:
            return Reply.error(401, message="invalid x-api-key")
        if request.method == "GET" and f"{request.path}/".startswith("/v1/models/"):
            name = unquote(request.path.removeprefix("/v1/models").lstrip("/"))
            if not name:
                return model_list(request, self.models)
            if name in self.models:
                return model_entry(request, name)
            return Reply.error(404, message=f"model: {name}")
        counts = request.path == "/v1/messages/count_tokens"
        if request.method != "POST" or not (request.generates or counts):
            self._problem(f"nothing answers {request.method} {request.path}")
            return Reply.error(404, message=f"Not found: {request.method} {request.path}")
        violation = self._violation(request, counts)
        if violation is not None:
            self._problem(f"request {request.index}: {violation}")
            return Reply.error(400, message=violation)
        if counts:
            known = self.input_tokens
            return {"input_tokens": max(1, len(request.body) // 4) if known is None else known}
        return self._next_reply(request)

    def _violation(self, request: RecordedRequest, counts: bool) -> str | None:
        if not isinstance(request.json, dict):
            return "the body is not a JSON object"
        if not self.validate:
            return None
        if request.protocol == "anthropic":
            return anthropic_violation(request.json, request.headers, counts_only=counts)
        return openai_violation(request.json, self.dialect)

    def _next_reply(self, request: RecordedRequest) -> Reply:
        if is_extraction(request):
            reply = self.extracts.popleft() if self.extracts else None
            if reply is None and self.extract_with is not None:
                reply = self.extract_with(request)
            return reply or Reply.text(NOTHING_TO_NOTE)
        if self.aside is not None and self._is_aside(request):
            return self.aside
        with contextlib.suppress(IndexError):
            return self.replies.popleft()
        if self._rule is not None:
            try:
                reply = self._rule(request)
            except Exception as error:  # noqa: BLE001 - whatever a test's rule raises is that test's finding
                return self._failure(request, f"the rule raised {type(error).__name__}: {error}")
            if reply is not None:
                return reply
        if self.default is not None:
            return self.default
        return self._failure(request, "the script of the fake model server has no reply left")

    def _failure(self, request: RecordedRequest, message: str) -> Reply:
        self._problem(f"request {request.index}: {message}")
        return Reply.error(500, headers={"x-should-retry": "false"}, message=message)

    def _answer(self, connection: Connection, request: RecordedRequest, reply: Reply | JsonObject) -> bool:
        """Send the reply; False when the connection ends with it."""
        if not isinstance(reply, Reply):
            return self._send_body(connection, request, Reply(), _JSON, json.dumps(reply).encode())
        for happening in reply.faults.before:
            if isinstance(happening, Gate):
                self._gates.hold(connection, happening.name)
            elif isinstance(happening, Cut):
                _cut(connection, happening)
        if reply.is_error:
            return self._send_body(connection, request, reply, *error_body(request, reply))
        if not request.stream or reply.faults.ignore_stream:
            return self._send_whole(connection, request, reply)
        return self._send_stream(connection, request, reply)

    def _send_stream(self, connection: Connection, request: RecordedRequest, reply: Reply) -> bool:
        faults = reply.faults
        try:
            planned = self._steps(request, reply)
        except ValueError as error:
            failure = self._failure(request, str(error))
            return self._send_body(connection, request, failure, *error_body(request, failure))
        headers = {"content-type": faults.content_type or "text/event-stream; charset=utf-8"}
        headers.update({"cache-control": "no-cache", **id_headers(request), **reply.headers})
        connection.send_head(200, headers, "until_close" if faults.until_close else "chunked")
        for step in planned:
            if isinstance(step, bytes):
                connection.send(step)
                if faults.drip > 0:
                    self._gates.pause(connection, faults.drip)
            elif isinstance(step, Gate):
                self._gates.hold(connection, step.name)
            elif step.how == "end":
                break
            else:
                _cut(connection, step)
        try:
            connection.end()
        except ClientGoneError:  # it had the last event and did not wait for the end of the body
            return False
        return not faults.until_close

    def _steps(self, request: RecordedRequest, reply: Reply) -> list[Step]:
        """The body; that of a bulk default is kept, so that it costs the one who measures nothing."""
        if reply is not self.default or not reply.faults.coalesce:
            return list(stream_steps(request, reply, self.dialect))
        key = (id(reply), request.protocol, request.model, wants_usage(request))
        if key not in self._bulk:
            self._bulk[key] = list(stream_steps(request, reply, self.dialect))
        return self._bulk[key]

    def _send_whole(self, connection: Connection, request: RecordedRequest, reply: Reply) -> bool:
        """Send one JSON body; a cut among the blocks cuts it in half."""
        body = whole_body(request, reply, self.dialect)
        for happening in happenings(reply):
            if isinstance(happening, Gate):
                self._gates.hold(connection, happening.name)
            elif isinstance(happening, Cut):
                half = body[: len(body) // 2]
                if happening.how == "end":
                    return self._send_body(connection, request, reply, _JSON, half)
                connection.send_head(200, {"content-type": _JSON}, len(body))
                connection.send(half)
                _cut(connection, happening)
        return self._send_body(connection, request, reply, _JSON, body)

    def _send_body(
        self, connection: Connection, request: RecordedRequest, reply: Reply, kind: str, body: bytes
    ) -> bool:
        headers = {"content-type": reply.faults.content_type or kind, **id_headers(request), **reply.headers}
        connection.send_head(reply.status, headers, len(body))
        connection.send(body)
        return True


def _cut(connection: Connection, cut: Cut) -> None:
    if cut.how == "reset":
        connection.reset()
    raise AnswerCutError


def _key_of(request: RecordedRequest) -> str:
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    return request.headers.get("x-api-key") or bearer
