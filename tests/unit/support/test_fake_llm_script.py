"""Scripts as JSON, and the fake model server as a process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fake_llm import (
    Comment,
    Cut,
    Dialect,
    Faults,
    Gate,
    Raw,
    RedactedThinking,
    Reply,
    StreamError,
    UnknownEvent,
    Usage,
    bulk_reply,
    main,
    markdown,
    server_from_script,
    text,
    thinking,
    tool_call,
)
from tests.support.fake_llm_client import PROTOCOLS, ask, body, hear, parse

EVERYTHING = Reply.of(
    thinking(["a", Gate("g"), "b"], "sig"),
    RedactedThinking("r"),
    text(["x", Comment("c"), UnknownEvent("n", {"type": "text"}), Raw("\xff", "latin-1")]),
    tool_call("read", {"type": "gate", "list": [1, [2]]}, id="A", chunks=2),
    tool_call("read", raw_json=["{", Cut("reset")]),
    StreamError("api_error", "m", ends=False),
    stop_reason="refusal",
    usage=Usage(1, 2, 3, 4),
    faults=Faults(before=(Gate("b"),), at=((-1, Cut()), (0, Gate())), split_at=(1, 2), line_end="\r\n"),
    dialect=Dialect(tool_id="every", done=False),
    headers={"x": "y"},
)


@contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server as a process, with its URL; it is ended in any case."""
    command = [sys.executable, "-m", "tests.support.fake_llm", *arguments]
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        command, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        try:
            assert running.stdout is not None
            yield running, running.stdout.readline().strip()
        finally:
            running.kill()


@pytest.mark.parametrize(
    "reply",
    [
        EVERYTHING,
        Reply.text("hi", chunks=2),
        Reply.calls(("read", {"path": "a"}), tool_call("grep"), say="so"),
        Reply.error(429, {"type": "cut"}, {"retry-after": "1"}),
        Reply.error(502, ""),
        Reply.reset(),
        Reply.stall("s", Reply.text("x").cut(2, "drop")),
    ],
    ids=lambda reply: f"{reply.status}-{len(reply.blocks)}",
)
def test_a_reply_survives_json(reply: Reply) -> None:
    assert Reply.from_json(json.loads(json.dumps(reply.to_json()))) == reply


@given(st.lists(st.text(), min_size=1), st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_any_words_survive_json(pieces: list[str], arguments: dict[str, object]) -> None:
    reply = Reply.of(text(list(pieces)), tool_call("t", arguments))
    assert Reply.from_json(json.loads(json.dumps(reply.to_json()))) == reply


def test_a_script_can_be_written_by_hand() -> None:
    assert Reply.from_json("hi") == Reply.text("hi")
    call = {"type": "tool_call", "name": "read", "args": {"path": "a"}}
    assert Reply.from_json(["so", call]) == Reply.calls(("read", {"path": "a"}), say="so")
    given_usage = Reply.from_json({"blocks": ["x"], "usage": {"output": 3}})
    assert given_usage == Reply.text("x", usage=Usage(output=3))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"block": []}, "Reply has no field 'block'"),
        ([{"type": "txt"}], "the type 'txt' is none of gate, cut"),
        ([{"type": "tool_call"}], "ToolCall: .*missing 1 required positional argument: 'name'"),
        (7, "Reply must be an object, not int"),
        ({"usage": []}, "Usage must be an object"),
    ],
)
def test_a_mistake_in_a_script_is_named(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Reply.from_json(value)


def test_a_script_can_set_up_the_server() -> None:
    script = {
        "replies": ["a"],
        "default": "b",
        "dialect": {"done": False},
        "validate": False,
        "api_key": "k",
        "models": ["m"],
    }
    server = server_from_script(script)
    server.close()
    assert list(server.replies) == [Reply.text("a")]
    assert (server.default, server.dialect) == (Reply.text("b"), Dialect(done=False))
    assert (server.validate, server.api_key, server.models) == (False, "k", ["m"])
    with pytest.raises(ValueError, match="unknown key 'reply'"):
        server_from_script({"reply": []})
    with pytest.raises(ValueError, match="a list of replies or an object"):
        server_from_script("x")


def test_the_process_serves_its_script(tmp_path: Path, client: httpx.Client) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["first", EVERYTHING.to_json() | {"faults": {}, "blocks": ["second"]}]))
    with process("--script", str(script)) as (running, url):
        assert url.startswith("http://127.0.0.1:")
        said = [client.post(f"{url}/v1/messages", json=body("anthropic")).content for _ in range(2)]
        running.send_signal(signal.SIGTERM)
        _, errors = running.communicate(timeout=5)
    assert [parse(stream).text for stream in said] == ["first", "second"]
    assert (running.returncode, errors) == (0, "")


def test_the_process_tells_its_problems_at_the_end(tmp_path: Path, client: httpx.Client) -> None:
    script = tmp_path / "script.json"
    script.write_text("[]")
    with process("--script", str(script)) as (running, url):
        assert client.post(f"{url}/v1/messages", json={}).status_code == 400
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=5)
    assert (running.returncode, errors) == (1, "request 0: model: Field required\n")


def test_a_bad_script_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"texts": "x"}]')
    with pytest.raises(SystemExit):
        main(["--script", str(script)])
    assert "Reply has no field 'texts'" in capsys.readouterr().err


def test_bulk_streams_hold_what_was_asked_for(client: httpx.Client) -> None:
    server = server_from_script({})
    server.default = bulk_reply(40, 500)
    with server:
        for protocol in PROTOCOLS:
            heard = hear(client, server, protocol)
            kinds = ("text", "content")
            assert len([part for part in heard.deltas if part[0] in kinds and part[1]]) == 500
            assert heard.text == markdown(40)
            assert ask(client, server, protocol).text == ask(client, server, protocol).text
    assert 40 * 1024 <= len(markdown(40).encode()) < 42 * 1024


def test_the_process_streams_in_bulk(client: httpx.Client) -> None:
    with process("--bench-stream", "8", "50") as (_, url):
        stream = client.post(f"{url}/v1/chat/completions", json={"model": "m", "stream": True}).content
    assert parse(stream).text == markdown(8)


def test_importing_the_server_needs_the_standard_library_alone() -> None:
    code = (
        "import sys; import tests.support.fake_llm; "
        "known = set(sys.stdlib_module_names) | {'tests', '__main__', '__mp_main__'}; "
        "found = {name.partition('.')[0] for name in sys.modules} - known; "
        "print(sorted(name for name in found if name in {'httpx', 'anthropic', 'msgspec', 'pytest'}))"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, text=True, capture_output=True, check=True, timeout=20
    )
    assert done.stdout == "[]\n"
