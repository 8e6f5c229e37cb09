"""What the browser of notes lists: notes, files of instructions, changes; and which of them are asked for."""

from __future__ import annotations

from collections.abc import Collection, Generator, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from mewcode.infra.terminal_text import safe_line
from mewcode.repl.selection import Selection
from mewcode.repl.word_filter import Haystack, Word, rated

if TYPE_CHECKING:
    from mewcode.memory.entry import Entry, Use
    from mewcode.memory.history import Change
    from mewcode.memory.note import Level, Type

T = TypeVar("T")

Tab = Literal["notes", "inbox", "instructions", "history"]
TABS: tuple[Tab, ...] = get_args(Tab)

Standing = Literal["live", "expired", "superseded", "archived", "inbox", "forgotten"]
"""A note's state; one that was deleted is "forgotten"."""

Wanted = Literal["live", "expired", "superseded", "archived", "forgotten", "every state"]
WANTED: tuple[Wanted, ...] = get_args(Wanted)
"""The states that the notes' tab goes through; what is in the inbox has a tab of its own."""
EVERY_TYPE, BOTH_LEVELS = "every type", "both levels"


@dataclass(frozen=True, slots=True)
class NoteItem:
    """A note. ``changed``: Unix time of its last change, 0 where nobody knows. ``deletion``: what deleted it,
    where it is forgotten."""

    entry: Entry
    standing: Standing
    use: Use
    changed: float
    deletion: Change | None = None

    @property
    def key(self) -> Hashable:
        return "note", self.entry.level, self.entry.file

    def haystack(self) -> Haystack:
        entry = self.entry
        words = (" ".join(entry.tags), " ".join(entry.aliases))
        return Haystack.of(*(safe_line(text, 500) for text in (entry.name, entry.line, *words, entry.file)))


@dataclass(frozen=True, slots=True)
class FileItem:
    """A file of instructions; ``path`` None where there is none that could be opened. ``depth``: how many
    files deep it is included. ``about``: level and size in words; ``problems``: what is wrong with it, or why
    it was not read."""

    path: Path | None
    shown: str
    depth: int
    about: str
    problems: tuple[str, ...] = ()

    @property
    def key(self) -> Hashable:
        return "file", self.shown, self.depth

    def haystack(self) -> Haystack:
        return Haystack.of(safe_line(self.shown, 500), safe_line(self.about))


@dataclass(frozen=True, slots=True)
class ChangeItem:
    """A change, with its parts by level. ``what``: on one line, without secrets. ``is_undone``: it is taken
    back as things stand."""

    parts: tuple[tuple[Level, Change], ...]
    what: str
    is_undone: bool

    @property
    def first(self) -> Change:
        return self.parts[0][1]

    @property
    def key(self) -> Hashable:
        return "change", self.first.id

    def haystack(self) -> Haystack:
        files = " ".join(step.file for _, change in self.parts for step in change.steps)
        return Haystack.of(self.what, self.first.by, safe_line(files, 500))


Item = NoteItem | FileItem | ChangeItem


def key_of(item: Item) -> Hashable:
    return item.key


class ItemList(Selection[Item, Hashable]):
    """``shown`` are the items of ``tab`` that fit the words and the filters."""

    def __init__(self) -> None:
        super().__init__(key_of)
        self.tab: Tab = "notes"
        self.words: tuple[str, ...] = ()
        self.state: Wanted = "live"
        self.type: Type | None = None
        self.level: Level | None = None
        self._items: dict[Tab, Sequence[Item]] = {}
        self._haystacks: dict[Hashable, tuple[Item, Haystack]] = {}

    def take(self, tab: Tab, items: Sequence[Item]) -> None:
        """These are the items of a tab now; the filter has to be applied anew."""
        self._items[tab] = items

    def count(self, tab: Tab) -> int | None:
        """The items of a tab that count without a word typed: of the notes, those in force; None where they
        were not read yet."""
        items = self._items.get(tab)
        if items is None or tab != "notes":
            return None if items is None else len(items)
        return sum(isinstance(item, NoteItem) and item.standing == "live" for item in items)

    def find(self, key: Hashable) -> Item | None:
        """The item of that key, whether it is shown or not."""
        return next((item for items in self._items.values() for item in items if item.key == key), None)

    @property
    def total(self) -> int:
        """How many there would be if no word was typed."""
        return len(self._filtered())

    @property
    def is_filtered(self) -> bool:
        """Whether a filter other than words leaves some out that would be shown else."""
        is_narrow = self.tab == "notes" and self.state not in ("live", "every state")
        return self.tab in ("notes", "inbox") and (is_narrow or bool(self.type or self.level))

    @property
    def has_others(self) -> bool:
        """Whether there are notes that are not in force."""
        return any(note.standing != "live" for note in self._notes())

    def next_tab(self, by: int) -> None:
        self.use_tab(TABS[(TABS.index(self.tab) + by) % len(TABS)])

    def use_tab(self, tab: Tab) -> None:
        self.tab = tab
        self.let_go()

    def use_words(self, text: str) -> bool:
        """The words of the filter, not yet applied; whether they are others than before."""
        words = tuple(text.split())
        if words == self.words:
            return False
        self.words = words
        self.let_go()
        return True

    def next_state(self) -> None:
        """The next state that there are notes of; "live" and all of them always."""
        there = {"live", "every state", *(note.standing for note in self._notes())}
        self.state = _following(WANTED, self.state, there)
        self.let_go()

    def next_type(self) -> None:
        from mewcode.memory.note import TYPES

        there = {note.entry.type for note in self._notes()}
        self.type = _following((None, *TYPES), self.type, {None, *there})
        self.let_go()

    def next_level(self) -> None:
        from mewcode.memory.note import LEVELS

        self.level = _following((None, *LEVELS), self.level, {None, *LEVELS})
        self.let_go()

    def steps(self) -> Generator[None, bool, None]:
        """Applies the filters, a bit with each step; see `word_filter.rated`."""
        items = self._filtered()
        if not self.words:
            self.show(items)
        else:
            words = tuple(map(Word.of, self.words))
            # What was changed when matters more in a history than which words fit best.
            yield from rated(words, items, self._haystack, self.show, by_fit=self.tab != "history")

    def _notes(self) -> list[NoteItem]:
        return [item for item in self._items.get(self.tab, ()) if isinstance(item, NoteItem)]

    def _filtered(self) -> list[Item]:
        items = self._items.get(self.tab, ())
        return [item for item in items if not isinstance(item, NoteItem) or self._is_wanted(item)]

    def _is_wanted(self, note: NoteItem) -> bool:
        if self.type not in (None, note.entry.type) or self.level not in (None, note.entry.level):
            return False
        return self.tab == "inbox" or self.state in ("every state", note.standing)

    def _haystack(self, item: Item) -> Haystack:
        known = self._haystacks.get(item.key)
        if known is None or known[0] is not item:
            known = self._haystacks[item.key] = (item, item.haystack())
        return known[1]


def _following(order: Sequence[T], now: T, there: Collection[object]) -> T:
    """The next in order that is there, round about."""
    place = order.index(now)
    return next(item for item in (*order[place + 1 :], *order[: place + 1]) if item in there)
