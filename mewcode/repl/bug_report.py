"""The report of `/bug`: what helps to find a defect, nothing that was said, no secret that can be told."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mewcode._version import __version__
from mewcode.config.describe import describe
from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult, text_of
from mewcode.infra.atomic import write_atomic
from mewcode.infra.log_file import log_path
from mewcode.infra.paths import private_dir
from mewcode.infra.redact import redact, redact_url
from mewcode.repl.commands.registry import Desk

Conversation = Sequence[Message]

_LOG_TAIL = 200_000
"""Bytes of the log that are looked through for its last errors."""
_LOG_LINES = 80
_VARIABLES = (
    "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "COLORFGBG", "NO_COLOR", "LANG", "LC_ALL",
    "SHELL", "TMUX", "STY", "SSH_TTY", "WSL_DISTRO_NAME",
)  # fmt: skip
_SECRET_SETTINGS = ("headers", "key", "token", "password", "secret")


def write_report(desk: Desk, messages: Conversation = ()) -> Path:
    """Writes the report into the user's folder (0600) and returns its place. ``messages`` are added where
    the user wants them to be. Raises OSError."""
    folder = private_dir(desk.session.around.places.user / "reports")
    path = folder / time.strftime("bug-%Y%m%d-%H%M%S.md")
    write_atomic(path, report(desk, messages).encode("utf-8", "backslashreplace"), durable=False)
    return path


def report(desk: Desk, messages: Conversation = ()) -> str:
    """The report as Markdown; all of it has gone through `infra.redact`."""
    around = desk.session.around
    home = str(Path(around.environ.get("HOME") or Path.home()))
    sections = [
        ("Versions", _table(_versions(desk))),
        ("Terminal", _table(_terminal(desk))),
        ("Session", _table(_session(desk))),
        ("Settings", _table(_settings(desk))),
        ("Last errors of the log", _fenced("\n".join(last_errors(log_path())) or "none")),
    ]
    if messages:
        sections.append(("Conversation", "\n\n".join(_spoken(messages))))
    text = "# MewCode: a report\n\n" + "\n\n".join(f"## {title}\n\n{body}" for title, body in sections) + "\n"
    known = [around.environ.get(name, "") for name in around.secret_names]
    known.append(desk.session.service.endpoint.api_key)
    text = redact(text, known)
    return text.replace(home, "~") if len(home) > 1 else text


def _table(rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in rows)


def _fenced(text: str) -> str:
    """In a fence that the text itself does not hold."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def _versions(desk: Desk) -> list[tuple[str, str]]:
    return [
        ("mewcode", __version__),
        ("python", sys.version.split()[0]),
        ("platform", platform.platform()),
        ("machine", platform.machine()),
    ]


def _terminal(desk: Desk) -> list[tuple[str, str]]:
    environ = desk.session.around.environ
    # Of these two only whether they are there: their values name a socket.
    plain = {"TMUX": "yes", "STY": "yes", "SSH_TTY": "yes"}
    named = [(name, plain.get(name, environ[name])) for name in _VARIABLES if environ.get(name)]
    return [("size", f"{desk.columns} by {desk.rows}"), ("theme", desk.theme), *named]


def _session(desk: Desk) -> list[tuple[str, str]]:
    session = desk.session
    kinds: dict[str, int] = {}
    for message in session.agent.conversation.messages:
        kinds[message.origin] = kinds.get(message.origin, 0) + 1
    counts = ", ".join(f"{count} of {kind}" for kind, count in sorted(kinds.items())) or "none"
    return [
        ("provider", f"{session.service.name} ({session.service.protocol})"),
        ("base URL", redact_url(session.service.endpoint.base_url)),
        ("model", session.model.name),
        ("mode", session.mode),
        ("messages", counts),
        ("context", f"{session.context_tokens} of {session.model.context_window} tokens"),
        ("saved", session.archive.failing or "yes"),
        ("tools", ", ".join(spec.name for spec in session.tools.registry.specs())),
    ]


def _settings(desk: Desk) -> list[tuple[str, str]]:
    rows = []
    for key, value, origin in describe(desk.session.around.loaded):
        last = key.rpartition(".")[2]
        hidden = any(word in last for word in _SECRET_SETTINGS) and not last.endswith("_env")
        rows.append((key, f"{'(hidden)' if hidden else value}  ({origin})"))
    return rows


def last_errors(path: Path) -> list[str]:
    """The last warnings and errors of the log with the lines that belong to them, at most 80 lines."""
    try:
        with open(path, "rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - _LOG_TAIL))
            text = stream.read().decode("utf-8", "backslashreplace")
    except OSError:  # nothing was logged yet, or it cannot be read: the report goes without
        return []
    kept: list[str] = []
    wanted = False
    for line in text.splitlines():
        if line[:2].isdigit() and " mewcode." in line:  # the beginning of a record
            wanted = any(f" {level} mewcode." in line for level in ("WARNING", "ERROR", "CRITICAL"))
        if wanted:
            kept.append(line)
    return kept[-_LOG_LINES:]


def _spoken(messages: Conversation) -> Iterator[str]:
    for message in messages:
        yield f"### {message.origin}\n\n" + "\n\n".join(_fenced(_words(block)) for block in message.content)


def _words(block: Text | Thinking | Image | ToolCall | ToolResult) -> str:
    if isinstance(block, Text | Thinking):
        return block.text
    if isinstance(block, Image):
        return "[image]"
    if isinstance(block, ToolCall):
        return f"{block.name} {block.invalid or block.args}"
    return text_of(block.content)
