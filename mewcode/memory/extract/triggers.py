"""What the user's own words ask of the notes. Whole phrases count, in English and Chinese, where they are
said to the agent. What is noted a model decides; these say only when it is worth asking now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from mewcode.memory.extract import phrases
from mewcode.memory.extract.own_words import own_words

_MOST_CLAUSE = 400
"""Characters of a clause that are looked at."""
_SENTENCE = r"[^\n.!?。！？]*(?:[.!?](?!\s|\Z)[^\n.!?。！？]*)*[.!?。！？]*"
_CLAUSE_ENDS = r"[,;:()，；：、（）…—–]+|\s-+\s"


class _Sentence(msgspec.Struct, frozen=True):
    """``is_question``: it asks for an answer, and for nothing to be done."""

    text: str
    clauses: tuple[str, ...]
    is_question: bool


def asks_to_note(text: str) -> bool:
    """Whether a user's message asks to keep something: "remember that ...", "from now on", "记住". One that
    also asks not to keep something does not."""
    sentences = list(_sentences(_plain(text)))
    if any(_is_any(phrases.NO_NOTE, clause) for sentence in sentences for clause in sentence.clauses):
        return False
    return any(
        _is_any(phrases.NOTE, clause)
        for sentence in sentences
        if not sentence.is_question
        for clause in sentence.clauses
    )


def is_correction(text: str) -> bool:
    """Whether a user's message corrects what was done, or confirms the way in which it was done."""
    words = _plain(text)
    if _is_any((*phrases.CORRECTION_WITHIN, *phrases.CONFIRMATION_WITHIN), words):
        return True
    return any(
        _is_any((*phrases.CORRECTION, *phrases.CONFIRMATION), clause)
        for sentence in _sentences(words)
        if not sentence.is_question
        for clause in sentence.clauses
    )


def asks_to_forget(text: str) -> bool:
    """Whether a user's message asks to forget something that was said or noted."""
    return any(
        _is_any(phrases.FORGET, clause)
        for sentence in _sentences(_plain(text))
        if not sentence.is_question
        for clause in sentence.clauses
    )


def _plain(text: str) -> str:
    """The user's own words as the phrases are written."""
    simplified = str.maketrans(phrases.TRADITIONAL, phrases.SIMPLIFIED)
    words = own_words(text).casefold().replace("’", "'").translate(simplified)
    words = re.sub("(?: ?\n ?)+", "\n", re.sub(r"[^\S\n]+", " ", words))
    return words.replace("never, ever", "never ever")


def _sentences(words: str) -> Iterator[_Sentence]:
    for match in re.finditer(_SENTENCE, words):
        said = match[0].strip()
        if said:
            own = re.split(phrases.REPORT, said, maxsplit=1)[0]
            clauses = [part[:_MOST_CLAUSE].strip() for part in re.split(_CLAUSE_ENDS, own)]
            yield _Sentence(said, tuple(filter(None, clauses)), _is_question(said))


def _is_question(said: str) -> bool:
    if len(said) > 2 * _MOST_CLAUSE:
        said = f"{said[:_MOST_CLAUSE]} {said[-_MOST_CLAUSE:]}"
    if not re.search(phrases.QUESTION, said) or re.search(phrases.NO_QUESTION, said):
        return False
    return not re.search(phrases.POLITE, said) or bool(re.search(phrases.RECALL, said))


def _is_any(patterns: Sequence[str], text: str) -> bool:
    return any(re.search(pattern, text) for pattern in patterns)
