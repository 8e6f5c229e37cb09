"""Keys that edit the input: by characters as people see them, markers of pastes as one, earlier inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, Filter, emacs_mode, has_selection, vi_insert_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from mewcode.repl.completer import completes
from mewcode.repl.graphemes import length_after, length_before
from mewcode.repl.history import HistorySearch
from mewcode.repl.pasted import marker_after, marker_before


class Editing(Protocol):
    """What these keys ask for; see `repl.composer.Composer`."""

    search: HistorySearch | None

    def paste(self, text: str) -> None: ...

    def paste_picture(self) -> None: ...

    def edit(self) -> None: ...

    def start_search(self) -> None: ...

    def show_found(self) -> None: ...

    def end_search(self, *, keep: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class _EditKeys:
    buffer: Buffer
    editing: Editing

    def _before(self) -> int:
        """Code points of what stands right before the cursor."""
        line = self.buffer.document.current_line_before_cursor
        if not line:
            return min(1, self.buffer.cursor_position)
        return marker_before(line) or length_before(line)

    def _after(self) -> int:
        document = self.buffer.document
        line = document.current_line_after_cursor
        if not line:
            return min(1, len(document.text) - document.cursor_position)
        return marker_after(line) or length_after(line)

    def backspace(self, event: KeyPressEvent) -> None:
        for _ in range(event.arg):
            if not (length := self._before()):
                return
            self.buffer.delete_before_cursor(length)
        if completes(self.buffer.document):
            self.buffer.start_completion()

    def delete(self, event: KeyPressEvent) -> None:
        for _ in range(event.arg):
            self.buffer.delete(self._after())

    def left(self, event: KeyPressEvent) -> None:
        for _ in range(event.arg):
            if self.buffer.document.current_line_before_cursor:
                self.buffer.cursor_position -= self._before()

    def right(self, event: KeyPressEvent) -> None:
        for _ in range(event.arg):
            if self.buffer.document.current_line_after_cursor:
                self.buffer.cursor_position += self._after()

    def paste(self, event: KeyPressEvent) -> None:
        self.editing.paste(event.data)

    # The search through earlier inputs.

    def begin(self, event: KeyPressEvent) -> None:
        self.editing.start_search()

    def type(self, event: KeyPressEvent) -> None:
        text = event.data.partition("\n")[0].partition("\r")[0]
        if self.editing.search is not None and text.isprintable():
            self.editing.search.type(text)
            self.editing.show_found()

    def erase(self, event: KeyPressEvent) -> None:
        if self.editing.search is not None:
            self.editing.search.erase()
            self.editing.show_found()

    def older(self, event: KeyPressEvent) -> None:
        if self.editing.search is not None:
            self.editing.search.older()
            self.editing.show_found()

    def newer(self, event: KeyPressEvent) -> None:
        if self.editing.search is not None:
            self.editing.search.newer()
            self.editing.show_found()

    def accept(self, event: KeyPressEvent) -> None:
        self.editing.end_search(keep=True)

    def abandon(self, event: KeyPressEvent) -> None:
        self.editing.end_search(keep=False)


def add_edit_keys(bindings: KeyBindings, buffer: Buffer, editing: Editing, choosing: Filter) -> None:
    """Adds the keys. ``choosing``: a panel takes the keys, and these do nothing."""
    keys = _EditKeys(buffer, editing)
    add: Callable[..., Callable[[Callable[[KeyPressEvent], None]], object]] = bindings.add
    typing = ~choosing & (emacs_mode | vi_insert_mode)
    add("c-h", filter=typing & ~has_selection, save_before=_not_repeated)(keys.backspace)
    add("delete", filter=typing & ~has_selection, save_before=_not_repeated)(keys.delete)
    add("left", filter=~choosing & ~has_selection)(keys.left)
    add("right", filter=~choosing & ~has_selection)(keys.right)
    add(Keys.BracketedPaste, filter=~choosing)(keys.paste)
    add("c-x", "c-e", filter=~choosing)(lambda _: editing.edit())
    add("c-v", filter=typing)(lambda _: editing.paste_picture())
    add("c-r", filter=typing)(keys.begin)
    searching = ~choosing & Condition(lambda: editing.search is not None)
    add(Keys.Any, filter=searching)(keys.type)
    add(Keys.BracketedPaste, filter=searching)(keys.type)
    add("c-h", filter=searching)(keys.erase)
    for key in ("c-r", "up", "c-p"):
        add(key, filter=searching)(keys.older)
    for key in ("c-s", "down", "c-n"):
        add(key, filter=searching)(keys.newer)
    for key in ("enter", "c-j", "tab", "left", "right", "home", "end", "c-a", "c-e"):
        add(key, filter=searching)(keys.accept)
    for key in ("escape", "c-g", "c-c"):
        add(key, filter=searching)(keys.abandon)


def _not_repeated(event: KeyPressEvent) -> bool:
    """A key that is held down is undone as one change."""
    return not event.is_repeat
