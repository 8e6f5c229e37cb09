"""What stays word for word beside a summary: the last messages, the user's own words, the tasks. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from mewcode.context.shorten import shortened
from mewcode.context.thresholds import Room
from mewcode.core.message import Message

TAIL_MESSAGES = 5
"""The last messages that stay, as far as there is room for them."""
_TODO = "todo"
_LEAST_RESULT = 150
"""Tokens that a result keeps, where the tail has to be made shorter."""
_LEAST_WORDS = 100
_FEW_WORDS = 200
"""Tokens that are little for a message of the user's."""

Sizer = Callable[[Message], int]


class Kept(msgspec.Struct, frozen=True):
    """In the order in which they follow a summary: the last call of the `todo` tool with its result
    (``todos``), the user's ``words``, and the ``tail``. ``summarized``: the messages that the summary has to
    stand for, words included."""

    todos: tuple[Message, ...]
    words: tuple[Message, ...]
    tail: tuple[Message, ...]
    summarized: tuple[Message, ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        return (*self.todos, *self.words, *self.tail)


def keep(messages: Sequence[Message], size: Sizer, room: Room) -> Kept:
    """What stays of the messages, within ``room.tail`` and ``room.words`` together.

    The tail are the last messages: as many as have room, and at least five where shorter results make that
    possible. It begins with a user's or an assistant's message, so that no call is parted from its result.
    Where the user's last message is longer than that, it alone is the tail, and takes of the room for words.
    Of the user's words before the tail the first and the newest stay, those that are too long shortened.

    Reports of usage are taken off: they were of a longer conversation.
    """
    begin, tail = _said_last(messages, size, room) or _tail(messages, size, room.tail)
    left = room.tail + room.words - max(room.tail, sum(map(size, tail)))
    todos = last_todos(messages[:begin], size, left // 2)
    is_awaited = not any(message.is_said for message in tail)
    words = _words(messages[:begin], size, left - sum(map(size, todos)), is_awaited=is_awaited)
    return Kept(todos, words, tuple(map(_without_usage, tail)), tuple(messages[:begin]))


def _without_usage(message: Message) -> Message:
    return message if message.usage is None else msgspec.structs.replace(message, usage=None)


def _said_last(
    messages: Sequence[Message], size: Sizer, room: Room
) -> tuple[int, tuple[Message, ...]] | None:
    """Where the user just said more than the tail has room for, that alone is the tail, whole if possible."""
    begin = len(messages)
    while begin and messages[begin - 1].role == "user" and messages[begin - 1].origin != "compaction":
        begin -= 1
    said = messages[begin:]
    if sum(map(size, said)) <= room.tail or not any(message.is_said for message in said):
        return None
    fitted = _fitted(said, size, room.tail + room.words)
    return (begin, fitted) if fitted is not None else None


def _tail(messages: Sequence[Message], size: Sizer, room: int) -> tuple[int, tuple[Message, ...]]:
    """The place where it begins, and its messages."""
    begin, total = len(messages), 0
    cuts: list[int] = []  # where a tail that has five messages or less may begin, the longest last
    for place in range(len(messages) - 1, -1, -1):
        total += size(messages[place])
        if messages[place].role == "tool":
            continue
        if total <= room:
            begin = place
        if not cuts or len(messages) - cuts[-1] < TAIL_MESSAGES:
            cuts.append(place)
        elif total > room:
            break
    if len(messages) - begin >= min(TAIL_MESSAGES, len(messages)):
        return begin, tuple(messages[begin:])
    for place in reversed(cuts):
        if place >= begin:
            break
        if (cut := _fitted(messages[place:], size, room)) is not None:
            return place, cut
    return begin, tuple(messages[begin:])


def _fitted(messages: Sequence[Message], size: Sizer, room: int) -> tuple[Message, ...] | None:
    """The messages with the longest results and words cut to one length at which all fit; None where that
    would leave too little of them."""
    sizes = list(map(size, messages))
    may_be_cut = [
        tokens for message, tokens in zip(messages, sizes, strict=True) if message.role != "assistant"
    ]
    level = _level(may_be_cut, room - (sum(sizes) - sum(may_be_cut)))
    if level < _LEAST_RESULT:
        return None
    cut: list[Message] = []
    for message, tokens in zip(messages, sizes, strict=True):
        short = message if message.role == "assistant" or tokens <= level else shortened(message, size, level)
        if short is None:
            return None
        cut.append(short)
    return tuple(cut)


def _level(sizes: Sequence[int], room: int) -> int:
    """The largest size to which all may be cut so that they fit."""
    left, waiting = room, len(sizes)
    for tokens in sorted(sizes):
        if tokens * waiting > left:
            return left // waiting
        left, waiting = left - tokens, waiting - 1
    return max(sizes, default=room)


def _words(messages: Sequence[Message], size: Sizer, room: int, *, is_awaited: bool) -> tuple[Message, ...]:
    """The first of the user's messages and the newest ones, each of at most a quarter of the room. Where that
    is little, half of it is for the newest one, if that is what is worked on (``is_awaited``)."""
    prompts = [message for message in messages if message.is_said]
    if not prompts:
        return ()
    most, left = room // 4, room
    awaited = max(most, min(room // 2, _FEW_WORDS)) if is_awaited else most
    newest: list[Message] = []
    first = shortened(prompts[0], size, most if prompts[1:] else awaited)
    left -= size(first) if first is not None else 0
    for message in reversed(prompts[1:]):
        if left < _LEAST_WORDS and (newest or not is_awaited):
            break
        share = min(most if newest else awaited, left)
        if (short := shortened(message, size, share)) is not None:
            newest.append(short)
            left -= size(short)
    return (*((first,) if first is not None else ()), *reversed(newest))


def last_todos(messages: Sequence[Message], size: Sizer, room: int) -> tuple[Message, ...]:
    """The last call of `todo` that succeeded, alone in its message, and its result; nothing where those have
    no room."""
    succeeded: dict[str, Message] = {}
    for message in reversed(messages):
        for result in message.tool_results:
            if not result.is_error:
                succeeded[result.call_id] = message
        for call in reversed(message.tool_calls):
            if call.name == _TODO and call.id in succeeded:
                alone = msgspec.structs.replace(message, content=(call,), usage=None)
                pair = (alone, succeeded[call.id])
                return pair if sum(map(size, pair)) <= room else ()
    return ()
