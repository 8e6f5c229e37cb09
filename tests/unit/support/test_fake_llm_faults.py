"""The ways in which the fake model server's answers break, on the wire as they are in the script."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Literal

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.fake_llm import (
    Comment,
    Cut,
    FakeLLM,
    Faults,
    Gate,
    Piece,
    Raw,
    Reply,
    StreamError,
    UnknownEvent,
    text,
    tool_call,
)
from tests.support.fake_llm_client import PROTOCOLS, address, ask, body, hear, hear_broken, parse
from tests.support.fake_llm_request import Protocol

both = pytest.mark.parametrize("protocol", PROTOCOLS)
HELLO = Reply.text("Hello, 世界", chunks=3)


@contextmanager
def raw_stream(server: FakeLLM, protocol: Protocol) -> Iterator[socket.socket]:
    """A socket on which a stream was asked for."""
    sent = json.dumps(body(protocol)).encode()
    path = address(server, protocol).removeprefix(server.url)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\nanthropic-version: v\r\n"
        f"content-type: application/json\r\ncontent-length: {len(sent)}\r\n\r\n"
    )
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(head.encode() + sent)
        yield sock


def http_chunks(server: FakeLLM, protocol: Protocol) -> list[bytes]:
    """The chunks of a stream's body, just as they were sent."""
    with raw_stream(server, protocol) as sock, sock.makefile("rb") as stream:
        while stream.readline() != b"\r\n":
            pass
        chunks = []
        while size := int(stream.readline(), 16):
            chunks.append(stream.read(size))
            stream.readline()
        return chunks


@both
def test_a_stream_can_end_without_its_last_event(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol
) -> None:
    fake_llm.script(HELLO, HELLO.cut())
    whole, cut = hear(client, fake_llm, protocol), hear(client, fake_llm, protocol)
    assert whole.text == cut.text
    assert len(cut.data) == len(whole.data) - 1


@both
@pytest.mark.parametrize("index", range(6))
def test_a_stream_can_end_at_any_event(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol, index: int
) -> None:
    fake_llm.script(HELLO.cut(index), Reply.text("next"))
    assert len(hear(client, fake_llm, protocol).data) == index
    assert hear(client, fake_llm, protocol).text == "next"
    assert fake_llm.requests[0].connection == fake_llm.requests[1].connection


@both
def test_a_stream_can_end_after_some_blocks(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol
) -> None:
    fake_llm.script(Reply.of(text("said"), Cut(), text("unsaid")))
    response = ask(client, fake_llm, protocol)
    assert parse(response.content).text == "said"
    assert '"stop"' not in response.text
    assert "end_turn" not in response.text


@both
@pytest.mark.parametrize(("how", "error"), [("drop", "RemoteProtocolError"), ("reset", "ReadError")])
def test_a_connection_can_break_in_the_middle(
    fake_llm: FakeLLM,
    client: httpx.Client,
    protocol: Protocol,
    how: Literal["drop", "reset"],
    error: str,
) -> None:
    fake_llm.script(Reply.text(["one", Gate("seen"), Cut(how), "two"]))
    heard, name = hear_broken(client, fake_llm, protocol, release="seen")
    assert (heard.text, name) == ("one", error)


@both
def test_a_cut_in_the_arguments_of_a_tool_call(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol
) -> None:
    pieces: list[Piece] = ['{"path": "a.', Cut(), 'py"}']
    fake_llm.script(Reply.of(tool_call("read", raw_json=pieces)))
    assert hear(client, fake_llm, protocol).arguments == '{"path": "a.'


@both
def test_arguments_need_not_be_json(fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol) -> None:
    fake_llm.script(*[Reply.of(tool_call("read", raw_json='{"path":'))] * 2)
    assert hear(client, fake_llm, protocol).arguments == '{"path":'
    assert ask(client, fake_llm, protocol, stream=False).status_code == 200


@both
def test_no_byte_comes_while_an_answer_stalls(fake_llm: FakeLLM, protocol: Protocol) -> None:
    fake_llm.script(Reply.stall("s", Reply.text("late")))
    with raw_stream(fake_llm, protocol) as sock:
        fake_llm.wait_gate_reached("s")
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(1)
        sock.settimeout(5)
        fake_llm.release("s")
        assert sock.recv(1) == b"H"


@both
def test_a_stall_is_met_by_a_read_time_out(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol
) -> None:
    fake_llm.script(Reply.stall("s"), HELLO)
    with pytest.raises(httpx.ReadTimeout):
        client.post(address(fake_llm, protocol), json=body(protocol), timeout=0.05)
    assert fake_llm.wait_for_disconnect().index == 0
    assert hear(client, fake_llm, protocol).text == "Hello, 世界"


