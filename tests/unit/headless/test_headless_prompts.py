"""Where prompts come from: pipes of every kind, and stream-json."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.core.errors import UsageError
from mewcode.headless import prompts
from mewcode.headless.prompts import join_prompt, read_piped, read_stream_json


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    for descriptor in (reading, writing):
        try:
            os.close(descriptor)
        except OSError:  # the test has closed it
            continue


# Text piped in.


def test_a_pipe_that_has_said_something_is_read_to_its_end(pipe: tuple[int, int]) -> None:
    """What comes late is waited for without a limit, once something has come."""
    reading, writing = pipe
    os.write(writing, b"first ")
    parts = [b"second ", "drittes 三\n".encode(), b"x" * 200_000]

    def write() -> None:
        for part in parts:
            view = memoryview(part)
            while view:
                view = view[os.write(writing, view) :]
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    text, notice = read_piped(reading, patience=0.0)
    thread.join()
    assert text == "first second drittes 三\n" + "x" * 200_000
    assert notice == ""


def test_a_silent_pipe_is_left_alone_with_a_notice(pipe: tuple[int, int]) -> None:
    text, notice = read_piped(pipe[0], patience=0.0)
    assert text == ""
    assert "said nothing for 0 s" in notice


def test_a_pipe_that_ends_at_once_is_no_silent_one(pipe: tuple[int, int]) -> None:
    os.close(pipe[1])
    assert read_piped(pipe[0], patience=60.0) == ("", "")


def test_a_regular_file_is_read_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"Zeile 1\r\nZeile 2")
    with path.open("rb") as stream:
        assert read_piped(stream.fileno()) == ("Zeile 1\r\nZeile 2", "")
        assert read_piped(stream.fileno()) == ("", ""), "it is at its end"


def test_a_socket_is_a_pipe_too() -> None:
    here, there = socket.socketpair()
    with here, there:
        there.sendall(b"over a socket")
        there.shutdown(socket.SHUT_WR)
        assert read_piped(here.fileno(), patience=60.0) == ("over a socket", "")


def test_devices_terminals_and_folders_are_left_alone(tmp_path: Path) -> None:
    for path in ("/dev/null", "/dev/zero", str(tmp_path)):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            assert read_piped(descriptor) == ("", "")
        finally:
            os.close(descriptor)
    master, slave = os.openpty()
    try:
        os.write(master, b"typed\n")
        assert read_piped(slave) == ("", "")
    finally:
        os.close(master)
        os.close(slave)


def test_a_closed_input_is_none(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    assert read_piped(pipe[0]) == ("", "")


def test_more_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big"
    with path.open("wb") as stream:
        stream.truncate(10 * 1024 * 1024 + 1)
    with path.open("rb") as stream, pytest.raises(UsageError, match="10 MB") as caught:
        read_piped(stream.fileno())
    assert "Name the file" in caught.value.hint
    os.truncate(path, 10 * 1024 * 1024)
    with path.open("rb") as stream:
        assert len(read_piped(stream.fileno())[0]) == 10 * 1024 * 1024


def test_bytes_that_are_no_text_are_spelt_out(pipe: tuple[int, int]) -> None:
    """No byte is lost, and none is turned into something else."""
    os.write(pipe[1], b"caf\xe9 \xff\x00")
    os.close(pipe[1])
    assert read_piped(pipe[0])[0] == "caf\\xe9 \\xff\x00"


# The prompt with what was piped.


@pytest.mark.parametrize(
    ("prompt", "piped", "joined"),
    [
        ("Explain:", "a\nb\n", "Explain:\n\na\nb"),
        ("Explain:", "", "Explain:"),
        (None, "from the pipe\n", "from the pipe"),
        ("  ", "from the pipe", "from the pipe"),
        ("Explain:", " \n\n", "Explain:"),
        ("Explain:", "  indented\n", "Explain:\n\n  indented"),
    ],
)
def test_joining(prompt: str | None, piped: str, joined: str) -> None:
    assert join_prompt(prompt, piped) == joined


@pytest.mark.parametrize(("prompt", "piped"), [(None, ""), ("", "\n"), (" ", " ")])
def test_no_prompt_at_all(prompt: str | None, piped: str) -> None:
    with pytest.raises(UsageError, match="no prompt"):
        join_prompt(prompt, piped)


@given(st.text(), st.text())
def test_joining_keeps_both_texts(prompt: str, piped: str) -> None:
    if not prompt.strip() and not piped.strip():
        return
    joined = join_prompt(prompt, piped)
    assert prompt in joined or not prompt.strip()
    assert piped.rstrip("\n") in joined or not piped.strip()


# Stream JSON.


def prompts_of(data: bytes) -> list[str]:
    """The prompts of this input, read through a pipe."""
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "wb") as stream:
            stream.write(data)

    async def collect() -> list[str]:
        return [prompt async for prompt in read_stream_json(reading)]

    thread = threading.Thread(target=write)
    thread.start()
    try:
        return asyncio.run(collect())
    finally:
        thread.join()
        os.close(reading)


@pytest.mark.parametrize(
    ("line", "prompt"),
    [
        ({"type": "user", "content": "plain"}, "plain"),
        ({"content": "no type"}, "no type"),
        ({"type": "user", "message": {"role": "user", "content": "nested"}}, "nested"),
        (
            {"type": "user", "content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]},
            "in parts",
        ),
        ({"type": "user", "message": {"content": [{"text": "both"}]}}, "both"),
        ({"type": "user", "content": "多行\n文本 \u2028 x"}, "多行\n文本 \u2028 x"),
        ({"type": "user", "content": "x", "session_id": "ignored", "uuid": 1}, "x"),
    ],
)
def test_a_line_is_a_prompt(line: dict, prompt: str) -> None:
    assert prompts_of(json.dumps(line, ensure_ascii=False).encode() + b"\n") == [prompt]


def test_lines_in_order_blank_ones_left_out_the_last_without_its_end() -> None:
    data = b'{"content": "one"}\n\n  \r\n{"content": "two"}\r\n{"content": "three"}'
    assert prompts_of(data) == ["one", "two", "three"]


def test_a_long_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prompts_of(json.dumps({"content": "x" * 3_000_000}).encode()) == ["x" * 3_000_000]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"hello", "is no JSON"),
        (b'{"content": "cut', "is no JSON"),
        (b"\xff\xfe", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b'["content"]', "is no user message"),
        (b'"content"', "is no user message"),
        (b"null", "is no user message"),
        (b'{"type": "assistant", "content": "x"}', "is no user message"),
        (b"{}", "has no text"),
        (b'{"content": "  "}', "has no text"),
        (b'{"content": 5}', "has no text"),
        (b'{"content": [{"type": "image"}]}', "has no text"),
        (b'{"content": ["x"]}', "has no text"),
        (b'{"message": {"content": null}}', "has no text"),
        (b'{"message": "x"}', "has no text"),
    ],
)
def test_a_line_that_is_none_is_named(line: bytes, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        prompts_of(b'{"content": "fine"}\n' + line + b"\n")
    assert caught.value.message.startswith(f"line 2 of the input {says}")
    assert '"type": "user"' in caught.value.hint


@pytest.mark.parametrize("data", [b"", b"\n\n"])
def test_an_input_without_any_prompt(data: bytes) -> None:
    with pytest.raises(UsageError, match="held no message"):
        prompts_of(data)


def test_the_first_prompt_comes_before_the_second_is_said(pipe: tuple[int, int]) -> None:
    reading, writing = pipe

    async def scenario() -> None:
        stream = read_stream_json(reading)
        os.write(writing, b'{"content": "one"}\n')
        assert await anext(stream) == "one"
        os.write(writing, b'{"content": "two"}\n')
        assert await anext(stream) == "two"
        os.close(writing)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    asyncio.run(scenario())


def test_waiting_for_a_prompt_can_be_cancelled(pipe: tuple[int, int]) -> None:
    """The program's end does not wait for a line that never comes."""
    reading, writing = pipe

    async def scenario() -> None:
        waiting = asyncio.ensure_future(anext(read_stream_json(reading)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(scenario())
    os.close(writing)  # lets the thread go
    for thread in threading.enumerate():
        if thread.name == "prompts":
            thread.join(10)


def test_an_input_that_fails_is_an_error_not_an_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)  # a folder: it opens, and cannot be read

    async def scenario() -> None:
        async for _ in read_stream_json(descriptor):
            pass

    try:
        with pytest.raises(OSError, match=r".*"):
            asyncio.run(scenario())
    finally:
        os.close(descriptor)


def test_the_patience_is_the_agreed_one() -> None:
    assert prompts.PIPE_PATIENCE == 3.0
