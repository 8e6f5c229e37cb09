"""What fills a window, in words and as data: what `/context` says with a terminal and without. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mewcode.context.words import share

if TYPE_CHECKING:
    from mewcode.context.parts import Part, Parts

_LABELS = {"user": "dialogue: you", "assistant": "dialogue: the model"}


def label(part: Part) -> str:
    """The name of a part as people read it; a section of the system prompt says that it is one."""
    if part.group == "system":
        return f"system prompt: {part.name}"
    return _LABELS.get(part.name, part.name)


def used_words(parts: Parts) -> str:
    """How much of the window is used."""
    taken = share(parts.used, parts.window)
    return f"{parts.model}: {parts.used:,} of {parts.window:,} tokens ({taken})"


def due_words(parts: Parts, stopped: str = "") -> str:
    """When a summary takes the place of the conversation. ``stopped``: why it does not by itself any more."""
    if stopped:
        return f"nothing is summed up by itself any more: {stopped}; /compact tries it"
    if not parts.free:
        return f"compaction comes at about {parts.compact_at:,} tokens: with the next request"
    away = share(parts.free, parts.window)
    return f"compaction comes at about {parts.compact_at:,} tokens; {parts.free:,} ({away}) away"


def ahead_words(spent: int, most: int) -> str:
    """What summaries that were prepared ahead of time have used so far; "" for none. ``most``: how many are
    tried before one is needed."""
    if not spent:
        return ""
    return f"summaries ahead of time: {spent:,} tokens so far; at most {most} are tried before one is needed"


def rows(parts: Parts) -> tuple[tuple[str, int], ...]:
    """Each part with its tokens; at the end what is free, and what is kept for other things."""
    return (
        *((label(part), part.tokens) for part in parts.parts),
        ("free", parts.free),
        ("kept free beside the answer", parts.headroom),
        ("kept for the answer", parts.reserve),
    )


def report_text(parts: Parts, stopped: str = "", ahead: str = "") -> str:
    """A table in plain lines, and below it what would free most. Names are not made safe for a terminal.
    ``ahead``: see `ahead_words`."""
    table = [(name, f"{tokens:,}", share(tokens, parts.window)) for name, tokens in rows(parts)]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    lines = [used_words(parts), ""]
    lines += [
        f"{name:<{widths[0]}}  {tokens:>{widths[1]}}  {part:>{widths[2]}}".rstrip()
        for name, tokens, part in table
    ]
    lines += ["", due_words(parts, stopped), *([ahead] if ahead else [])]
    if parts.largest:
        lines += ["", "what would free most:"]
        lines += [f"  {item.name}: {item.tokens:,} tokens; {item.advice}" for item in parts.largest]
    return "\n".join(lines) + "\n"


def report_object(parts: Parts, session_id: str) -> dict[str, Any]:
    """The same as an object for JSON: the fields of `Parts`. ``session_id`` is empty for a new session."""
    return {"type": "context", "session_id": session_id, **msgspec.to_builtins(parts)}
