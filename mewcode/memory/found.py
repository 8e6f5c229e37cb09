"""What was done to notes by hand since the last writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from mewcode.infra.redact import redact
from mewcode.memory.entry import Entry
from mewcode.memory.files import read_file
from mewcode.memory.history import Step
from mewcode.memory.past import Past, identity_of

_MOST_WORDS = 20


if TYPE_CHECKING:
    from mewcode.memory.writing import Held


def hand_steps(
    held: Held, past: Past, files: Sequence[str], known: Mapping[str, Entry], *, is_new: bool
) -> tuple[Step, ...]:
    """A step for each of ``files`` that holds what no change left there, and for each that is gone without
    one. ``known``: what the cache says; where that ``is_new`` the history alone counts."""
    steps: list[Step] = []
    for file in files:
        entry = held.entries[file]
        if past.is_known(file, entry.digest):
            continue
        before = past.text_of(file)
        read = read_file(held.folder, file, held.level)
        if read is None or not read.is_text or (read_text := redact(read.text)) == before:
            continue  # gone again, nothing to keep, or what differs is a secret that the history leaves out
        steps.append(Step(file, before, read_text, by_hand=bool(past.last)))
    should_be = {file for file, step in past.last.items() if step.after is not None}
    if not is_new:
        should_be |= known.keys()
    for file in sorted(file for file in should_be if not held.is_there(file)):
        before = past.text_of(file)
        if before is None:
            continue  # deleted by a change that the cache did not know yet, or never a text
        moved = _moved_to(steps, before, file, held)
        steps.append(Step(file, before, None, moved=moved))
        for place, step in enumerate(steps):
            if step.file == moved and step.after == before:
                # The file has another name, and says what it said.
                is_theirs = file in past.by_hand
                steps[place] = msgspec.structs.replace(step, by_hand=is_theirs)
    return tuple(steps)


def hand_words(steps: Sequence[Step]) -> tuple[str, ...]:
    """What was done, a phrase for each of the first files."""
    targets = {step.moved for step in steps}
    words = []
    for step in steps:
        if step.moved:
            words.append(f"renamed {step.file} to {step.moved}")
        elif step.file not in targets:
            what = "added" if step.before is None else "deleted" if step.after is None else "edited"
            words.append(f"{what} {step.file}")
    return tuple(words[:_MOST_WORDS])


def _moved_to(steps: Sequence[Step], text: str, file: str, held: Held) -> str:
    """The new file that is the same note, renamed by hand; "" where there is none."""
    identity = identity_of(text, file, held.level)
    for step in steps:
        if step.before is None and step.after is not None:
            entry = held.entries[step.file]
            if step.after == text or entry.identity == identity:
                return step.file
    return ""
