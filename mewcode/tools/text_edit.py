"""Exact replacement within a text, whatever its line endings, leaving every other character as it is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from mewcode.core.errors import ToolError
from mewcode.tools.text_file import main_newline, plain_newlines

# Lines named in "stands more than once" and in what was done.
_LINES_NAMED = 10
# Aligning old and new lines of one edit costs their product; above this the first ending goes for all.
_ALIGNED_LINES = 2000


class Replacement(msgspec.Struct, frozen=True):
    """One edit: ``old`` becomes ``new``, everywhere with ``everywhere``."""

    old: str
    new: str
    everywhere: bool = False


class _Plain:
    """A text with its endings as ``\\n``, and the way back to the positions in the text as it is."""

    __slots__ = ("_double", "raw", "text")

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.text = plain_newlines(raw)
        # Positions in `text` of the line ends that take two characters in `raw`.
        self._double = list(_double_ends(raw)) if len(self.text) != len(raw) else []

    def raw_index(self, index: int) -> int:
        return index + bisect_left(self._double, index)


def _double_ends(raw: str) -> Iterator[int]:
    position = raw.find("\r\n")
    before = 0
    while position >= 0:
        yield position - before
        before += 1
        position = raw.find("\r\n", position + 2)


def replace_text(text: str, edit: Replacement) -> tuple[str, list[int]]:
    """The text after one edit, and the lines (from 1) where it took place.

    ``\\n`` in ``edit.old`` stands for whatever ending is there; lines of ``edit.new`` take the endings of the
    lines they replace. Raises `ToolError` where ``old`` is empty, the same as ``new``, not there, or there
    more than once without ``everywhere``.
    """
    if not edit.old:
        raise ToolError(
            "old_text is empty. To insert, repeat a line that is there; to fill a file, use write_file."
        )
    if edit.old == edit.new:
        raise ToolError("old_text and new_text are the same: there is nothing to change.")
    plain = _Plain(text)
    old = edit.old.replace("\r\n", "\n")
    exact = "\r\n" in edit.old and edit.old in text
    spans = _spans(text, edit.old, edit.everywhere) if exact else _spans(plain.text, old, edit.everywhere)
    if spans and not exact:
        spans = [(plain.raw_index(start), plain.raw_index(end)) for start, end in spans]
    elif not spans:  # a lone carriage return has no plain form beside other endings
        exact, spans = True, _spans(text, edit.old, edit.everywhere)
    if not spans:
        raise _not_found(plain.text, old)
    lines = _line_numbers(text, [start for start, _ in spans])
    if len(spans) > 1 and not edit.everywhere:
        raise ToolError(
            f"old_text is not unique, it stands at {_count(spans)} places: {_name_lines(lines)}. "
            "Add lines around it until it is unique, or set replace_all."
        )
    return _put(text, spans, edit.new, exact), lines


def _count(spans: list[tuple[int, int]]) -> str:
    return str(len(spans)) if len(spans) <= _LINES_NAMED else f"more than {_LINES_NAMED}"


def _put(text: str, spans: list[tuple[int, int]], new: str, exact: bool) -> str:
    default = main_newline(text)
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts.append(text[done:start])
        parts.append(new if exact else _with_endings(text, start, end, new, default))
        done = end
    parts.append(text[done:])
    result = "".join(parts)
    if result == text:
        raise ToolError(
            "new_text differs from old_text in line endings alone, and those are kept. "
            "Convert a file's line endings with a command."
        )
    return result


def _spans(text: str, old: str, everywhere: bool) -> list[tuple[int, int]]:
    """Where ``old`` stands. Without ``everywhere`` overlapping places count too, since either may be meant,
    and it is enough to know that there are many."""
    spans: list[tuple[int, int]] = []
    start = text.find(old)
    while start >= 0 and (everywhere or len(spans) <= _LINES_NAMED):
        spans.append((start, start + len(old)))
        start = text.find(old, start + (len(old) if everywhere else 1))
    return spans


def _with_endings(text: str, start: int, end: int, new: str, default: str) -> str:
    """``new`` with the line endings of what stands at ``start:end``."""
    new = new.replace("\r\n", "\n")
    if "\n" not in new or ("\r" not in text):
        return new
    old = text[start:end]
    endings = _endings(old, default)
    old_lines, new_lines = plain_newlines_of(old, default).split("\n"), new.split("\n")
    fallback = endings[0] if endings else _ending_near(text, start, default)
    chosen = _align(old_lines, new_lines, endings, fallback)
    return "".join(line + ending for line, ending in zip(new_lines, [*chosen, ""], strict=True))


def plain_newlines_of(part: str, default: str) -> str:
    """`plain_newlines` for a part of a text whose main ending is ``default``."""
    return part.replace("\r", "\n") if default == "\r" else part.replace("\r\n", "\n")


def _endings(part: str, default: str) -> list[str]:
    if default == "\r":
        return ["\r"] * part.count("\r")
    pieces = part.split("\n")[:-1]
    return ["\r\n" if piece.endswith("\r") else "\n" for piece in pieces]


def _ending_near(text: str, position: int, default: str) -> str:
    """The ending of the line that holds ``position``, else of the line before."""
    if default == "\r":
        return default
    at = text.find("\n", position)
    if at < 0:
        at = text.rfind("\n", 0, position)
    if at < 0:
        return default
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _align(old_lines: list[str], new_lines: list[str], endings: list[str], fallback: str) -> list[str]:
    """An ending for each new line but the last: that of the old line it is or replaces."""
    wanted = len(new_lines) - 1
    if len(endings) == wanted:
        return endings
    if len(set(endings)) <= 1 or len(old_lines) > _ALIGNED_LINES or len(new_lines) > _ALIGNED_LINES:
        return [fallback] * wanted
    import difflib  # only for edits that span mixed endings

    chosen: list[str] = []
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for _, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        for step in range(new_to - new_from):
            source = min(old_from + step, max(old_to - 1, 0), len(endings) - 1)
            chosen.append(endings[source])
    return chosen[:wanted]


def _line_numbers(text: str, positions: list[int]) -> list[int]:
    """The lines (from 1) of ascending positions."""
    newline = "\n" if "\n" in text else "\r"
    numbers: list[int] = []
    line, done = 1, 0
    for position in positions:
        line += text.count(newline, done, position)
        done = position
        numbers.append(line)
    return numbers


def _name_lines(lines: list[int]) -> str:
    unique = sorted(set(lines))
    named = ", ".join(map(str, unique[:_LINES_NAMED]))
    more = f" and {len(unique) - _LINES_NAMED} more" if len(unique) > _LINES_NAMED else ""
    return f"line{'s' if len(unique) > 1 else ''} {named}{more}"


def describe_lines(lines: list[int]) -> str:
    """Lines in words, for what was done: ``line 12``, ``lines 3, 9 and 4 more``."""
    return _name_lines(lines)


def _not_found(text: str, old: str) -> ToolError:
    from mewcode.tools.near_miss import explain_miss  # needs difflib; only on a mistake

    return ToolError(explain_miss(text, old))
