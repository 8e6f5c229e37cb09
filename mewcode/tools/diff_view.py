"""The view of a changed file, with nothing hidden from who approves it."""

from __future__ import annotations

from mewcode.core.outcome import DiffView, TextView
from mewcode.infra.terminal_text import visible_text
from mewcode.tools.text_file import plain_newlines

# Above this, in characters before and after together, a diff is of no use to a person.
_SHOWN = 4 << 20


def diff_view(path: str, before: str, after: str, *, created: bool = False) -> DiffView | TextView:
    """The change of ``path`` (as displayed), its hidden characters spelt out: in a change they are what to
    look at. A note instead of a diff where the texts are very long."""
    if len(before) + len(after) > _SHOWN:
        return TextView(f"{path}: {len(before):,} characters become {len(after):,}")
    return DiffView(
        visible_text(path),
        visible_text(plain_newlines(before)),
        visible_text(plain_newlines(after)),
        created,
    )
