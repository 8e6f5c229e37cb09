"""Archives of sessions for tests: written line by line, as old as a test wants them."""

from __future__ import annotations

import os
from pathlib import Path

from mewcode.core.message import Message, Text, ToolCall, ToolResult
from mewcode.sessions.record import encode_message, encode_record, session_record


def said(name: str, text: str, ts: float = 1.0, role: str = "user") -> bytes:
    """The line of a message."""
    origin = {"user": "user", "assistant": "model", "tool": "tool"}[role]
    return encode_message(Message(name, role, (Text(text),), origin), ts=ts)  # type: ignore[arg-type]


def asked(name: str, call: str, tool: str = "bash", ts: float = 1.0, **args: str) -> bytes:
    """The line of a model's message that asks for a tool."""
    return encode_message(Message(name, "assistant", (ToolCall(call, tool, dict(args)),), "model"), ts=ts)


def answered(name: str, call: str, text: str, ts: float = 1.0) -> bytes:
    """The line of a tool's result."""
    return encode_message(Message(name, "tool", (ToolResult(call, (Text(text),)),), "tool"), ts=ts)


def head(session: str, ts: float = 1.0, **more: str) -> bytes:
    """The first line of a session."""
    record = session_record(session, ts=ts, cwd="/work", mode="default", provider="p", model="m1")
    return encode_record(record | more)


def make_session(sessions: Path, name: str, *lines: bytes, mtime: float | None = None) -> Path:
    """A session's folder with these lines."""
    folder = sessions / name
    folder.mkdir(parents=True)
    path = folder / "conversation.jsonl"
    path.write_bytes(b"".join(lines))
    if mtime is not None:
        os.utime(path, (mtime, mtime))
    return folder


def add_lines(folder: Path, *lines: bytes) -> None:
    with (folder / "conversation.jsonl").open("ab") as stream:
        stream.write(b"".join(lines))
