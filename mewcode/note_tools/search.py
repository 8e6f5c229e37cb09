"""Finds notes by words, in any script: Chinese and Japanese by pairs of neighbouring characters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from mewcode.memory.entry import Entry
from mewcode.memory.names import name_key

_RUN = re.compile(r"[⺀-鿿豈-﫿぀-ヿ가-힯]+|[^\W_]+")
_IS_DENSE = re.compile(r"[⺀-鿿豈-﫿぀-ヿ가-힯]")
_WEIGHTS = (4.0, 3.0, 2.0, 1.0)
"""Of a word in the name, the aliases and tags, the description, the body."""
_MOST_TERMS = 40

Body = Callable[[Entry], str]


def terms_of(text: str) -> list[str]:
    """What a text is found by: its words, and pairs of characters where a script has no blanks."""
    terms: list[str] = []
    for run in _RUN.findall(name_key(text)):
        if _IS_DENSE.match(run) and len(run) > 2:
            terms += [run[place : place + 2] for place in range(len(run) - 1)]
        else:
            terms.append(run)
    return list(dict.fromkeys(terms))


def best_matches(query: str, entries: Sequence[Entry], body: Body) -> list[Entry]:
    """The entries that hold any of the words, the best first. A word counts more the rarer it is."""
    terms = terms_of(query)[:_MOST_TERMS]
    weights = [(entry, _weights(terms, entry, body(entry))) for entry in entries]
    holding = [sum(1 for _, found in weights if found[place]) for place in range(len(terms))]
    rare = [math.log(1 + len(entries) / count) if count else 0.0 for count in holding]
    scored = [
        (sum(weight * worth for weight, worth in zip(found, rare, strict=True)), entry)
        for entry, found in weights
    ]
    wanted = [item for item in scored if item[0] > 0]
    wanted.sort(key=lambda item: (-item[0], item[1].level, item[1].file))
    return [entry for _, entry in wanted]


def _weights(terms: Iterable[str], entry: Entry, body: str) -> list[float]:
    fields = (entry.name, " ".join((*entry.aliases, *entry.tags)), entry.description or entry.line, body)
    texts = [name_key(field) for field in fields]
    return [
        max((weight for weight, text in zip(_WEIGHTS, texts, strict=True) if term in text), default=0.0)
        for term in terms
    ]
