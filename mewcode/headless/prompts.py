"""Where the prompts of a run without a terminal come from."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, BinaryIO

from mewcode.core.codec import decode_json
from mewcode.core.errors import UsageError

# A pipe that is open but says nothing may be somebody's forgotten one; waiting for ever would look like a
# hang. Seconds.
PIPE_PATIENCE = 3.0

_PIPE_LIMIT = 10 * 1024 * 1024

_WANTED = 'Expected {"type": "user", "content": "..."}.'


def read_piped(descriptor: int = 0, patience: float = PIPE_PATIENCE) -> tuple[str, str]:
    """The text piped in, and a notice (either may be empty). Reads nothing from a terminal or a device.

    Once something has come, it is read to its end. Raises `UsageError` beyond 10 MB.
    """
    try:
        kind = os.fstat(descriptor).st_mode
    except OSError:  # closed: there is no standard input
        return "", ""
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or stat.S_ISREG(kind)):
        return "", ""
    import select

    if not stat.S_ISREG(kind) and not select.select([descriptor], [], [], patience)[0]:
        return "", f"standard input said nothing for {patience:.0f} s and is left alone"
    chunks: list[bytes] = []
    size = 0
    while chunk := os.read(descriptor, 1 << 20):
        chunks.append(chunk)
        size += len(chunk)
        if size > _PIPE_LIMIT:
            raise UsageError("the piped input is larger than 10 MB", "Name the file in the prompt instead.")
    return b"".join(chunks).decode("utf-8", "backslashreplace"), ""


def join_prompt(prompt: str | None, piped: str) -> str:
    """The prompt with the piped text behind it. Raises `UsageError` when there is neither."""
    parts = [part for part in (prompt or "", piped.rstrip("\n")) if part.strip()]
    if not parts:
        raise UsageError("there is no prompt", 'Give one: mewcode -p "what does this do?"')
    return "\n\n".join(parts)


async def read_stream_json(descriptor: int = 0) -> AsyncGenerator[str, None]:
    """The prompts of ``--input-format stream-json``: a JSON object a line, of type ``user``, its text in
    ``content`` or ``message.content``. Raises `UsageError` naming the line that is none, and where the input
    ends without any."""
    # Never closed: closing waits for a thread that is still reading.
    stream = open(descriptor, "rb", closefd=False)  # noqa: ASYNC230, SIM115
    number = prompts = 0
    while line := await _read_line(stream):
        number += 1
        if line.strip():
            prompts += 1
            yield _prompt_of(line, number)
    if not prompts:
        raise UsageError("standard input held no message", _WANTED)


async def _read_line(stream: BinaryIO) -> bytes:
    """The next line, empty at the end. Raises OSError.

    The event loop's own threads would be waited for at the program's end, and so keep Ctrl-C from ending it
    until the other side says something.
    """
    import asyncio
    import threading

    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bytes] = loop.create_future()

    def settle(line: bytes, error: OSError | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(line)
        else:
            answer.set_exception(error)

    def read() -> None:
        line, failure = b"", None
        try:
            line = stream.readline()
        except OSError as error:
            failure = error
        with suppress(RuntimeError):  # the loop has ended: nobody wants the line any more
            loop.call_soon_threadsafe(settle, line, failure)

    threading.Thread(target=read, name="prompts", daemon=True).start()
    return await answer


def _prompt_of(line: bytes, number: int) -> str:
    try:
        value: Any = decode_json(line)
    except ValueError as error:
        raise UsageError(f"line {number} of the input is no JSON: {error}", _WANTED) from error
    if not isinstance(value, dict) or value.get("type", "user") != "user":
        raise UsageError(f"line {number} of the input is no user message", _WANTED)
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else value.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not isinstance(content, str) or not content.strip():
        raise UsageError(f"line {number} of the input has no text", _WANTED)
    return content
