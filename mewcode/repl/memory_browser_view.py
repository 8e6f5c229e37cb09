"""The whole of the browser of notes as lines of a screen. Needs no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from mewcode.infra.terminal_text import safe_line
from mewcode.memory.answers.view import withheld_words
from mewcode.repl.cell_width import cell_width, cut_cells
from mewcode.repl.frame import (
    DETAILS_FROM,
    HEADER_FROM,
    HELP_FROM,
    RESET,
    REVERSE,
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
from mewcode.repl.line_wrap import break_lines
from mewcode.repl.memory_browser_items import (
    BOTH_LEVELS,
    EVERY_TYPE,
    TABS,
    ChangeItem,
    FileItem,
    ItemList,
    Tab,
)
from mewcode.repl.memory_browser_rows import STANDING_WORDS, details, item_row
from mewcode.repl.theme import Theme

Mode = Literal["list", "preview", "confirm"]

_PLACEHOLDER = "type to filter"
_LETTERS = {"^E": "e", "^P": "p", "^X": "m", "^Y": "a", "^D": "d", "^R": "r", "^Z": "u"}
"""What does the same in the preview, where nothing is typed."""
# Rows that a message may take where there is room.
_SAID_ROWS = 3
_HELP_CONFIRM = "y does it · any other key leaves it as it is"
_EMPTY: dict[Tab, tuple[str, ...]] = {
    "notes": ("no notes yet", "# TEXT at the prompt notes something; the agent adds what it learns"),
    "inbox": ("nothing waits for your yes", "what rests on tools or pages is laid here before it counts"),
    "instructions": ("no instructions here", "/init writes a first MEWCODE.md"),
    "history": ("no note was changed yet", "# TEXT at the prompt notes something"),
}


@dataclass(slots=True)
class BrowserView:
    """What is to be seen. ``message`` stands in place of the details until a key, ``question`` while the mode
    is "confirm". ``reading``: tabs that are being read; ``doing``: what is being done meanwhile.
    ``withheld``: files of notes that came with the folder, which the user does not trust."""

    theme: Theme
    clock: Callable[[], float] = time.time
    items: ItemList = field(default_factory=ItemList)
    mode: Mode = "list"
    filter: LineEdit = field(default_factory=LineEdit)
    message: str = ""
    question: str = ""
    reading: set[Tab] = field(default_factory=set)
    doing: str = ""
    withheld: int = 0
    news: Callable[[], str] = lambda: ""
    preview: ShownPages | None = None
    preview_title: str = ""
    preview_note: str = ""

    @property
    def listed(self) -> ItemList:
        return self.items

    @property
    def looking(self) -> str:
        return self.doing or ("reading…" if self.items.tab in self.reading else "")

    def shows_preview(self, width: int) -> bool:
        """Whether a preview is seen: beside a wide list always."""
        return self.mode == "preview" or bool(list_width(width))

    def frame(self, width: int, height: int) -> Frame:
        """The screen at that size; one with less than 10 columns or 3 rows is cut off."""
        width, height = max(10, width), max(3, height)
        if left := list_width(width):
            preview = self._preview_frame(width - left - 2, height)
            return beside(self._list_frame(left, height), preview, left, self.theme)
        if self.mode == "preview":
            return self._preview_frame(width, height)
        return self._list_frame(width, height)

    def _preview_frame(self, width: int, height: int) -> Frame:
        foot = self._preview_foot(width) if self.mode == "preview" else ""
        return preview_frame(
            self.preview_title, self.preview, self.preview_note, foot, width, height, self.theme
        )

    def _preview_foot(self, width: int) -> str:
        if self.message:
            return safe_line(self.message, width + 1)
        there = [words.partition(" ") for words in self._actions() if words[:2] in _LETTERS]
        letters = [f"{_LETTERS[key]} {does}" for key, _, does in there]
        return " · ".join(("↑↓ scroll", *letters, "← goes back"))

    def _actions(self) -> tuple[str, ...]:
        """The keys that do something with the selected one, each with a word on what."""
        item = self.items.current
        if isinstance(item, FileItem):
            return "enter edits", "→ shows"
        if isinstance(item, ChangeItem):
            return "→ shows", "^R takes it back", "^Z takes the last back"
        if item is None:
            return ("^Z undoes",)
        if item.standing == "inbox":
            return "→ shows", "^Y approves", "^D refuses", "^E edits", "^Z undoes"
        if item.standing == "forgotten":
            return "→ shows", "^R restores", "^Z undoes"
        if item.standing == "live":
            pins = "^P unpins" if item.entry.pinned else "^P pins"
            return "→ shows", "^E edits", pins, "^X moves", "^D forgets", "^Z undoes"
        return "→ shows", "^R restores", "^E edits", "^D forgets", "^Z undoes"

    def _list_frame(self, width: int, height: int) -> Frame:
        top = [self._headline(width), filter_row(self.filter.text, _PLACEHOLDER, width, self.theme)]
        if height >= HEADER_FROM and self.items.tab in ("notes", "inbox"):
            top.append(self._filters(width))
        bottom = []
        if height >= DETAILS_FROM:
            bottom += self._status(width, _SAID_ROWS if height >= HEADER_FROM else 1)
        if height >= HELP_FROM:
            bottom.append(self.theme.paint("dim", cut_cells(self._help(), width)))
        body = self._body(width, height - len(top) - len(bottom))
        cursor = filter_cursor(self.filter.text, width) if self.mode == "list" else None
        return list_frame(top, body, bottom, height, cursor)

    def _headline(self, width: int) -> str:
        """The tabs, the one that is open reversed, and how many there are in it."""
        names = {tab: f" {tab}{self._count(tab)} " for tab in TABS}
        if sum(map(cell_width, names.values())) > width:
            names = {self.items.tab: cut_cells(names[self.items.tab], width)}
        shown = "".join(
            f"{REVERSE}{name}{RESET}" if tab == self.items.tab else self.theme.paint("dim", name)
            for tab, name in names.items()
        )
        items = self.items
        facts = f"{len(items.shown):,} of {items.total:,}" if items.words else ""
        parts = filter(None, (self.news(), facts, self.looking))
        left = max(0, width - sum(map(cell_width, names.values())))
        return shown + self.theme.paint("dim", cut_cells("  " + " · ".join(parts), left))

    def _count(self, tab: Tab) -> str:
        count = self.items.count(tab)
        return f" {count:,}" if count else ""

    def _filters(self, width: int) -> str:
        items = self.items
        parts = [(f"^T {items.type or EVERY_TYPE}", items.type is not None)]
        parts.append(
            (f"^L {f'{items.level} level' if items.level else BOTH_LEVELS}", items.level is not None)
        )
        if items.tab == "notes":
            state = STANDING_WORDS.get(items.state, items.state)
            parts.insert(0, (f"^S {state}", items.state != "live"))
        line, left = "  ", width - 2
        for number, (words, is_set) in enumerate(parts):
            shown = cut_cells(f"{' · ' if number else ''}{words}", max(0, left))
            line += self.theme.paint("accent" if is_set else "dim", shown)
            left -= cell_width(shown)
        return line

    def _body(self, width: int, rows: int) -> list[str]:
        seen, now = self.items.visible(rows), self.clock()
        if not seen:
            return self._nothing(width)[:rows]
        current = self.items.current
        return [item_row(item, width, self.theme, now, selected=item is current) for item in seen]

    def _nothing(self, width: int) -> list[str]:
        """Words in place of an empty list."""
        items = self.items
        if items.count(items.tab) is None:  # not read yet, or not to be read, which is said
            return []
        words: tuple[str, ...]
        if items.words:
            others = "^S shows other states" if items.tab == "notes" else ""
            words = ("nothing matches", " · ".join(filter(None, ("Esc clears the filter", others))))
        elif items.is_filtered:
            words = ("none of these", "^S, ^T and ^L show others")
        elif items.tab == "notes" and items.has_others:
            words = ("no note is in force", "^S shows the others")
        else:
            words = _EMPTY[items.tab]
        if self.withheld and items.tab in ("notes", "inbox"):
            words = (*words, withheld_words(self.withheld))
        return ["", *("  " + cut_cells(line, width - 2) for line in words)]

    def _status(self, width: int, rows: int) -> list[str]:
        """A question or what was said last, in so many rows at most; else what is known of the selected one,
        in one."""
        if said := self.question if self.mode == "confirm" else self.message:
            text = safe_line(said, rows * width)
            lines = [text[start:end] for start, end in break_lines(text, width)]
            return [self.theme.paint("warn", line) for line in lines[:rows]]
        current = self.items.current
        text = details(current, self.clock()) if current is not None else ""
        return [self.theme.paint("dim", cut_cells(text, width))]

    def _help(self) -> str:
        if self.mode == "confirm":
            return _HELP_CONFIRM
        return " · ".join((*self._actions(), "tab next"))
