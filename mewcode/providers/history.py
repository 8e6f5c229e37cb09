"""A conversation in the groups in which both protocols send it, each encoded once.

Every request repeats what the one before it said and adds a little. Messages are values that never change, so
what was encoded for one request serves the next: the cost of a step is that of what is new, plus the copying
of the body.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import takewhile
from operator import is_

import msgspec

from mewcode.core.codec import encode_json
from mewcode.core.message import Message, MessagesSoFar, Text, Thinking, ToolResult

_MANY = 64
"""Groups: to join so many takes less time than to send them one request later."""
_UNSETTLED = 2
"""Groups at the end that are not joined to others: the last may grow, and both may be marked."""


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


# Out of the collector's sight like the groups.
class _Piece(msgspec.Struct, frozen=True, gc=False):
    """Groups as they were encoded, joined. ``end``: how many groups of the conversation there are up to its
    last one."""

    end: int
    text: bytes


class EncodedHistory:
    """Remembers one conversation's groups as they were encoded, and nothing that is no longer in it.

    What was encoded long ago is held joined, in few pieces, so that a body is put together out of few however
    long the conversation is. The last two groups are never among them: the last one may grow.
    """

    def __init__(self) -> None:
        self._about: Hashable = None
        self._messages: Sequence[Message] = ()
        self._groups: list[Group] = []
        self._pieces: list[_Piece] = []
        self._encoded: list[bytes] = []  # of the groups behind the pieces

    def encode(
        self, messages: Sequence[Message], about: Hashable, encode: Callable[[Group], bytes]
    ) -> list[bytes]:
        """What ``encode`` makes of the groups, in order; each of the last two stands alone, of those before
        them some may be joined by commas.

        It is asked only for groups with a message that was not there the last time; where messages among
        those joined have changed, also for the groups joined with them. A message counts as the same where
        it is the very same object. ``about`` is all else that the encoding depends on.
        """
        if len(messages) == 1 and len(self._groups) > 1:
            # A lone question (a side call) does not displace a conversation.
            return [encode(group) for group in groups_of(messages)]
        if about != self._about:
            self._messages, self._groups, self._pieces, self._encoded = (), [], [], []
        old = self._cut(self._known(messages), encode)
        self._messages = ()  # until the groups are those of the new ones: what encodes them may raise
        start, before = (self._groups[-1].end, self._groups[-1].messages) if self._groups else (0, ())
        for group in groups_of(messages, start, before):
            self._encoded.append(old[1] if old is not None and _same(old[0], group) else encode(group))
            self._groups.append(group)
            old = None
        self._about, self._messages = about, messages
        self._join()
        return [*(piece.text for piece in self._pieces), *self._encoded]

    def _known(self, messages: Sequence[Message]) -> int:
        """How many messages are as they were."""
        if isinstance(messages, MessagesSoFar) and messages.goes_on(self._messages):
            return len(self._messages)
        return sum(takewhile(bool, map(is_, self._messages, messages)))

    def _cut(self, known: int, encode: Callable[[Group], bytes]) -> tuple[Group, bytes] | None:
        """Leaves the groups that are as they were. Gives the one after them, which may only have grown, where
        it stands alone."""
        # A group is as it was only where the message that follows it, and so ends it, is the same as well.
        count = bisect_left(self._groups, known, key=lambda group: group.end)
        kept = [piece for piece in self._pieces if piece.end <= count]
        begin = kept[-1].end if kept else 0
        after = None
        if len(kept) < len(self._pieces):
            encoded = [encode(group) for group in self._groups[begin:count]]
        else:
            encoded = self._encoded[: count - begin]
            if count < len(self._groups):
                after = self._groups[count], self._encoded[count - begin]
        self._pieces, self._encoded = kept, encoded
        del self._groups[count:]
        return after

    def _join(self) -> None:
        """Makes a piece of the groups that will hardly change any more, once they are many. It takes in those
        before it that are not twice as large: so there are few, and nothing is copied often."""
        settled = len(self._encoded) - _UNSETTLED
        if settled < _MANY:
            return
        end = len(self._groups) - _UNSETTLED
        text = b",".join(self._encoded[:settled])
        del self._encoded[:settled]
        while self._pieces and len(self._pieces[-1].text) < 2 * len(text):
            text = b",".join((self._pieces.pop().text, text))
        self._pieces.append(_Piece(end, text))


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
