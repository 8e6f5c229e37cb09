"""A session as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable

from mewcode.sessions.export_facts import SessionFacts
from mewcode.sessions.plain import local_time
from mewcode.sessions.transcript import read_transcript

_HEADINGS = {"user": "You", "assistant": "MewCode", "tool": "Tool result", "reminder": "Reminder"}


def as_markdown(entry: SessionFacts, clean: Callable[[str], str]) -> str:
    """The conversation with a heading for each speaker. ``clean`` is applied to all text. Raises
    SessionError."""
    lines = [f"# {clean(entry.title) or entry.id}", "", f"Session {entry.id}, {when(entry.updated)}"]
    if entry.model:
        lines[-1] += f", {entry.model}"
    speaker = ""
    for spoken in read_transcript(entry.path):
        if spoken.role == "reminder":
            continue
        text = clean(spoken.text)
        if (heading := _HEADINGS[spoken.role]) != speaker:
            lines += ["", f"## {heading}"]
            speaker = heading
        lines += ["", _fenced(text) if spoken.role == "tool" else text]
    return "\n".join(lines) + "\n"


def when(ts: float) -> str:
    """A moment in local time, to the minute."""
    return local_time(ts, "%Y-%m-%d %H:%M")


def _fenced(text: str) -> str:
    """A code block whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"
