"""Finds what is wanted of a long file from its end: the last marker, the newest messages."""

from __future__ import annotations

import msgspec

from mewcode.core.message import Message
from mewcode.core.tokens import message_tokens
from mewcode.sessions.pruned import pruned_message
from mewcode.sessions.reading import Reading
from mewcode.sessions.record_files import RecordFiles

WINDOW = 4_000_000
"""Bytes of the end of a file that are read at first where only the newest messages are wanted."""
WINDOW_OF_TOKEN = 8
"""Bytes that are read at first for each wanted token: text takes 4, and its records as much again at most."""
EVIDENT = 6
"""Bytes of records that no token takes on average, where they hold no pictures: text takes 4, Chinese 3."""
TOO_LARGE = 32_000_000
"""Bytes of a record that no service takes in a request."""
_FAR = 2
"""So many times the wanted tokens are read in search of the user's message at which to begin."""
_LITTLE = 4
"""Less than this part of the wanted tokens is too little to go on with, if there is more."""


class Newest(msgspec.Struct, frozen=True):
    """``messages``: oldest first. ``first``: the place of the oldest one's node, None where there are none.
    ``is_cut``: there were enough of them; else these are all."""

    messages: tuple[Message, ...]
    first: int | None
    is_cut: bool


def find_marker(files: RecordFiles, *, down_to: int = 0) -> int | None:
    """Where the last marker of a compaction stands, from the end back to ``down_to``."""
    for place, _ in files.search_back(b'{"type":"compact"', files.end, down_to):
        if files.control_at(place).get("type") == "compact":
            return place
    return None


def newest(reading: Reading, way: list[int], tokens: int) -> Newest:
    """The newest messages of a conversation, ``way`` being its places, newest first.

    At least ``tokens`` by `message_tokens`, and more back to the user's message that began the turn. A turn
    that is too long for that is cut behind its beginning: at a later place where the user spoke, or where
    little stands behind that, at an answer; never between a call and its result.
    """
    tokens = max(tokens, 1)
    taken: list[tuple[int, Message]] = []
    total = 0
    # so many messages and tokens stand behind such a cut
    spoken = answered = spoken_total = answered_total = 0
    for place in way:
        message = reading.message(place)
        if message is None:
            continue
        message = pruned_message(message, reading.replaced)
        taken.append((place, message))
        total += message_tokens(message)
        if message.is_said:
            spoken, spoken_total = len(taken), total
            if total >= tokens:
                return _cut(taken, spoken)
        elif message.role == "assistant":
            answered, answered_total = len(taken), total
        if total >= _FAR * tokens:
            for cut, behind in ((spoken, spoken_total), (answered, answered_total)):
                if behind * _LITTLE >= tokens:
                    return _cut(taken, cut)
    return msgspec.structs.replace(_cut(taken, len(taken)), is_cut=False)


def _cut(taken: list[tuple[int, Message]], count: int) -> Newest:
    kept = taken[:count]
    messages = tuple(message for _, message in reversed(kept))
    return Newest(messages, kept[-1][0] if kept else None, True)
