"""How much of a window a conversation takes, and the part of one that fits.

`NewestPart` is the `Compactor` that needs no model: it leaves out what is old, and says where that stands.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mewcode.agent.ports import Past
from mewcode.core.message import Message, Text, ToolResult
from mewcode.core.tokens import message_tokens
from mewcode.infra.terminal_text import safe_line

_HEAD_ID = "left-out"
SUMMARY_ID = "summary-"
"""Begins the id of a summary that stands in no archive."""
_PROMPT_SHOWN = 500
"""Characters of the first prompt that stay."""


def context_tokens(messages: Sequence[Message]) -> int:
    """Tokens that the conversation takes of a window, estimated: what the last answer reported, and what came
    after it.

    A report that is a third lower than one before it, or less than half of what the texts look like, was of a
    part of the conversation: it says nothing about the whole, which is then estimated from the texts.
    """
    reported, before, after, highest, is_part = 0, 0, 0, 0, False
    for message in messages:
        after += message_tokens(message)
        if message.usage is None or not message.usage.context_tokens:
            continue
        reported, before, after = message.usage.context_tokens, before + after, 0
        is_part = is_part or reported * 3 < highest * 2
        highest = max(highest, reported)
    if is_part or reported * 2 < before:
        return max(reported, before) + after
    return reported + after


class NewestPart:
    """`agent.ports.Compactor`: keeps the newest turns, behind a message that says what is left out.

    The same messages and budget always give the same, to the byte. Half of the budget is used: a
    conversation that just fits would be full again with the next answer, whose own room is a part of the
    window.
    """

    async def compact(self, messages: Sequence[Message], budget: int, past: Past) -> Sequence[Message]:
        """See `Compactor.compact`."""
        from mewcode.context.keep import last_todos  # most runs need none of this

        room = budget // 2
        sizes = _sizes(messages)
        summary = _summary(messages, sizes, room)
        room -= sum(sizes[: len(summary)])
        begin = _begin(messages, sizes, room)
        kept = tuple(messages[begin:])
        todos = last_todos(messages[:begin], message_tokens, room // 4)
        if sum(sizes[begin:]) > room:
            kept = _shortened(kept, sizes[begin:], room)
        ids = {message.id for message in (*summary, *todos, *kept)}
        count = sum(message.id not in ids for message in messages)
        return (*summary, _head(messages, count, past), *todos, *kept)


def _sizes(messages: Sequence[Message]) -> list[int]:
    """The tokens of each message; as many as the services have said, where that is more than the estimate."""
    sizes = list(map(message_tokens, messages))
    total = max(sum(sizes), 1)
    factor = max(1.0, context_tokens(messages) / total)
    return [round(size * factor) for size in sizes]


def _summary(messages: Sequence[Message], sizes: Sequence[int], room: int) -> tuple[Message, ...]:
    """What an earlier compaction left at the beginning, where there is room beside it: what it knows stands
    nowhere else in the conversation."""
    has_one = bool(messages) and messages[0].origin == "compaction" and sizes[0] * 4 <= room * 3
    return tuple(messages[:1]) if has_one else ()


def _begin(messages: Sequence[Message], sizes: Sequence[int], room: int) -> int:
    """The place of the oldest message of the user's from which on all fits; else that of the newest one."""
    begin, total = -1, 0
    for place in range(len(messages) - 1, -1, -1):
        total += sizes[place]
        if total > room and begin >= 0:
            break
        if messages[place].is_said:
            begin = place
            if total > room:
                break
    return max(begin, 0)


def _shortened(turn: tuple[Message, ...], sizes: Sequence[int], room: int) -> tuple[Message, ...]:
    """A turn that is too long in itself: its oldest results become a line each; if that is not enough, its
    oldest steps are left out."""
    total = sum(sizes)
    messages, left = list(turn), list(sizes)
    for place, message in enumerate(messages):
        if total <= room:
            return tuple(messages)
        if message.role == "tool":
            messages[place] = _one_line(message)
            total -= left[place]
            left[place] = min(left[place], message_tokens(messages[place]))
            total += left[place]
    steps = [place for place, message in enumerate(messages) if message.role == "assistant"]
    first = steps[0] if steps else 0
    end = first
    for step in steps[1:]:
        if total <= room:
            break
        total -= sum(left[end:step])
        end = step
    return (*messages[:first], *messages[end:])


def _one_line(message: Message) -> Message:
    content = tuple(
        msgspec.structs.replace(block, content=(Text("[this result is left out: it was too long]"),))
        if isinstance(block, ToolResult)
        else block
        for block in message.content
    )
    return msgspec.structs.replace(message, content=content)


def _head(messages: Sequence[Message], count: int, past: Past) -> Message:
    """What stands for the messages that are left out."""
    first = past.first_prompt if not past.is_whole else ""
    for message in messages:
        if not first and message.is_said:
            first = safe_line(message.text, _PROMPT_SHOWN)
    number = f"its {count} oldest messages" if past.is_whole else "its older messages"
    lines = [
        f"This conversation is longer than your window: {number} are left out here{_since(past)}. "
        f"All of it stands in {' and '.join(map(str, past.files))}, one JSON record a line: grep and "
        "read_file can read it."
    ]
    if first:
        lines.append(f"It began with the user's words: {first}")
    text = "\n".join(lines)
    return Message(_HEAD_ID, "user", (Text(f"<system-reminder>\n{text}\n</system-reminder>"),), "compaction")


def _since(past: Past) -> str:
    """When it began, as the session's id says it; empty where that is of another form."""
    day = past.files[-1].parent.name.partition("-")[0]
    return f" (it began on {day[:4]}-{day[4:6]}-{day[6:]})" if len(day) == 8 and day.isdecimal() else ""
