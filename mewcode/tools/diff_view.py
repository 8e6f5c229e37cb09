"""The view of a changed file, with nothing hidden from who approves it."""

from __future__ import annotations

import re

from mewcode.core.outcome import DiffView, TextView
from mewcode.tools.text_file import plain_newlines

# Above this, in characters before and after together, a diff is of no use to a person.
_SHOWN = 4 << 20

# What a terminal would obey, or what reorders or hides text: as in `infra.terminal_text`, which drops it.
# Here it is made visible instead, since a hidden character in a change is one to look at.
# Compiled at its first use: the start does not need it.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_REORDERING = "\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
_HIDDEN = f"[{_CONTROLS}{_REORDERING}]"


def visible(text: str) -> str:
    """The text with control characters as their pictures (␛) or their code point (<U+202E>)."""
    return re.sub(_HIDDEN, lambda match: _picture(ord(match.group())), text)


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"


def diff_view(path: str, before: str, after: str, *, created: bool = False) -> DiffView | TextView:
    """The change of ``path`` (as displayed); a note instead of a diff where the texts are very long."""
    if len(before) + len(after) > _SHOWN:
        return TextView(f"{path}: {len(before):,} characters become {len(after):,}")
    return DiffView(visible(path), visible(plain_newlines(before)), visible(plain_newlines(after)), created)
