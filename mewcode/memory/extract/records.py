"""The messages of a conversation as notes are made out of them: who says what, under short labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from mewcode.core.codec import encode_json
from mewcode.core.message import ContentBlock, Image, Message, Role, Text, ToolCall, ToolResult, text_of
from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.memory.extract.cutting import cut_middle
from mewcode.memory.note import Origin

MOST_SAID = 24_000
"""Characters of a text of the user's."""
_MOST_ANSWER = 6_000
_MOST_RESULT = 600
_MOST_CALL = 200
_MOST_OF: dict[Role, int] = {"user": MOST_SAID, "assistant": _MOST_ANSWER, "tool": _MOST_RESULT}
_MOST_ALL: dict[Role, int] = {"user": 200_000, "assistant": 100_000, "tool": 100_000}
"""Characters of all texts of a role, the newest before the others. Of what is beyond there is more than a
question has room for: then each has `_LEAST`."""
_LEAST = 120
_MOST_CALLS = 8
"""Calls of one answer that are named."""
_NOTE_TOOLS = frozenset({"search_notes", "read_note", "save_note", "forget_note"})
_WEB = r"(?:\A|[_.\W])(?:web|fetch|browse|browser|http|url|crawl|scrape)(?:\Z|[_.\W])"
_ANSWERED = "The user answered: "
"""With this begins what `ask_user` gives where the user did answer."""
_REMINDER = r"<system-reminder>.*?(?:</system-reminder>|\Z)"
# A line that looks like another message's beginning, and tags that would end a block of data.
_SPOOFED = r"(?m)^[ \t]*\[(?=m\d)"
_TAGS = r"<(?=\s*/?\s*(?:conversation|earlier|notes)\b)"


class Record(msgspec.Struct, frozen=True):
    """``id``: of the message. ``origin``: whose word it is; the answer to a question of the agent's is the
    user's. ``speaker``: for the model that reads it. ``text`` is bounded, without secrets, and safe between
    the tags of the question; so is ``asked``, the agent's question that it answers, which is not the user's
    word."""

    label: str
    id: str
    origin: Origin
    speaker: str
    text: str
    asked: str = ""


def records_of(messages: Sequence[Message]) -> list[Record]:
    """A record for each message that says something, labelled ``m1``, ``m2``... in order. Reminders,
    summaries and recalled notes are left out. The same messages give the same records."""
    calls = {call.id: call for message in messages for call in message.tool_calls}
    most = list[int]()
    left = dict(_MOST_ALL)
    for message in reversed(messages):
        most.append(max(_LEAST, left[message.role]))
        left[message.role] -= min(sum(map(_length, message.content)), _MOST_OF[message.role])
    records: list[Record] = []
    for message, limit in zip(messages, reversed(most), strict=True):
        for said in _said(message, calls, limit):
            records.append(Record(f"m{len(records) + 1}", message.id, *said))
    return records


def _length(block: ContentBlock) -> int:
    if isinstance(block, ToolResult):
        return _MOST_RESULT
    return len(block.text) if isinstance(block, Text) else _MOST_CALL


def _said(message: Message, calls: dict[str, ToolCall], most: int) -> Iterator[tuple[Origin, str, str, str]]:
    """What a record says beside its label and its message."""
    if message.is_said:
        text = re.sub(_REMINDER, "", message.text, flags=re.DOTALL)
        text = _clean(text, min(most, MOST_SAID))
        text += "\n(a picture)" * any(isinstance(block, Image) for block in message.content)
        if text.strip():
            yield "user", "user", text.strip(), ""
    elif message.role == "assistant":
        lines = [_clean(message.text, min(most, _MOST_ANSWER))] if message.text.strip() else []
        lines += [f"(calls {_call(call)})" for call in message.tool_calls[:_MOST_CALLS]]
        if lines:
            yield "agent", "assistant", "\n".join(lines), ""
    for result in message.tool_results:
        call = calls.get(result.call_id)
        name = safe_line(call.name, 80) if call else "unknown"
        if name in _NOTE_TOOLS:
            continue  # what was noted already, and perhaps by a stranger's word
        text = text_of(result.content)
        if name == "ask_user" and call and text.startswith(_ANSWERED) and not result.is_error:
            asked = call.args.get("question")
            asked = _clean(asked, min(most, _MOST_RESULT)) if isinstance(asked, str) else ""
            yield "user", "user", _clean(text.removeprefix(_ANSWERED), min(most, MOST_SAID)), asked
            continue
        is_web = bool(re.search(_WEB, name.casefold()))
        failed = "(failed) " if result.is_error else ""
        origin: Origin = "web" if is_web else "tool"
        said = _clean(text, min(most, _MOST_RESULT)) or "(nothing)"
        yield origin, f"{origin}: {name}", failed + said, ""


def _call(call: ToolCall) -> str:
    return f"{safe_line(call.name, 80)} {_clean(encode_json(call.args).decode(), _MOST_CALL)}"


def _clean(text: str, limit: int) -> str:
    """At most so many characters of a text: without secrets, which are looked for in more than is kept (half
    a key is still a secret, and none to see), and without what would look like another's words."""
    text = within_tags(redact(safe_text(cut_middle(text, 4 * limit))))
    return cut_middle(re.sub(_SPOOFED, "[quoted ", text), limit).strip()


def within_tags(text: str) -> str:
    """The text so that it neither opens nor closes a block of the question."""
    return re.sub(_TAGS, "‹", text, flags=re.IGNORECASE)
