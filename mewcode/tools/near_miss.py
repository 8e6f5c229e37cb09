"""Why a text was not found in a file, in words that help to find it: the nearest lines and what differs.

A near miss is never applied: what looks alike (a tab, a curly quote, a composed accent) may be meant.
"""

from __future__ import annotations

import difflib
import re
import unicodedata

# A file above this, in characters, is not searched for similar lines.
_SEARCHED = 1 << 20
_CANDIDATES = 3
_SHOWN_WIDTH = 200
_SIMILAR = 0.6
# Lines that are compared letter by letter, the nearest in length first.
_COMPARED_LINES = 3000

_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
# Typographic forms that models and editors exchange for ASCII.
_TYPOGRAPHY = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"',
    "\u00bb": '"', "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
    "\u00a0": " ", "\u2026": "...", "\u200b": "", "\ufeff": "",
})  # fmt: skip


def explain_miss(text: str, old: str) -> str:
    """The message for ``old`` not found in ``text`` (both with ``\\n``)."""
    head = "old_text was not found in the file."
    stripped = _without_numbers(old)
    if stripped is not None:
        found = "Without them it is there." if stripped in text else "Without them it is not there either."
        return (
            f"{head} It holds the line numbers that read_file shows, which are no part of the file. {found}"
        )
    if len(text) > _SEARCHED:
        return f"{head} Find the exact text with grep and read it again."
    candidates = _nearest(text.split("\n"), old.strip("\n").split("\n"))
    if not candidates:
        return f"{head} Nothing similar is there either; read the file again."
    return head + " Nearest:" + "".join(f"\n- {candidate}" for candidate in candidates)


def _without_numbers(old: str) -> str | None:
    lines = [line for line in old.split("\n") if line.strip()]
    if lines and all(_NUMBERED.match(line) for line in lines):
        return _NUMBERED.sub("", old)
    return None


def _squeezed(line: str) -> str:
    return "".join(line.split())


def _unicode_plain(line: str) -> str:
    return _squeezed(unicodedata.normalize("NFKC", line.translate(_TYPOGRAPHY)))


def _nearest(lines: list[str], wanted: list[str]) -> list[str]:
    for simplify, what in (
        (_squeezed, "differs in white space only"),
        (_unicode_plain, "differs in the form of characters"),
    ):
        starts = _windows([simplify(line) for line in lines], [simplify(line) for line in wanted])
        if starts:
            return [_describe(lines, wanted, start, what) for start in starts]
    return [_describe(lines, wanted, start, "differs") for start in _similar(lines, wanted)]


def _windows(lines: list[str], wanted: list[str]) -> list[int]:
    """Where ``wanted`` stands as whole lines; for a single line also within one."""
    if not any(wanted):
        return []
    if len(wanted) == 1:
        starts = [index for index, line in enumerate(lines) if wanted[0] in line]
    else:
        starts = [
            index
            for index, line in enumerate(lines)
            if line.endswith(wanted[0]) and _goes_on(lines, wanted, index)
        ]
    return starts[:_CANDIDATES]


def _goes_on(lines: list[str], wanted: list[str], index: int) -> bool:
    """Whether the lines after ``index`` are the wanted ones; the last may go on."""
    last = index + len(wanted) - 1
    return (
        last < len(lines) and lines[index + 1 : last] == wanted[1:-1] and lines[last].startswith(wanted[-1])
    )


def _similar(lines: list[str], wanted: list[str]) -> list[int]:
    """The places most like ``wanted``, judged by its longest line."""
    anchor_at = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    anchor = wanted[anchor_at].strip()
    if not anchor:
        return []
    places: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        if line.strip():
            places.setdefault(line.strip()[: _SHOWN_WIDTH * 5], []).append(index)
    pool = sorted(places, key=lambda line: abs(len(line) - len(anchor)))[:_COMPARED_LINES]
    near = difflib.get_close_matches(anchor[: _SHOWN_WIDTH * 5], pool, _CANDIDATES, _SIMILAR)
    starts = [max(index - anchor_at, 0) for line in near for index in places[line]]
    return starts[:_CANDIDATES]


def _describe(lines: list[str], wanted: list[str], start: int, what: str) -> str:
    """``lines 3-5 (differs...)`` with the first line that is not the same, as it is in the file."""
    end = min(start + len(wanted), len(lines))
    place = f"line {start + 1}" if end - start == 1 else f"lines {start + 1}-{end}"
    for offset, (have, want) in enumerate(zip(lines[start:end], wanted, strict=False)):
        alike = want in have if len(wanted) == 1 else have == want
        if not alike:
            here = f"line {start + offset + 1} is {_quoted(have)}"
            return f"{place} ({what}): {here}, old_text has {_quoted(want)}"
    return f"{place} ({what}): {_quoted(lines[start])}"


def _quoted(line: str) -> str:
    """The line with what cannot be seen spelled out: tabs, odd spaces, combining marks."""
    shown = line if len(line) <= _SHOWN_WIDTH else line[: _SHOWN_WIDTH - 1] + "…"
    spelled = "".join(_spell(char) for char in shown.replace("\\", "\\\\"))
    return f"`{spelled}`"


def _spell(char: str) -> str:
    if char == "\t":
        return "\\t"
    if char == " " or (
        char.isprintable() and not unicodedata.combining(char) and char not in "\u2018\u2019\u201c\u201d"
    ):
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
