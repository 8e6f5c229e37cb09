"""The list of the picker: which sessions, in which order, which one is selected, which rows are seen."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mewcode.repl.picker_filter import Query, haystack
from mewcode.repl.selection import Selection
from mewcode.repl.word_filter import Haystack, Word, rated

if TYPE_CHECKING:
    from mewcode.sessions.catalog_entry import CatalogEntry

Sort = Literal["recent", "size", "title"]
SORTS: tuple[Sort, ...] = ("recent", "size", "title")
# Hits shown under a session; the details say how many more there are.
HITS_SHOWN = 2
_LAST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit, safe to show; ``spans`` of the snippet are the matches."""

    turn: int
    snippet: str
    spans: tuple[tuple[int, int], ...]


Key = tuple[str, str]
"""What tells a session from all others: the folder of sessions and the id. Paths take too long to make."""
Hits = Mapping[Key, Sequence[ShownHit]]


def key_of(entry: CatalogEntry) -> Key:
    return entry.sessions_dir, entry.id


def key_of_path(path: Path) -> Key:
    """The key of the session in that folder."""
    return str(path.parent), path.name


class SessionList(Selection["CatalogEntry", Key]):
    """``shown`` are the sessions that fit the filter, in the order of ``sort``; while words are looked for
    and it is "recent", those that fit best come first."""

    def __init__(self, here: str | None = None) -> None:
        """``here``: the id of the session that goes on already."""
        super().__init__(key_of)
        self.here = here
        self.sort: Sort = "recent"
        self.query = Query()
        self.hits: Hits = {}
        self.has_branches = False
        self._sorted: list[CatalogEntry] = []
        self._haystacks: dict[Key, tuple[tuple[str, str, str], Haystack]] = {}

    @property
    def total(self) -> int:
        return len(self._sorted)

    def take(self, entries: Sequence[CatalogEntry]) -> None:
        """These are the sessions now; the filter has to be applied anew."""
        self._sorted = _in_order(entries, self.sort)
        self.has_branches = any(entry.branch for entry in entries)

    def parent_of(self, entry: CatalogEntry) -> str:
        """What a session was forked off: its title where that is known, else its id; "" for no fork."""
        if not entry.parent_session:
            return ""
        found = (other.title for other in self._sorted if other.id == entry.parent_session)
        return next(found, "") or entry.parent_session

    def replace(self, entry: CatalogEntry) -> None:
        """Another state of a session that is here; order and filter stay as they were."""
        for found in (self._sorted, self.shown):
            place = next((place for place, old in enumerate(found) if key_of(old) == key_of(entry)), None)
            if place is not None:
                found[place] = entry

    def remove(self, entry: CatalogEntry) -> None:
        """A session is gone; the filter has to be applied anew."""
        self._sorted = [old for old in self._sorted if key_of(old) != key_of(entry)]

    def add(self, entry: CatalogEntry) -> None:
        """A session is back; the filter has to be applied anew."""
        self.take([*(old for old in self._sorted if key_of(old) != key_of(entry)), entry])

    def next_sort(self) -> None:
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        self._sorted = _in_order(self._sorted, self.sort)

    def use(self, query: Query) -> None:
        """Another query, not yet applied: what fits it best is selected, wherever the selection was."""
        self.query = query
        self.let_go()

    def steps(self) -> Generator[None, bool, None]:
        """Applies the filter, a bit with each step. What has been found so far is shown when it is sent True,
        and at the end."""
        words, hits = tuple(map(Word.of, self.query.words)), self.hits
        if self.query.search:
            fitting = [entry for entry in self._sorted if key_of(entry) in hits]
            if self.sort == "recent":
                places = {key: place for place, key in enumerate(hits)}
                fitting.sort(key=lambda entry: places[key_of(entry)])
            self.show(fitting)
        elif not words:
            self.show(list(self._sorted))
        else:
            by_fit = self.sort == "recent"
            yield from rated(words, self._sorted, self._haystack, self.show, by_fit=by_fit)

    def _haystack(self, entry: CatalogEntry) -> Haystack:
        texts = (entry.title, entry.first_prompt, entry.branch)
        known = self._haystacks.get(key_of(entry))
        if known is None or known[0] != texts:
            known = self._haystacks[key_of(entry)] = (texts, haystack(entry))
        return known[1]

    def _first_place(self) -> int:
        """Whoever opens the list does not look for what is open already."""
        is_open = bool(self.shown) and self.shown[0].id == self.here and not self.query.words
        return 1 if is_open and len(self.shown) > 1 else 0

    def height(self, entry: CatalogEntry) -> int:
        """Rows of a session: its own, and those of its hits."""
        return 1 + (min(HITS_SHOWN, len(self.hits.get(key_of(entry), ()))) if self.query.search else 0)


def _in_order(entries: Sequence[CatalogEntry], sort: Sort) -> list[CatalogEntry]:
    """Ten thousand are sorted while a key waits: by keys that compare quickly, not by tuples."""
    newest = sorted(entries, key=attrgetter("id"), reverse=True)
    newest.sort(key=attrgetter("updated"), reverse=True)
    if sort == "size":
        newest.sort(key=attrgetter("size"), reverse=True)
    elif sort == "title":  # those without one at the end
        titles = [entry.title.casefold() or _LAST for entry in newest]
        newest = [newest[place] for place in sorted(range(len(newest)), key=titles.__getitem__)]
    return newest
