"""The list of the picker: which sessions, in which order, which one is selected, which rows are seen."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mewcode.repl.picker_filter import Haystack, Query, Word, haystack, rate

if TYPE_CHECKING:
    from mewcode.sessions.catalog_entry import CatalogEntry

Sort = Literal["recent", "size", "title"]
SORTS: tuple[Sort, ...] = ("recent", "size", "title")
# Hits shown under a session; the details say how many more there are.
HITS_SHOWN = 2
_LAST = "\U0010ffff"
# Sessions that are rated between two looks at the clock.
_STEP = 32


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


class SessionList:
    """``shown`` are the sessions that fit the filter, in the order of ``sort``; while words are looked for
    and it is "recent", those that fit best come first. ``selected`` counts among them."""

    def __init__(self, here: str | None = None) -> None:
        """``here``: the id of the session that goes on already."""
        self.here = here
        self.sort: Sort = "recent"
        self.query = Query()
        self.hits: Hits = {}
        self.shown: list[CatalogEntry] = []
        self.selected = 0
        self.top = 0
        self.has_branches = False
        self._is_held = False
        self._sorted: list[CatalogEntry] = []
        self._haystacks: dict[Key, tuple[tuple[str, str, str], Haystack]] = {}

    @property
    def total(self) -> int:
        return len(self._sorted)

    @property
    def current(self) -> CatalogEntry | None:
        """The session that is selected."""
        return self.shown[self.selected] if self.shown else None

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
        self.query, self._is_held = query, False

    def steps(self) -> Generator[None, bool, None]:
        """Applies the filter, a bit with each step. What has been found so far is shown when it is sent True,
        and at the end."""
        words, hits = tuple(map(Word.of, self.query.words)), self.hits
        if self.query.search:
            fitting = [entry for entry in self._sorted if key_of(entry) in hits]
            if self.sort == "recent":
                places = {key: place for place, key in enumerate(hits)}
                fitting.sort(key=lambda entry: places[key_of(entry)])
            self._show(fitting)
        elif not words:
            self._show(list(self._sorted))
        else:
            yield from self._rate(words)

    def _rate(self, words: tuple[Word, ...]) -> Generator[None, bool, None]:
        rated: list[tuple[int, int, CatalogEntry]] = []
        by_fit = self.sort == "recent"
        for place, entry in enumerate(self._sorted):
            points = rate(words, self._haystack(entry))
            if points is not None:
                rated.append((-points if by_fit else 0, place, entry))
            if place % _STEP == _STEP - 1 and (yield):
                self._show([entry for _, _, entry in sorted(rated)])
        self._show([entry for _, _, entry in sorted(rated)])

    def _haystack(self, entry: CatalogEntry) -> Haystack:
        texts = (entry.title, entry.first_prompt, entry.branch)
        known = self._haystacks.get(key_of(entry))
        if known is None or known[0] != texts:
            known = self._haystacks[key_of(entry)] = (texts, haystack(entry))
        return known[1]

    def _show(self, entries: list[CatalogEntry]) -> None:
        """Until the user has turned to one, the first is selected; then the selection stays on its session
        where that is still shown, else at its place in the list."""
        before, self.shown = self.current, entries
        if not self._is_held:
            self.selected, self.top = self._first_place(), 0
        elif before is not None:
            self.select(before)

    def _first_place(self) -> int:
        """Where the selection is at first. Whoever opens the list does not look for what is open already."""
        is_open = bool(self.shown) and self.shown[0].id == self.here and not self.query.words
        return 1 if is_open and len(self.shown) > 1 else 0

    def hold(self) -> None:
        """The user has turned to the selected one: it stays selected while others come."""
        self._is_held = True

    def select(self, wanted: CatalogEntry) -> None:
        """This one where it is shown; else the selection stays at its place in the list."""
        self.hold()
        key = key_of(wanted)
        place = next((place for place, entry in enumerate(self.shown) if key_of(entry) == key), None)
        self.selected = min(self.selected, max(0, len(self.shown) - 1)) if place is None else place

    def move(self, by: int) -> None:
        """The ends hold."""
        self.hold()
        self.selected = max(0, min(self.selected + by, len(self.shown) - 1))

    def first(self) -> None:
        self.hold()
        self.selected = self.top = 0

    def last(self) -> None:
        self.move(len(self.shown))

    def height(self, entry: CatalogEntry) -> int:
        """Rows of a session: its own, and those of its hits."""
        return 1 + (min(HITS_SHOWN, len(self.hits.get(key_of(entry), ()))) if self.query.search else 0)

    def visible(self, rows: int) -> list[CatalogEntry]:
        """The sessions that fit so many rows, from ``top`` on, which moves no more than it must to show the
        selected one. The last may be cut."""
        top = max(0, min(self.top, self.selected))
        left, lowest = rows, self.selected
        while self.shown and lowest >= top and (left := left - self.height(self.shown[lowest])) >= 0:
            lowest -= 1
        top = max(top, min(lowest + 1, self.selected))
        # What stands below does not leave rows empty above.
        left, end = rows, top
        while end < len(self.shown) and left > 0:
            left -= self.height(self.shown[end])
            end += 1
        while end == len(self.shown) and top > 0 and self.height(self.shown[top - 1]) <= left:
            top -= 1
            left -= self.height(self.shown[top])
        self.top = top
        return self.shown[top:end]


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
