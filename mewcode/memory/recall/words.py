"""Text as the index is given it: words between blanks. Pure.

Text is folded (NFKC, case, accents) and cut into words, these into their English stems. An identifier is its
parts and all of it (``read_file``, ``readFile`` and ``read-file`` are ``read file readfile``), a path the
names in it. Scripts without blanks become their pairs of neighbouring characters, and the single ones. What a
word or two together mean in either language, and what they are about, stands behind them (see `concepts`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise

from mewcode.memory.recall.concepts import known_words, names_of, opens_phrase, phrase_of
from mewcode.memory.recall.stems import stem

TOKENIZER = "ascii tokenchars '.+#'"
"""How FTS5 finds again the words that `prepared` put between blanks."""
_DENSE = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Chinese, Japanese, Korean."""
_RUN = r"\w+(?:[.'’-]\w+)*(?:\+\+|#)?"
_PART = r"[A-Z]+(?![^\WA-Z\d_])|[A-Z]?[^\WA-Z\d_]+|\d+"
_VERSION = r"v?(\d+(?:\.\d+)+)"
_LONGEST = 64
"""Characters of a word: what is longer is data."""


def prepared(text: str) -> str:
    """The words of a text with blanks between them, in its order."""
    return " ".join(
        words
        for piece in pieces(text)
        for words in (_dense_words(piece) if is_dense(piece) else _spaced_words(piece))
        if words
    )


def pieces(text: str) -> list[str]:
    """The text folded and cut into runs that `is_dense` says to have no blanks between their words, and what
    is between these."""
    if text.isascii():
        return [text]
    # Marks of other scripts than ours are vowels and tones.
    text = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    text = unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", text))
    return list(filter(None, _dense_runs().split(text)))


def is_dense(piece: str) -> bool:
    """Whether a piece is of a script without blanks."""
    return not piece.isascii() and bool(_dense_runs().match(piece))


def spaced(piece: str) -> Iterator[tuple[str, str, str]]:
    """The words, names and numbers of a piece with blanks, as they were typed, each with the next one and
    what both are as one (see `phrase_of`), "" mostly."""
    found = re.findall(_RUN, piece)
    for run, after in pairwise((*found, "")):
        first = _opening(run)
        yield run, after, phrase_of(first, _whole(after)) if first and after else ""


def pairs(run: str) -> list[str]:
    """The pairs of neighbours in a run of characters; of one by itself, that."""
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]


@cache
def _dense_runs() -> re.Pattern[str]:
    return re.compile(f"([{_DENSE}]+)")


def _dense_words(run: str) -> Iterator[str]:
    if len(run) > 1:
        yield from pairs(run)
    yield from run
    for word in known_words(run):
        yield from names_of(word)


def _spaced_words(piece: str) -> Iterator[str]:
    for run, _, phrase in spaced(piece):
        yield _joined_words(run)
        if phrase:
            yield _with_names(phrase)


@lru_cache(maxsize=1 << 15)
def _joined_words(run: str) -> str:
    return " ".join(map(_with_names, words_in(run)))


def _with_names(word: str) -> str:
    return " ".join((word, *names_of(word)))


@lru_cache(maxsize=1 << 15)
def _opening(run: str) -> str:
    """The word that a run is, where it begins any phrase; else ""."""
    word = _whole(run)
    return word if word and opens_phrase(word) else ""


def _whole(run: str) -> str:
    return stem(run.casefold()) if run.isalpha() else ""


def words_in(run: str) -> tuple[str, ...]:
    """The words of a run: the parts of a name, and last all of it."""
    if "'" in run or "’" in run:
        # Whose it is matters little; "don't" is one word.
        run = re.sub("['’](?:s$)?", "", run.replace("'S", "'s"))
    if len(run) > _LONGEST:
        return ()
    if run.isalpha() and (run[1:].islower() or run.isupper() or len(run) == 1):
        return (stem(run.casefold()),)
    version = re.fullmatch(_VERSION, run)
    if version:
        return (version[1],)
    pieces = run.split(".")
    if len(pieces) == 1:
        return _words_in_name(run)
    # The name of a file or a member: its pieces, and all of it.
    whole = stem("".join(re.findall(_PART, run)).casefold())
    return (*(word for piece in pieces for word in _words_in_name(piece)), whole)


def _words_in_name(name: str) -> tuple[str, ...]:
    end = name[len(name.rstrip("+#")) :]
    parts = [part.casefold() for part in re.findall(_PART, name)]
    whole = stem("".join(parts) + end)
    if len(parts) == 1 and not end:
        return (whole,)
    # Of a name such as `utf8` or `k8s` the single letters and digits say nothing.
    return (*(stem(part) for part in parts if len(part) > 1), *([whole] if whole else []))
