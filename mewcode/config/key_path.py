"""The path of a key: ``("permissions", "allow", "0")`` is the first rule that is allowed."""

from __future__ import annotations

KeyPath = tuple[str, ...]


def dotted(path: KeyPath) -> str:
    """The path as messages name it, on one line of at most 120 characters, safe to show."""
    text = ".".join(path)
    if len(text) <= 120 and text.isprintable():
        return text
    from mewcode.core.codec import clean_text
    from mewcode.infra.terminal_text import safe_line

    return safe_line(clean_text(text), 120)
