"""Colours for code, line by line: keywords, strings, comments, numbers, names.

No parser and no grammar: one regular expression a language, and what a line leaves open (a comment, a long
string). That is cheap enough to colour code while it streams, and needs no library.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mewcode.repl.styled_text import Run
from mewcode.repl.theme import Style

if TYPE_CHECKING:
    from mewcode.repl.highlight_languages import Language

# The groups of a language's expression that are a style by themselves.
_PLAIN_GROUPS: dict[str, Style] = {
    "comment": "comment",
    "string": "string",
    "number": "number",
    "name": "name",
    "keyword": "keyword",
}
# Where a long string or comment ends, by what stands there.
_CLOSINGS = {end: re.compile(rf"(?<!\\){re.escape(end)}") for end in ('"""', "'''", "`", "*/", "-->")}


class Highlighter:
    """Takes the lines of one code block in their order. ``open``: how a string or comment that an earlier
    line began will end, and its style."""

    __slots__ = ("language", "open")

    def __init__(self, language: Language | None) -> None:
        self.language = language
        self.open: tuple[str, Style] | None = None

    @classmethod
    def for_info(cls, info: str) -> Highlighter:
        """By a fence's info string ("python", "ts title=x"); an unknown language gets no colours."""
        if not info.strip():
            return cls(None)
        # The tables are for the first block that names a language.
        from mewcode.repl.highlight_languages import language_named

        return cls(language_named(info))

    def copy(self) -> Highlighter:
        other = Highlighter(self.language)
        other.open = self.open
        return other

    def line(self, text: str) -> list[Run]:
        """The coloured ranges of one line, which has no newline."""
        language = self.language
        if language is None or not text:
            return []
        if language.line_styles:
            style = next((style for start, style in language.line_styles if text.startswith(start)), None)
            return [(0, len(text), (style,))] if style else []
        runs: list[Run] = []
        at = self._rest_of_open(text, runs)
        search = language.tokens.search
        while match := search(text, at):
            start, at = match.span()
            kind = match.lastgroup
            if kind == "word":
                style = _word_style(language, text, match)
                if style:
                    runs.append((start, at, (style,)))
            elif kind == "long":
                at = self._begin_long(language, text, match, runs)
            elif kind:
                runs.append((start, at, (_PLAIN_GROUPS[kind],)))
        return runs

    def _rest_of_open(self, text: str, runs: list[Run]) -> int:
        if self.open is None:
            return 0
        end, style = self.open
        found = _CLOSINGS[end].search(text)
        last = len(text)
        if found:
            last, self.open = found.end(), None
        runs.append((0, last, (style,)))
        return last

    def _begin_long(self, language: Language, text: str, match: re.Match[str], runs: list[Run]) -> int:
        end, style = language.long_ones[match[0].lstrip("rRbBuUfF")]
        found = _CLOSINGS[end].search(text, match.end())
        if not found:
            self.open = (end, style)
        last = found.end() if found else len(text)
        runs.append((match.start(), last, (style,)))
        return last


def _word_style(language: Language, text: str, match: re.Match[str]) -> Style | None:
    word = match[0]
    if (word.lower() if language.any_case else word) in language.keywords:
        return "keyword"
    return "name" if text.startswith("(", match.end()) else None
