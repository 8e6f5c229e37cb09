"""Which notes stand in a prompt and in a conversation, read from their texts: nothing is kept for it while a
turn runs. Texts are untrusted: what is named here may be no note, which the store knows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from mewcode.agent.agent import STOPPED
from mewcode.core.message import Message, ToolCall, text_of
from mewcode.memory.index import CORE_TITLE, LEVEL_TITLES
from mewcode.memory.note import LEVELS, TYPES, Level

How = Literal["index", "core rule", "recalled", "read", "searched", "told", "saved", "forgotten"]
"""``told``: in a reminder, as what was just noted is. The last two do not stand before an answer."""
NOTED: tuple[How, ...] = ("told", "saved")

_KINDS = "|".join(TYPES)
_INDEXED = re.compile(rf"- \[({_KINDS})\] \[")
_LINKED = re.compile(r"\]\(([^()\[\]]+\.md)\)(?= — |$)")
_FOUND = re.compile(rf"^- (\S.*?\.md) \[(?:{_KINDS})\] (.*?)(?: — .*)?$", re.MULTILINE)
_LEVEL = re.compile(rf"^\(({'|'.join(LEVELS)}), ", re.MULTILINE)
_SAVED = re.compile(r"\((\S+\.md), \w+\)\.")
_TOLD = re.compile(
    r"^(?:- (.+?)|The user noted this for later sessions) \((\S+\.md)\)(?:[:.]|$)", re.MULTILINE
)


class UsedNote(msgspec.Struct, frozen=True):
    """``file``: within its level's folder. ``name`` "" and ``level`` None where the text does not say.
    ``score``: of one that was recalled, higher is nearer."""

    file: str
    how: How
    name: str = ""
    level: Level | None = None
    score: float | None = None


def notes_in_prompt(section: str) -> Iterator[UsedNote]:
    """The notes in the part of a system prompt that holds them (see `memory.index.prompt_text`)."""
    index, _, core = section.partition(f"\n{CORE_TITLE}\n")
    level: Level | None = None
    for line in index.split("\n"):
        level = next((of for of, title in LEVEL_TITLES.items() if title == line), level)
        if found := _indexed(line):
            file, name = found
            yield UsedNote(file, "index", name, level)
            if f"\n### {name}\n" in f"\n{core}":
                yield UsedNote(file, "core rule", name, level)


def _indexed(line: str) -> tuple[str, str] | None:
    """The file and the name in a line of an index. A name may hold what looks like a file too: one of the
    note's type is rather meant."""
    head = _INDEXED.match(line)
    links = list(_LINKED.finditer(line, head.end())) if head else []
    if not head or not links:
        return None
    link = next((link for link in links if link[1].startswith(f"{head[1]}_")), links[0])
    return link[1], line[head.end() : link.start()]


def last_turn(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages of the last turn that has an answer, what the user said meanwhile included; none where
    there is no answer yet."""
    end = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "assistant"), -1)
    for start in range(end, -1, -1):
        if messages[start].is_said and not _is_said_meanwhile(messages, start):
            return messages[start : end + 1]
    return messages[: end + 1]


def _is_said_meanwhile(messages: Sequence[Message], at: int) -> bool:
    """Whether it stands behind results of a turn that was not stopped."""
    for message in reversed(messages[:at]):
        if message.role == "tool":
            return True
        if message.role == "assistant" or message.origin == "compaction" or STOPPED in message.text:
            return False
    return False


def notes_in_turn(messages: Sequence[Message]) -> Iterator[UsedNote]:
    """The notes that tools gave or took, and that the model was told of, in the order of the messages."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        calls.update((call.id, call) for call in message.tool_calls)
        for result in message.tool_results:
            call = calls.get(result.call_id)
            if call is not None and not result.is_error:
                yield from _of_call(call, text_of(result.content))
        if message.origin == "reminder":
            yield from notes_in_reminder(message.text)
        elif message.origin == "recall":
            yield from _recalled(message)


def notes_in_reminder(text: str) -> Iterator[UsedNote]:
    """The notes that a reminder says were noted just now."""
    if "<notes>" in text:
        yield from (UsedNote(file, "told", name) for name, file in _TOLD.findall(text))


def _of_call(call: ToolCall, text: str) -> Iterator[UsedNote]:
    if call.name == "search_notes":
        yield from (UsedNote(file, "searched", name) for file, name in _FOUND.findall(text))
    elif call.name == "read_note" and (found := _FOUND.search(text)):
        level = _LEVEL.search(text, found.end())
        of = next((of for of in LEVELS if level is not None and of == level[1]), None)
        yield UsedNote(found[1], "read", found[2], of)
    elif call.name == "save_note" and (saved := _SAVED.search(text)):
        yield UsedNote(saved[1], "saved", str(call.args.get("name", "")))
    elif call.name == "forget_note":
        named = str(call.args.get("note", ""))
        yield UsedNote(named, "forgotten", named)


def _recalled(message: Message) -> Iterator[UsedNote]:
    """``provider_meta`` of such a message holds ``{"notes": [{"file", "level", "name", "score"}]}`` (see
    `recalled_note`); where it does not, its text names them as a search does."""
    notes = message.provider_meta.get("notes")
    if not isinstance(notes, list):
        yield from (UsedNote(file, "recalled", name) for file, name in _FOUND.findall(message.text))
        return
    for note in notes:
        if isinstance(note, dict) and isinstance(note.get("file"), str):
            level = next((of for of in LEVELS if of == note.get("level")), None)
            score = note.get("score")
            name = note.get("name")
            yield UsedNote(
                note["file"],
                "recalled",
                name if isinstance(name, str) else "",
                level,
                score if isinstance(score, int | float) else None,
            )
