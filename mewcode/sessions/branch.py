"""The tree of a session's messages, and the ways back from its head. Pure.

A node's parent always stands before it, so each way ends.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mewcode.core.message import Message

START = -1
"""The parent of what begins a conversation."""
UNREAD = -2
"""A parent in the part of the file that was not read."""


class Node(msgspec.Struct, gc=False):
    """A message's record, or the marker of a compaction. ``parent``: the place of its parent among the nodes,
    START or UNREAD. ``of``: for a copy the place of what it is a copy of, START where that is not known; None
    for all else. ``is_taken``: a copy or a summary, which a compaction writes behind its marker;
    ``ends_taken``: the last of all that one wrote. ``offset``, ``size``: where it stands. ``model``: what an
    assistant's record without one inherits. ``turn``: a user's message's number, a marker's that of the last
    turn before it; 0 where that is not known. ``message``: None where it was not decoded yet."""

    id: str
    parent: int
    offset: int
    size: int
    of: int | None = None
    is_taken: bool = False
    ends_taken: bool = False
    is_marker: bool = False
    model: str = ""
    turn: int = 0
    message: Message | None = None


def conversation(nodes: Sequence[Node], head: int) -> tuple[list[int], int]:
    """The messages from the head back to the last marker or the start, newest first, and what stands before
    them: a marker's place, START or UNREAD."""
    way: list[int] = []
    place = head
    while place >= 0 and not nodes[place].is_marker:
        way.append(place)
        place = nodes[place].parent
    return way, place


def history(nodes: Sequence[Node], head: int) -> list[int]:
    """The messages from the head back to the start, newest first, across markers.

    Copies are left out. What they are copies of stands before the marker. Where a rewind led to one that is
    not the last of its compaction, the way goes on there, at that of the newest copy; else at the marker's
    own parent: a compaction may keep old words alone, and all that it stands for belongs to the history.
    """
    way: list[int] = []
    origin = START  # of the newest copy since the last marker
    is_whole = False  # whether all that followed that marker is on the way
    place = head
    while place >= 0:
        node = nodes[place]
        if node.is_marker:
            place = origin if START < origin < place and not is_whole else node.parent
            origin, is_whole = START, False
            continue
        is_whole = is_whole or node.ends_taken
        if node.of is None:
            way.append(place)
        elif origin == START:
            origin = node.of
        place = node.parent
    return way
