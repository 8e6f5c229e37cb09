"""What the picker's filter asks for: words that a session's title, first prompt, branch and id hold, or a
search over all messages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mewcode.infra.terminal_text import safe_line
from mewcode.repl.word_filter import Haystack

if TYPE_CHECKING:
    from mewcode.sessions.catalog_entry import CatalogEntry


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


def haystack(entry: CatalogEntry) -> Haystack:
    """The texts of a session that words are looked for in; the first prompt where it is not the title."""
    title, prompt = safe_line(entry.title), safe_line(entry.first_prompt)
    return Haystack.of(title, "" if prompt == title else prompt, safe_line(entry.branch), entry.id)
