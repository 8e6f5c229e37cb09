"""The input: its buffer, its history, what each key does. Knows nothing of the session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition, vi_insert_mode
from prompt_toolkit.history import InMemoryHistory, ThreadedHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys

from mewcode.repl.completer import completes
from mewcode.repl.composer import Composer
from mewcode.repl.edit_keys import add_edit_keys
from mewcode.repl.history import ProjectHistory
from mewcode.repl.panel import Panel
from mewcode.repl.whole_markers import WholeMarkers


class Actions(Protocol):
    """What keys ask for. Called from the event loop; none blocks."""

    composer: Composer

    @property
    def panel(self) -> Panel | None: ...

    def submit(self, text: str) -> None: ...

    def escape(self, *, empty: bool) -> None:
        """Esc, with nothing open that it would close; ``empty``: nothing stands in the input."""
        ...

    def interrupt(self, text: str) -> bool:
        """Ctrl-C; True when the input should be cleared."""
        ...

    def leave(self) -> None:
        """Ctrl-D on an empty line."""
        ...

    def next_mode(self) -> None: ...

    def changed(self) -> None:
        """The panel changed."""
        ...

    def take_back(self) -> None:
        """Alt-Up: the last queued message goes back into the input."""
        ...

    def focus(self, *, here: bool) -> None:
        """The terminal's window came to the front, or left it."""
        ...

    def open_transcript(self) -> None:
        """Ctrl-O."""
        ...


def make_buffer(completer: Completer, root: Path | None) -> Buffer:
    """``root``: the project whose history it has; without one it remembers nothing beyond this run."""
    buffer = Buffer(
        multiline=True,
        history=InMemoryHistory() if root is None else ThreadedHistory(ProjectHistory(root)),
        completer=completer,
        # A task for each key is only worth it where there is something to complete.
        complete_while_typing=Condition(lambda: completes(buffer.document)),
    )
    WholeMarkers(buffer)
    return buffer


@dataclass(frozen=True, slots=True)
class _Keys:
    buffer: Buffer
    actions: Actions

    def enter(self, event: KeyPressEvent) -> None:
        panel = self.actions.panel
        if panel is not None and panel.writing is None:
            panel.choose()
            self.actions.changed()
            return
        state = self.buffer.complete_state
        if state is not None and state.current_completion is not None:
            self.buffer.apply_completion(state.current_completion)
            return
        text = self.buffer.text
        if text.endswith("\\") and self.buffer.cursor_position == len(text):
            self.buffer.delete_before_cursor()
            self.buffer.insert_text("\n")
            return
        text = self.actions.composer.take(remember=panel is None)
        event.app.vi_state.input_mode = InputMode.INSERT
        if panel is not None:
            panel.write(text)
        elif text:
            self.actions.submit(text)

    def newline(self, event: KeyPressEvent) -> None:
        self.buffer.insert_text("\n")

    def escape(self, event: KeyPressEvent) -> None:
        if self.actions.panel is not None:
            self.actions.panel.cancel()
            self.actions.changed()
        elif (state := self.buffer.complete_state) is not None and state.completions:
            self.buffer.cancel_completion()
        else:
            self.actions.escape(empty=not self.buffer.text)

    def control_c(self, event: KeyPressEvent) -> None:
        if self.actions.interrupt(self.buffer.text):
            self.buffer.reset()

    def control_d(self, event: KeyPressEvent) -> None:
        if self.buffer.text:
            self.buffer.delete()
        else:
            self.actions.leave()

    def suspend(self, event: KeyPressEvent) -> None:
        """Ctrl-Z, as in any program of the shell; ``fg`` brings it back."""
        event.app.suspend_to_background()

    def shift_tab(self, event: KeyPressEvent) -> None:
        self.actions.next_mode()

    def take_back(self, event: KeyPressEvent) -> None:
        self.actions.take_back()

    def look_for(self, event: KeyPressEvent) -> None:
        """A letter, or a pasted text, while a panel asks: it may filter."""
        if self.actions.panel is not None:
            self.actions.panel.look_for(event.data)
            self.actions.changed()

    def erase(self, event: KeyPressEvent) -> None:
        if self.actions.panel is not None:
            self.actions.panel.erase()
            self.actions.changed()

    def digit(self, event: KeyPressEvent) -> None:
        if self.actions.panel is not None and self.actions.panel.filters:
            self.look_for(event)
        elif self.actions.panel is not None:
            self.actions.panel.choose(int(event.data) - 1)
            self.actions.changed()

    def up(self, event: KeyPressEvent) -> None:
        if self.actions.panel is not None:
            self.actions.panel.move(-1)
            self.actions.changed()

    def down(self, event: KeyPressEvent) -> None:
        if self.actions.panel is not None:
            self.actions.panel.move(1)
            self.actions.changed()


def _ignore(event: KeyPressEvent) -> None:
    """A key that would change the input while a panel asks for a choice does nothing."""


def make_bindings(buffer: Buffer, actions: Actions) -> KeyBindings:
    """The keys, over prompt-toolkit's own for editing."""
    keys, bindings = _Keys(buffer, actions), KeyBindings()
    choosing = Condition(lambda: actions.panel is not None and actions.panel.writing is None)
    add: Callable[..., Callable[[Callable[[KeyPressEvent], None]], object]] = bindings.add
    add("enter")(keys.enter)
    add("escape", "enter", filter=~choosing)(keys.newline)
    add("c-j", filter=~choosing)(keys.newline)
    # In vi mode Esc first ends the typing.
    add("escape", filter=choosing | ~vi_insert_mode)(keys.escape)
    add("c-c")(keys.control_c)
    add("c-d")(keys.control_d)
    add("c-z")(keys.suspend)
    add("s-tab")(keys.shift_tab)
    add("escape", "up", filter=~choosing)(keys.take_back)
    for digit in "123456789":
        add(digit, filter=choosing)(keys.digit)
    add("up", filter=choosing)(keys.up)
    add("down", filter=choosing)(keys.down)
    add("c-p", filter=choosing)(keys.up)
    add("c-n", filter=choosing)(keys.down)
    add("c-h", filter=choosing)(keys.erase)
    add(Keys.Any, filter=choosing)(keys.look_for)
    add(Keys.BracketedPaste, filter=choosing)(keys.look_for)
    # Focus reports of the terminal are no input.
    add("escape", "[", "I")(lambda _: actions.focus(here=True))
    add("escape", "[", "O")(lambda _: actions.focus(here=False))
    add("c-o")(lambda _: actions.open_transcript())
    add_edit_keys(bindings, buffer, actions.composer, choosing)
    return bindings
