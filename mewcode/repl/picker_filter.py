"""What the picker's filter asks for: words that a session's title, first prompt, branch and id hold, or a
search over all messages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mewcode.infra.terminal_text import safe_line
from mewcode.repl.fuzzy import bits_of, is_exact, score

if TYPE_CHECKING:
    from mewcode.sessions.catalog_entry import CatalogEntry

# Points by letter, as `fuzzy.score` counts them, from which on letters in order are taken for what was meant
# though they do not stand together: beginnings of words, a letter left out here and there. Scattered letters
# stay below; nearly every prompt holds any few of them somewhere.
_FLOOR = 32 * 4


@dataclass(frozen=True, slots=True)
class Query:
    """``words``: each must be found. ``search``: what `SessionSource.search` is asked, "" where the words
    decide. Without both, everything is shown."""

    words: tuple[str, ...] = ()
    search: str = ""
    kind: Literal["words", "phrase", "pattern"] = "words"

    def finder(self) -> re.Pattern[str]:
        """What finds a phrase in a snippet. A pattern is never tried in this process: it may run for ever."""
        phrases: list[list[str]] = []
        for place, part in enumerate(self.search.split('"')):
            phrases += [part.split()] if place % 2 else [[word] for word in part.split()]
        found = (r"\W+".join(map(re.escape, phrase)) for phrase in phrases if phrase)
        return re.compile("|".join(found), re.IGNORECASE)


def read_filter(text: str) -> Query:
    """The query that a filter's text stands for."""
    if text.startswith("re:"):
        return Query(search=text if text != "re:" else "", kind="pattern")
    if text.startswith('"'):
        # Without its second quote the last word is still being typed: the source takes it for a beginning.
        return Query(search=" ".join(text.split()) if text.strip('" ') else "", kind="phrase")
    return Query(words=tuple(text.split()))


@dataclass(frozen=True, slots=True)
class Haystack:
    """A session's texts, made once. ``bits``: see `fuzzy.bits_of`, by text."""

    texts: tuple[str, ...]
    lowered: tuple[str, ...]
    bits: tuple[int, ...]


def haystack(entry: CatalogEntry) -> Haystack:
    """The texts of a session that words are looked for in; the first prompt where it is not the title."""
    title, prompt = safe_line(entry.title), safe_line(entry.first_prompt)
    found = (title, "" if prompt == title else prompt, safe_line(entry.branch), entry.id)
    texts = tuple(filter(None, found))
    lowered = tuple(text.lower() for text in texts)
    return Haystack(texts, lowered, tuple(map(bits_of, lowered)))


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the filter, made ready to be looked for; one with a capital letter is taken as written."""

    text: str
    exact: bool
    bits: int

    @classmethod
    def of(cls, text: str) -> Word:
        return cls(text, is_exact(text), bits_of(text.lower()))


def rate(words: tuple[Word, ...], hay: Haystack) -> int | None:
    """How well the session fits, the more the better; None where one of the words is not in it."""
    total = 0
    for word in words:
        best: int | None = None
        for text, lowered, bits in zip(hay.texts, hay.lowered, hay.bits, strict=True):
            if word.bits & ~bits:
                continue
            points = _points(word, text, lowered)
            if points is not None and (best is None or points > best):
                best = points
        if best is None:
            return None
        total += best
    return total


def _points(word: Word, text: str, lowered: str) -> int | None:
    is_whole = word.text in (text if word.exact else lowered)
    if len(word.text) < 2:
        return 0 if is_whole else None
    points = score(word.text, text)
    # `score` takes a text's length off, so that the shorter of two wins.
    if points is None or is_whole or points + len(text) >= _FLOOR * len(word.text):
        return points
    return None
