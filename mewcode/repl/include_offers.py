"""Includes from beyond their boundary that wait for the user's word."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mewcode.infra.terminal_text import safe_line
from mewcode.instructions.expand import content_digest
from mewcode.instructions.instruction_file import InstructionFile, Unreadable, read_instruction_file
from mewcode.instructions.load import Instructions

_PATH = 60
"""Characters of a path in a notice."""


class Offer(msgspec.Struct, frozen=True):
    """``words``: which file asks for it, and how. ``file``: what would be included."""

    words: str
    file: InstructionFile

    @property
    def digest(self) -> str:
        return content_digest(self.file)


def offers_of(loaded: Instructions) -> Sequence[Offer]:
    """Each file once, in the order of the text; what cannot be read is no offer. Reads files: for a
    thread."""
    offers: dict[object, Offer] = {}
    for node, include in loaded.outside():
        path = include.outside
        if path is None or path in offers:
            continue
        try:
            file = read_instruction_file(path)
        except Unreadable:  # the report names it
            continue
        asks, written = safe_line(node.shown, _PATH), safe_line(include.written, _PATH)
        place = "~/.mewcode" if node.level == "user" else "the project"
        offers[path] = Offer(f"{asks} includes {written} from outside {place}", file)
    return tuple(offers.values())


def notice_of(loaded: Instructions) -> tuple[str, str]:
    """What the start of a session says, and what to do; empty where nothing waits. Reads files: for a
    thread."""
    offers = offers_of(loaded)
    if not offers:
        return "", ""
    what = "it" if len(offers) == 1 else f"it, and {len(offers) - 1:,} more"
    return offers[0].words, f"/instructions lets you approve {what}"
