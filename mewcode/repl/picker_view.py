"""The whole of the picker as lines of a screen. Needs no terminal and nothing that is slow to load: the first
sight of it is drawn before the part that reads keys is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from mewcode.core.errors import SessionBusy
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.busy_session import holder_words
from mewcode.repl.cell_width import cell_width, cut_cells
from mewcode.repl.frame import (
    DETAILS_FROM,
    HEADER_FROM,
    HELP_FROM,
    Frame,
    ShownPages,
    beside,
    filter_cursor,
    filter_row,
    list_frame,
    list_width,
    preview_frame,
)
from mewcode.repl.line_edit import LineEdit
from mewcode.repl.picker_list import HITS_SHOWN, Key, SessionList, key_of
from mewcode.repl.picker_rows import (
    Columns,
    Marks,
    columns_for,
    details,
    header_row,
    hit_row,
    more_hits,
    session_row,
)
from mewcode.repl.theme import Theme

if TYPE_CHECKING:
    from mewcode.sessions.catalog_entry import CatalogEntry

TITLE = "resume which session?"
_PLACEHOLDER = 'type to filter · "a phrase" or re:pattern looks in all messages'
_HELP = "enter opens · → shows it · ^R names · ^P pins · ^D trash · tab where · ^S sorts"
_HELP_RENAME = "enter keeps the title · an empty one takes yours back · esc drops it"
_HELP_PREVIEW = "arrows, page up and down move · enter opens · ← or esc goes back"
_HELP_CONFIRM = "y moves it to the trash, from where it can come back · any other key keeps it"

Mode = Literal["list", "rename", "confirm", "preview"]


@dataclass(slots=True)
class PickerView:
    """What is to be seen. ``message``: stands in place of the details until a key. ``reading``: more
    sessions may come; ``searching``: hits may. ``more_hits``: the search left some out. ``holders``: who has
    a session open, as far as is known."""

    theme: Theme
    scopes: Sequence[str]
    current: str | None = None
    clock: Callable[[], float] = time.time
    sessions: SessionList = field(default_factory=SessionList)
    scope: int = 0
    mode: Mode = "list"
    filter: LineEdit = field(default_factory=LineEdit)
    title: LineEdit = field(default_factory=LineEdit)
    message: str = ""
    reading: bool = False
    searching: bool = False
    more_hits: bool = False
    news: Callable[[], str] = lambda: ""
    holders: dict[Key, tuple[int, float] | None] = field(default_factory=dict)
    preview: ShownPages | None = None
    preview_title: str = ""
    preview_note: str = ""
    on_screen: Sequence[CatalogEntry] = ()

    @property
    def listed(self) -> SessionList:
        return self.sessions

    @property
    def looking(self) -> str:
        return "searching…" if self.searching else "reading…" if self.reading else ""

    def __post_init__(self) -> None:
        self.sessions.here = self.current

    def is_current(self, entry: CatalogEntry) -> bool:
        return self.current is not None and entry.id == self.current

    def frame(self, width: int, height: int) -> Frame:
        """The screen at that size; one with less than 10 columns or 3 rows is cut off."""
        width, height = max(10, width), max(3, height)
        if self.mode != "preview":
            return self._list_frame(width, height)
        if not (left := list_width(width)):
            return self._preview_frame(width, height)
        listed = Frame(self._list_frame(left, height).lines, None)
        return beside(listed, self._preview_frame(width - left - 2, height), left, self.theme)

    def _preview_frame(self, width: int, height: int) -> Frame:
        foot = safe_line(self.message, width + 1) or _HELP_PREVIEW
        return preview_frame(
            self.preview_title, self.preview, self.preview_note, foot, width, height, self.theme
        )

    def _list_frame(self, width: int, height: int) -> Frame:
        top = [self._headline(width), filter_row(self.filter.text, _PLACEHOLDER, width, self.theme)]
        columns = columns_for(width, wide=self.scope > 0, branches=self.sessions.has_branches)
        if height >= HEADER_FROM:
            top.append(header_row(columns, self.theme))
        bottom = []
        if height >= DETAILS_FROM:
            bottom.append(self._status(width))
        if height >= HELP_FROM:
            bottom.append(self.theme.paint("dim", cut_cells(self._help(), width)))
        body, place = self._body(columns, height - len(top) - len(bottom))
        cursor: tuple[int, int] | None = None
        if self.mode == "rename" and place is not None:
            column = 6 + cell_width(self.title.text[: self.title.place])
            cursor = min(column, width - 1), len(top) + place
        elif self.mode == "list":
            cursor = filter_cursor(self.filter.text, width)
        return list_frame(top, body, bottom, height, cursor)

    def _headline(self, width: int) -> str:
        found, total = len(self.sessions.shown), self.sessions.total
        is_filtered = bool(self.sessions.query.words or self.sessions.query.search)
        more = "+" if self.more_hits and self.sessions.query.search else ""
        count = f"{found:,}{more} of {total:,}" if is_filtered else f"{total:,}"
        order = f"by {self.sessions.sort}"
        if self.sessions.sort == "recent":
            order = "best match first" if is_filtered else "newest first"
        if self.searching:  # what is listed are not its hits yet
            count = ""
        parts = (self.news(), self.scopes[self.scope], order, count, self.looking)
        facts = cut_cells("  " + " · ".join(filter(None, parts)), max(0, width - len(TITLE)))
        return self.theme.paint("bold", cut_cells(TITLE, width)) + self.theme.paint("dim", facts)

    def _help(self) -> str:
        if self.mode == "rename":
            return _HELP_RENAME
        return _HELP_CONFIRM if self.mode == "confirm" else _HELP

    def _body(self, columns: Columns, rows: int) -> tuple[list[str], int | None]:
        """The sessions' rows, and at which the selected one stands."""
        listed, now = self.sessions, self.clock()
        self.on_screen = seen = listed.visible(rows)
        if not seen:
            return self._nothing(columns.width)[:rows], None
        lines: list[str] = []
        place = None
        for entry in seen:
            is_selected = entry is listed.current
            if is_selected:
                place = len(lines)
            marks = Marks(self.is_current(entry), self.holders.get(key_of(entry)) is not None)
            if is_selected and self.mode == "rename":
                lines.append("❯     " + cut_cells(self.title.text, columns.width - 7))
            else:
                row = session_row(entry, columns, marks, self.theme, now, selected=is_selected)
                lines.append(row)
            if listed.query.search:
                hits = listed.hits.get(key_of(entry), ())[:HITS_SHOWN]
                lines += [hit_row(hit, columns.width, self.theme) for hit in hits]
        return lines[:rows], place

    def _nothing(self, width: int) -> list[str]:
        """Words in place of an empty list."""
        if self.looking:
            return []
        wider = next(iter(self.scopes[self.scope + 1 :]), "")
        where = f"Tab looks {wider if wider.startswith('every') else f'in {wider}'}" if wider else ""
        if self.sessions.total:
            words = ["nothing matches", " · ".join(filter(None, ("Esc clears the filter", where)))]
        else:
            words = ["no sessions here" if wider else "no sessions anywhere", where]
        return ["", *("  " + cut_cells(line, width - 2) for line in words)]

    def _status(self, width: int) -> str:
        entry = self.sessions.current
        if self.mode == "confirm" and entry is not None:
            name = safe_line(entry.title or entry.id, max(10, width - 30))
            return self.theme.paint("warn", cut_cells(f"move to the trash? (y/n) {name}", width))
        if self.message:
            return self.theme.paint("warn", cut_cells(safe_line(self.message, width + 1), width))
        if entry is None:
            return ""
        held = self.holders.get(key_of(entry))
        text = details(
            entry,
            is_current=self.is_current(entry),
            holder=holder_words(SessionBusy("", "", *held), self.clock()) if held else "",
            parent=self.sessions.parent_of(entry),
            more_hits=more_hits(self.sessions.hits.get(key_of(entry), ())),
        )
        return self.theme.paint("dim", cut_cells(text, width))
