"""A conversation in the groups in which both protocols send it, each encoded once.

Every request repeats what the one before it said and adds a little. Messages are values that never change, so
what was encoded for one request serves the next: the cost of a step is that of what is new, plus the copying
of the body.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import is_

import msgspec

from mewcode.core.codec import encode_json
from mewcode.core.message import Message, Text, Thinking, ToolResult


def is_blank(text: str) -> bool:
    """Whether there is nothing to see; looks no further than to the first letter."""
    return not text or text.isspace()


# Values make no cycles, and of these there are thousands: the collector need not look at them.
class Group(msgspec.Struct, frozen=True, gc=False):
    """Neighbouring messages of one side. ``calls``: the ids of the calls that the answer before them made, in
    whose order results are sent; the model's own groups have none. ``end``: how many messages of the
    conversation there are up to its end."""

    is_model: bool
    messages: tuple[Message, ...]
    calls: tuple[str, ...]
    end: int

    def results(self) -> list[ToolResult]:
        """The tool results in the order of their calls; those that answer none come last."""
        found = [
            block for message in self.messages for block in message.content if isinstance(block, ToolResult)
        ]
        order = {call_id: place for place, call_id in enumerate(self.calls)}
        found.sort(key=lambda result: order.get(result.call_id, len(order)))
        return found


def groups_of(
    messages: Sequence[Message], start: int = 0, before: tuple[Message, ...] = ()
) -> Iterator[Group]:
    """The groups from place ``start`` on, where one begins; ``before`` are the messages of the one before.

    Messages that say nothing are left out. Of the model's those are steps that broke off while it was
    thinking, which no provider takes back.
    """
    members: list[Message] = []
    is_model = False
    for place in range(start, len(messages)):
        message = messages[place]
        if not _says_something(message):
            continue
        if members and (message.role == "assistant") != is_model:
            yield _group(is_model, members, before, place)
            before, members = tuple(members), []
        is_model = message.role == "assistant"
        members.append(message)
    if members:
        yield _group(is_model, members, before, len(messages))


def _says_something(message: Message) -> bool:
    for block in message.content:
        if not (is_blank(block.text) if isinstance(block, Text) else isinstance(block, Thinking)):
            return True
    return False


def _group(is_model: bool, members: list[Message], before: tuple[Message, ...], end: int) -> Group:
    calls = () if is_model or not before else before[-1].tool_calls
    return Group(is_model, tuple(members), tuple([call.id for call in calls]), end)


class EncodedHistory:
    """Remembers one conversation's groups as they were encoded, and nothing that is no longer in it."""

    def __init__(self) -> None:
        self._about: Hashable = None
        self._messages: tuple[Message, ...] = ()
        self._groups: list[Group] = []
        self._encoded: list[bytes] = []

    def encode(
        self, messages: tuple[Message, ...], about: Hashable, encode: Callable[[Group], bytes]
    ) -> list[bytes]:
        """What ``encode`` makes of each group, in order.

        It is asked only for groups with a message that was not there the last time; a message counts as the
        same where it is the very same object. ``about`` is all else that the encoding depends on.
        """
        groups, encoded, old = self._kept(messages, about)
        start, before = (groups[-1].end, groups[-1].messages) if groups else (0, ())
        for group in groups_of(messages, start, before):
            if old is not None and _same(old[0], group):
                encoded.append(old[1])
            else:
                encoded.append(encode(group))
            groups.append(group)
            old = None
        # A lone question (a side call) does not displace a conversation.
        if len(groups) > 1 or len(self._groups) <= 1:
            self._about, self._messages = about, messages
            self._groups, self._encoded = groups, encoded
        return encoded.copy()

    def _kept(
        self, messages: tuple[Message, ...], about: Hashable
    ) -> tuple[list[Group], list[bytes], tuple[Group, bytes] | None]:
        """The groups that are as they were, and the one after them, which may have grown."""
        if about != self._about:
            return [], [], None
        known = len(self._messages)
        if known > len(messages) or not all(map(is_, self._messages, messages)):
            same = list(map(is_, self._messages, messages))
            known = same.index(False) if False in same else len(same)
        # A group is as it was only where the message that follows it, and so ends it, is the same as well.
        count = bisect_left(self._groups, known, key=lambda group: group.end)
        after = (self._groups[count], self._encoded[count]) if count < len(self._groups) else None
        return self._groups[:count], self._encoded[:count], after


def _same(one: Group, other: Group) -> bool:
    return len(one.messages) == len(other.messages) and all(map(is_, one.messages, other.messages))


def encode_body(body: Mapping[str, object], messages: Sequence[bytes]) -> bytes:
    """A request's body as JSON, with ``messages``, encoded already, in the place of its own."""
    pieces: list[bytes] = []
    for key, value in body.items():
        pieces += (b",", encode_json(key), b":")
        if key == "messages":
            # Not joined by themselves: there may be many megabytes to copy, and once is enough.
            listed = [b","] * (2 * len(messages))
            listed[1::2] = messages
            listed[:1] = (b"[",)
            pieces += listed
            pieces.append(b"]")
        else:
            pieces.append(encode_json(value))
    pieces[:1] = (b"{",)
    pieces.append(b"}")
    return b"".join(pieces)
