"""What came of a tidy: carried out as one change, counted, and shown as a diff."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from mewcode.infra.terminal_text import visible_text
from mewcode.memory.changes import UNDONE
from mewcode.memory.history import Change
from mewcode.memory.note import Level
from mewcode.memory.store import NoteStore
from mewcode.memory.tidy.plan import Planned

MOST_LINES = 2_000
"""Lines of a diff that are shown."""
_MOST_DIFFED = 64_000
"""Characters of a text that is compared line by line."""
_WORDS = {
    "merged": "merged",
    "closed": "closed",
    "shortened": "shortened",
    "repaired": "repaired",
    "aliases": "easier to find",
    "archived": "archived",
    "proposed": "to approve",
}


class TidyReport(msgspec.Struct, frozen=True):
    """``change``: the id to undo, "" where nothing was changed. ``counts``: how many notes were merged,
    closed and so on. ``meanwhile``: changes that were left out because a note was changed meanwhile.
    ``diff``: what was changed, safe to show. ``problems``: what the model proposed and nothing came of, for
    the user. ``reason``: why there was nothing to do, or not all was done; "" where there is none."""

    change: str = ""
    counts: dict[str, int] = {}
    meanwhile: int = 0
    diff: str = ""
    problems: tuple[str, ...] = ()
    reason: str = ""

    @property
    def notice(self) -> str:
        """``tidied notes: 3 merged, 2 closed · /memory undo``; "" where nothing was changed."""
        if not self.change:
            return ""
        said = [f"{self.counts[name]} {words}" for name, words in _WORDS.items() if self.counts.get(name)]
        return f"tidied notes: {', '.join(said)} · /memory undo"


def carried_out(
    store: NoteStore, planned: Sequence[Planned], problems: Sequence[str] = (), reason: str = ""
) -> TidyReport:
    """Does it, as one change. What was changed meanwhile wins. Raises NoteError, with nothing changed."""
    applied = store.apply([item.request for item in planned], by="tidy", reason="tidied up")
    counts: Counter[str] = Counter()
    meanwhile = 0
    refused = list(problems)
    for item, outcome in zip(planned, applied.outcomes, strict=True):
        if outcome.kind not in UNDONE:
            counts.update(item.does)
        elif outcome.kind in ("stale", "missing"):
            meanwhile += 1
        elif outcome.kind != "unchanged":
            refused.append(f"{outcome.name or outcome.file}: {outcome.reason or outcome.kind}")
    diff = diff_text(changes_of(store, applied.id)) if applied.id else ""
    return TidyReport(applied.id, dict(counts), meanwhile, diff, tuple(refused), reason)


def changes_of(store: NoteStore, change_id: str) -> list[tuple[Level, Change]]:
    """The change of that id in each level. Raises NoteError."""
    return [
        (level, change)
        for level, shelf in store.levels.items()
        for change in shelf.changes()
        if change.id == change_id
    ]


def diff_text(changes: Sequence[tuple[Level, Change]]) -> str:
    """What was changed, note by note, as a unified diff; hidden characters are spelt out."""
    lines: list[str] = []
    for line in _lines(changes):
        if len(lines) == MOST_LINES:
            lines.append("(and more)")
            break
        lines.append(visible_text(line))
    return "\n".join(lines)


def _lines(changes: Sequence[tuple[Level, Change]]) -> Iterator[str]:
    for level, change in changes:
        moved = {step.moved: step.before for step in change.steps if step.moved}
        for step in change.steps:
            if step.moved:
                yield f"{level}/{step.file} -> {level}/{step.moved}"
            elif step.file not in moved or step.after != moved[step.file]:
                yield from _diff(f"{level}/{step.file}", step.before or "", step.after or "")


def _diff(name: str, before: str, after: str) -> Iterator[str]:
    if len(before) + len(after) > _MOST_DIFFED:
        yield f"{name}: {len(before):,} characters become {len(after):,}"
        return
    # Only at newlines: a note may hold U+2028.
    yield from difflib.unified_diff(
        before.split("\n"), after.split("\n"), f"a/{name}", f"b/{name}", lineterm="", n=2
    )
