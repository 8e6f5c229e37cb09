"""Text as it is indexed, and what a person asks for as a query of the index. Pure.

Text is folded (NFKC, case; the index itself drops accents). A run of Chinese, Japanese or Korean characters
has no blanks between its words: it becomes its pairs of neighbours, and its last character by itself, so that
any part of it is found as a phrase of pairs.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_MOST_TERMS = 32
"""Terms of a query that count: more are a paste."""


class Term(NamedTuple):
    """``words``: what was typed, folded. ``match``: the term in the language of FTS5. ``is_phrase``: it must
    stand so in the text."""

    words: str
    match: str
    is_phrase: bool = False


@cache
def _runs() -> re.Pattern[str]:
    return re.compile(f"[{_CJK}]+")


def index_text(text: str) -> str:
    """The text as the index is given it."""
    if text.isascii():
        return text
    return _runs().sub(lambda run: f" {_pairs(run[0], is_end=True)} ", fold(text))


def fold(text: str) -> str:
    """Text made the same that people type in different ways: width, case, composed accents."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _pairs(run: str, *, is_end: bool) -> str:
    pairs = [run[place : place + 2] for place in range(len(run) - 1)]
    return " ".join([*pairs, run[-1]] if is_end else pairs)


def read_query(query: str, *, beginnings: bool = False) -> list[Term]:
    """The terms of a query: words, and ``"phrases"`` in straight or curly quotes. A message must hold all.

    A word that ends in ``*``, or with ``beginnings`` every word, stands for all that begin so; so does then
    the last word of a phrase without its closing quote. Empty where there is nothing to look for.
    """
    terms: dict[str, Term] = {}
    for match in re.finditer(r'"([^"]*)("?)|“([^”]*)(”?)|([^\s"“]+)', query):
        phrase = match[1] if match[1] is not None else match[3]
        words = phrase if phrase is not None else match[5]
        is_closed = bool(match[2] or match[4])
        open_end = not is_closed and (beginnings or (phrase is None and words.endswith("*")))
        folded = fold(words).strip("* \t\n")
        term = _term(folded, open_end=open_end)
        if term:
            terms.setdefault(term, Term(folded, term, phrase is not None))
    return list(terms.values())[:_MOST_TERMS]


def holds_phrases(text: str, terms: list[Term]) -> bool:
    """Whether each phrase stands in the text as it was typed, blanks, accents, case and width apart. The
    index knows words alone: it takes ``a-b`` for ``a b``."""
    phrases = [term for term in terms if term.is_phrase]
    if not phrases:
        return True
    plain = " ".join(_plain(fold(text)).split())
    return all(" ".join(_plain(term.words).split()) in plain for term in phrases)


def _term(folded: str, *, open_end: bool) -> str:
    """A phrase of FTS5; with ``open_end`` its last word may go on."""
    parts: list[str] = []
    open_last = False
    pieces = re.findall(f"[{_CJK}]+|[^{_CJK}]+", folded)
    for place, piece in enumerate(pieces, 1):
        if not _runs().match(piece):
            parts += _tokens(piece)
            open_last = open_end
        elif len(piece) == 1:
            # It ends a run, or begins a pair within one.
            parts.append(piece)
            open_last = True
        else:
            # What follows in the phrase says that the run ends here.
            parts += _pairs(piece, is_end=place < len(pieces)).split()
            open_last = False
    if not parts:
        return ""
    quoted = " ".join(parts).replace('"', '""')
    return f'"{quoted}"' + ("*" if open_last else "")


def _tokens(piece: str) -> list[str]:
    """The words of a piece as FTS5's unicode61 divides them: letters, digits and marks of their own."""
    kept = "".join(
        char if unicodedata.category(char)[0] in "LNM" or unicodedata.category(char) == "Co" else " "
        for char in piece
    )
    return [word for word in kept.split() if any(unicodedata.category(char)[0] in "LN" for char in word)]


def snippet(text: str, terms: list[Term], width: int = 160) -> str:
    """A piece of the text around the first term that stands in it, one line, with ``…`` where it was cut."""
    flat = " ".join(text.split())
    folded, places = _fold_with_places(flat)
    found = [place for term in terms if (place := _find(folded, term.words)) >= 0]
    at = places[min(found)] if found else 0
    start = max(0, min(at - width // 3, len(flat) - width))
    if start:
        # Not from within a word, where a blank is near.
        blank = flat.find(" ", start, min(start + 20, at))
        start = blank + 1 if blank >= 0 else start
    end = start + width
    return ("…" if start else "") + flat[start:end].strip() + ("…" if end < len(flat) else "")


def _find(folded: str, words: str) -> int:
    wanted = " ".join(_plain(words).split())
    if not wanted:
        return -1
    whole = re.search(rf"(?<!\w){re.escape(wanted)}", folded)
    return whole.start() if whole else folded.find(wanted)


def _plain(text: str) -> str:
    """Folded text without its accents."""
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def _fold_with_places(text: str) -> tuple[str, list[int] | range]:
    """The folded text without accents, and for each of its characters the place it came from."""
    if text.isascii():
        return text.lower(), range(len(text) + 1)
    parts: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        plain = char.lower() if char.isascii() else _plain(fold(char))
        parts.append(plain)
        places += [place] * len(plain)
    return "".join(parts), [*places, len(text)]
