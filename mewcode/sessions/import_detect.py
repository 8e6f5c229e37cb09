"""Whose session file it is, told by what stands in it; never by its name alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mewcode.sessions.import_codex import parse_line
from mewcode.sessions.import_source import Kind

_CLAUDE_TYPES = frozenset({"user", "assistant", "system"})
_CLAUDE_NOTES = frozenset(
    {
        "summary", "custom-title", "ai-title", "file-history-snapshot", "queue-operation", "mode",
        "permission-mode", "last-prompt", "agent-name", "progress", "attachment",
    }
)  # fmt: skip
_CLAUDE_MARKS = ("uuid", "sessionId", "leafUuid", "messageId")
_ROLES = frozenset({"user", "assistant", "tool", "system"})
_KIMI_NOTES = frozenset({"_system_prompt", "_checkpoint", "_usage"})


def kind_of(values: Iterable[dict[str, Any]]) -> Kind | None:
    """The kind of a file that begins with these objects; None for one that is known to nobody here. The first
    of them that speaks for one kind alone decides."""
    likely: Kind | None = None
    for value in values:
        kind = _sure(value)
        if kind is not None:
            return kind
        likely = likely or _likely(value)
    return likely


def _sure(value: dict[str, Any]) -> Kind | None:
    kind, role = value.get("type"), value.get("role")
    if kind == "session" and isinstance(value.get("version"), int):
        return "mewcode"
    if isinstance(role, str) and role in _KIMI_NOTES:
        return "kimi"
    is_marked = any(isinstance(value.get(mark), str) for mark in _CLAUDE_MARKS)
    if is_marked and isinstance(kind, str) and kind in _CLAUDE_TYPES | _CLAUDE_NOTES:
        return "claude-code"
    if parse_line(value)[0]:
        return "codex"
    if kind is None and isinstance(role, str) and role in _ROLES:
        if "tool_call_id" in value or _has_functions(value.get("tool_calls")):
            return "kimi"
        if "tool_results" in value or "ts" in value:
            return "mewcode"
    return None


def _likely(value: dict[str, Any]) -> Kind | None:
    """A bare message could be ours too; what reads it as Kimi CLI's loses nothing of it."""
    role = value.get("role")
    is_message = value.get("type") is None and isinstance(role, str) and role in _ROLES
    return "kimi" if is_message and "content" in value else None


def _has_functions(calls: Any) -> bool:
    return isinstance(calls, list) and any(isinstance(call, dict) and "function" in call for call in calls)
