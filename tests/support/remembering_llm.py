"""A fake model that knows nothing but what stands in its request: it notes what it is told, and answers out
of the notes that it is shown. So its answers show what memory brings to a request, and what it should not
have brought.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from .fake_llm import RecordedRequest, Reply

UNKNOWN = "unknown"
_USER = re.compile(r"^\[(m\d+)\] user: (.+)$", re.MULTILINE)
_FILE = re.compile(r"\(([^()\s]+\.md)\)")
_NOTES = re.compile(r"<notes>\n(.*?)\n</notes>", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_QUESTION = ("?", "？")
# Words of a question that say what it is about.
_WORD = re.compile(r"[a-z]{6,}|[\u4e00-\u9fff]{2}")


def note_what_is_told(request: RecordedRequest) -> Reply:
    """A rule for `FakeLLM.extract_with`: a note of each thing that the user said and did not ask, at the
    user's level where they said *remember*. What is so *now* supersedes the first note that there is."""
    question = " ".join(_texts(request.messages))
    known = _FILE.search("".join(_NOTES.findall(question)))
    old = known[1] if known else ""
    notes = [
        {
            "action": "supersede" if old and said.endswith(" now.") else "create",
            "level": "user" if said.startswith("Remember") else "project",
            "type": "user_preference" if said.startswith("Remember") else "project_knowledge",
            "name": said[:60],
            "description": said,
            "body": said,
            "aliases": [],
            "reason": "the user said so",
            "rests_on": [label],
            "file": old if said.endswith(" now.") else "",
            "confidence": 0.9,
        }
        for label, said in _USER.findall(question)
        if not said.endswith(_QUESTION)
    ]
    return Reply.text(json.dumps({"notes": notes}, ensure_ascii=False))


def answer_from_notes(request: RecordedRequest) -> Reply:
    """A rule for `FakeLLM.respond_with`: the lines of notes and reminders that have a word in common with
    what was asked last, else `UNKNOWN`."""
    system, said = list(_texts(request.payload.get("system"))), list(_texts(request.messages))
    asked = next(text for text in reversed(said) if text.strip() and not _REMINDER.fullmatch(text.strip()))
    shown = [*_NOTES.findall("\n".join(system)), *_REMINDER.findall("\n".join(said))]
    words = set(_WORD.findall(asked.lower()))
    lines = [line for text in shown for line in text.splitlines() if words & set(_WORD.findall(line.lower()))]
    return Reply.text("\n".join(lines) or UNKNOWN)


def _texts(value: object) -> Iterator[str]:
    """The texts of a system prompt or of messages, in the Messages API's form."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from _texts(value.get("text") or value.get("content"))
