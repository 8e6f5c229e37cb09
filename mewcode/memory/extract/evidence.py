"""Whose word a proposal is, by the messages that it rests on. What the model says of it does not count: a
page could make it say so."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from mewcode.memory.extract.own_words import typed_lines
from mewcode.memory.extract.records import Record
from mewcode.memory.extract.reply import Proposal
from mewcode.memory.extract.triggers import asks_to_note
from mewcode.memory.note import Origin

_COPIED = 36
"""Bytes of letters and digits in a row that are no chance: about seven words, or twelve Chinese signs."""
_WEAKEST_FIRST: tuple[Origin, ...] = ("web", "tool", "agent", "user")


class Evidence(msgspec.Struct, frozen=True):
    """``records``: those that were named and are there. ``is_asked_for``: in one of them the user asks to
    keep something."""

    origin: Origin
    records: tuple[Record, ...]
    is_asked_for: bool = False


def evidence_of(proposals: Sequence[Proposal], records: Sequence[Record]) -> list[Evidence]:
    """For each proposal the weakest origin among the records that it names. Where it names none, the weakest
    there is, but never the user: nobody is quoted. Where its text is word for word what a tool or a page
    said, and not what the user wrote, that counts too; what the user only pasted is not their own word."""
    by_label = {record.label: record for record in records}
    copied = _copied(proposals, records)
    asking = {record.label for record in records if record.origin == "user" and asks_to_note(record.text)}
    found: list[Evidence] = []
    for place, proposal in enumerate(proposals):
        named = tuple(by_label[label] for label in proposal.rests_on if label in by_label)
        origins: set[Origin] = {record.origin for record in named or records} | copied[place]
        if len(named) < max(1, len(proposal.rests_on)):
            origins.add("agent")
        origin = next(origin for origin in _WEAKEST_FIRST if origin in origins)
        found.append(Evidence(origin, named, any(record.label in asking for record in named)))
    return found


def _copied(proposals: Sequence[Proposal], records: Sequence[Record]) -> list[set[Origin]]:
    """For each proposal the origins of others' words that stand in it."""
    wanted: dict[bytes, set[int]] = {}
    for place, proposal in enumerate(proposals):
        for text in (proposal.name, proposal.description, proposal.body):
            for run in _runs(text):
                wanted.setdefault(run, set()).add(place)
    typed: list[str] = []
    foreign: list[tuple[Origin, str]] = []
    for record in records:
        if record.origin in ("tool", "web"):
            foreign.append((record.origin, record.text))
        elif record.origin == "user":
            # What they paste they do not say; but they may ask to keep it.
            is_theirs = asks_to_note(record.text)
            typed.append(record.text if is_theirs else typed_lines(record.text))
            foreign += [] if is_theirs else [("agent", record.text)]
    own = {run for text in typed for run in _runs(text) if run in wanted}
    found: list[set[Origin]] = [set() for _ in proposals]
    for origin, text in foreign:
        for run in _runs(text):
            if run in wanted and run not in own:
                for place in wanted[run]:
                    found[place].add(origin)
    return found


def _runs(text: str) -> list[bytes]:
    """All runs of so many bytes of the text's letters and digits; without those of paths, which everybody
    writes alike."""
    words = re.sub("[!-~]+", lambda word: "" if "/" in word[0] else word[0], text.casefold())
    data = re.sub(r"[\W_]+", "", words).encode("utf-8", "replace")
    return [data[place : place + _COPIED] for place in range(len(data) - _COPIED + 1)]