@both
def test_an_answer_that_never_comes(fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol) -> None:
    fake_llm.script(Reply.reset(), Reply.hang_up())
    assert hear_broken(client, fake_llm, protocol)[1] == "ReadError"
    assert hear_broken(client, fake_llm, protocol)[1] == "RemoteProtocolError"


@both
@pytest.mark.parametrize("how", ["end", "drop", "reset"])
def test_a_whole_answer_can_be_cut(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol, how: Literal["end", "drop", "reset"]
) -> None:
    fake_llm.script(Reply.of(text("x"), Cut(how)))
    expected = ValueError if how == "end" else httpx.TransportError
    with pytest.raises(expected):
        ask(client, fake_llm, protocol, stream=False).json()


ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    502: "api_error",
    503: "api_error",
    529: "overloaded_error",
}


@both
@pytest.mark.parametrize("status", ANTHROPIC_TYPES)
def test_http_errors_have_the_body_of_their_protocol(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol, status: int
) -> None:
    fake_llm.script(Reply.error(status, message="no"))
    response = ask(client, fake_llm, protocol)
    assert response.status_code == status
    error = response.json()["error"]
    assert error["message"] == "no"
    if protocol == "anthropic":
        assert response.json()["type"] == "error"
        assert error["type"] == ANTHROPIC_TYPES[status]
        assert response.headers["request-id"] == response.json()["request_id"]
    else:
        assert set(error) == {"message", "type", "param", "code"}
        assert response.headers["x-request-id"] == "req_0000"


@both
def test_an_error_body_can_be_anything(fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol) -> None:
    fake_llm.script(
        Reply.error(502, "<html>Bad gateway</html>"),
        Reply.error(503, ""),
        Reply.error(500, "oops"),
        Reply.error(418, {"detail": "teapot"}, {"x-own": "1"}),
        Reply(body="<p>a portal's page</p>"),
    )
    html, empty, plain, own, portal = (ask(client, fake_llm, protocol) for _ in range(5))
    assert (html.text, html.headers["content-type"]) == (
        "<html>Bad gateway</html>",
        "text/html; charset=utf-8",
    )
    assert (empty.content, empty.headers["content-length"]) == (b"", "0")
    assert (plain.text, plain.headers["content-type"]) == ("oops", "text/plain; charset=utf-8")
    assert (own.json(), own.headers["x-own"]) == ({"detail": "teapot"}, "1")
    assert (portal.status_code, portal.text) == (200, "<p>a portal's page</p>")


@both
def test_retry_after_is_seconds_or_a_date(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol
) -> None:
    date = format_datetime(datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC), usegmt=True)
    fake_llm.script(Reply.error(429, retry_after=7), Reply.error(429, retry_after=date))
    sent = [ask(client, fake_llm, protocol).headers["retry-after"] for _ in range(2)]
    assert sent == ["7", "Wed, 02 Jan 2030 03:04:05 GMT"]


def test_an_error_inside_a_stream(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.script(*[Reply.text(["one", StreamError(), "two"])] * 2)
    anthropic, openai = hear(client, fake_llm, "anthropic"), hear(client, fake_llm, "openai")
    assert anthropic.names[-1] == "error"
    error = {"type": "overloaded_error", "message": "Overloaded"}
    assert anthropic.data[-1] == {"type": "error", "error": error}
    assert openai.data[-1] == {"error": {**error, "param": None, "code": None}}
    assert (anthropic.text, openai.text) == ("one", "one")


@both
def test_a_stream_can_go_on_after_an_error(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol
) -> None:
    fake_llm.script(HELLO.at(1, StreamError(ends=False)))
    heard = hear(client, fake_llm, protocol)
    assert heard.text == "Hello, 世界"
    assert "error" in heard.objects[1]


ODD_BUT_RIGHT = [
    Faults(line_end="\r\n"),
    Faults(line_end="\r"),
    Faults(comments=True),
    Faults(unknown_events=True),
    Faults(blank_lines=True),
    Faults(blank_data=True),
    Faults(space_after_colon=False),
    Faults(multi_line_data=True),
    Faults(split_every=1),
    Faults(split_every=7, line_end="\r\n", comments=True),
    Faults(coalesce=True),
    Faults(drip=0.0001, split_every=100),
    Faults(until_close=True),
    Faults(content_type="text/plain"),
    Faults(comments=True, unknown_events=True, blank_lines=True, blank_data=True, line_end="\r\n"),
]


@both
@pytest.mark.parametrize("faults", ODD_BUT_RIGHT, ids=repr)
def test_odd_forms_of_a_right_stream(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol, faults: Faults
) -> None:
    fake_llm.script(HELLO, replace(HELLO, faults=faults))
    plain, odd = hear(client, fake_llm, protocol), hear(client, fake_llm, protocol)
    assert odd.text == plain.text == "Hello, 世界"
    assert len(odd.data) == len(plain.data) * (2 if faults.unknown_events else 1)
    assert odd.comments == (["ping"] * len(plain.data) if faults.comments else [])


def test_odd_forms_are_on_the_wire_as_asked(fake_llm: FakeLLM, client: httpx.Client) -> None:
    fake_llm.script(*(replace(HELLO, faults=faults) for faults in ODD_BUT_RIGHT))
    sent = dict(
        zip(
            map(repr, ODD_BUT_RIGHT), (ask(client, fake_llm, "anthropic") for _ in ODD_BUT_RIGHT), strict=True
        )
    )
    assert sent[repr(Faults(line_end="\r\n"))].content.count(b"\r\n\r\n") == 9
    assert sent[repr(Faults(line_end="\r"))].content.count(b"\r\r") == 9
    assert b"\n\n\n\n" in sent[repr(Faults(blank_lines=True))].content
    assert b"data: \n\n" in sent[repr(Faults(blank_data=True))].content.replace(b"data:\n", b"data: \n")
    assert b'data:{"type":' in sent[repr(Faults(space_after_colon=False))].content
    assert b'data: {\ndata:  "type"' in sent[repr(Faults(multi_line_data=True))].content
    assert sent[repr(Faults(content_type="text/plain"))].headers["content-type"] == "text/plain"
    closed = sent[repr(Faults(until_close=True))]
    assert closed.headers["connection"] == "close"
    assert not {"content-length", "transfer-encoding"} & set(closed.headers)


@both
def test_happenings_at_events(fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol) -> None:
    plain = Reply.text("x")
    fake_llm.script(
        plain.at(0, Comment("early")).at(-1, UnknownEvent("new", {"a": 1})),
        plain.at(1, Raw("data: {broken\n\n")),
        plain.at(0, Raw("\xff", encoding="latin-1")),
    )
    heard = hear(client, fake_llm, protocol)
    assert heard.comments == ["early"]
    assert (heard.names[-2], heard.data[-2]) == ("new", {"a": 1})
    assert b"data: {broken\n\n" in ask(client, fake_llm, protocol).content
    assert ask(client, fake_llm, protocol).content.startswith(b"\xff")


@both
def test_an_event_there_is_not_is_a_problem(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol
) -> None:
    fake_llm.script(HELLO.cut(99))
    assert ask(client, fake_llm, protocol).status_code == 500
    assert "script: no event 99" in fake_llm.problems[0]
    fake_llm.problems.clear()


@both
def test_one_json_answer_to_a_stream_request(
    fake_llm: FakeLLM, client: httpx.Client, protocol: Protocol
) -> None:
    fake_llm.script(replace(HELLO, faults=Faults(ignore_stream=True)))
    response = ask(client, fake_llm, protocol)
    assert response.headers["content-type"] == "application/json"
    assert "Hello" in json.dumps(response.json())


def test_each_event_is_a_chunk_of_its_own(fake_llm: FakeLLM) -> None:
    fake_llm.script(HELLO)
    assert all(len(parse(chunk).data) == 1 for chunk in http_chunks(fake_llm, "anthropic"))


@both
def test_a_chunk_can_end_inside_a_character_and_a_line_end(fake_llm: FakeLLM, protocol: Protocol) -> None:
    crlf = replace(HELLO, faults=Faults(line_end="\r\n", coalesce=True))
    fake_llm.script(crlf)
    stream = b"".join(http_chunks(fake_llm, protocol))
    inside_character = stream.index("世".encode()) + 1
    inside_line_end = stream.index(b"\r\n\r\n", inside_character) + 3
    fake_llm.script(replace(crlf, faults=replace(crlf.faults, split_at=(inside_character, inside_line_end))))
    first, second, third = http_chunks(fake_llm, protocol)
    assert first[-1:] == "世".encode()[:1]
    assert second[-3:] == b"\r\n\r"
    assert third[:1] == b"\n"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.text(), places=st.lists(st.integers(0, 3000)), every=st.none() | st.integers(1, 50))
def test_splits_change_no_byte(
    fake_llm: FakeLLM, client: httpx.Client, said: str, places: list[int], every: int | None
) -> None:
    fake_llm.script(Reply.text(said, chunks=3, faults=Faults(split_at=tuple(places), split_every=every)))
    assert hear(client, fake_llm, "anthropic").text == said
