"""The input: its buffer, its history, what each key does. Knows nothing of the session."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, ThreadedHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from mewcode.repl.commands import CommandRegistry
from mewcode.repl.panel import Panel


class Actions(Protocol):
    """What keys ask for. Called from the event loop; none blocks."""

    @property
    def panel(self) -> Panel | None: ...

    def submit(self, text: str) -> None: ...

    def stop(self) -> None:
        """Esc."""
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

    def take_back(self) -> str | None:
        """Alt-Up: the last queued message, for editing."""
        ...


class ProjectHistory(History):
    """Input history of one project, in a file where the system keeps such state. The file's place is found
    when it is first needed; a file that cannot be written costs the history, not the input."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root
        self._file: FileHistory | None = None

    def _open(self) -> FileHistory:
        if self._file is None:
            import hashlib

            import platformdirs

            folder = Path(platformdirs.user_state_dir("mewcode", appauthor=False)) / "history"
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            name = hashlib.sha256(os.fsencode(self._root)).hexdigest()[:16]
            path = folder / name
            path.touch(mode=0o600)
            self._file = FileHistory(str(path))
        return self._file

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(self._open().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        try:
            self._open().store_string(string)
        except OSError:
            return


class CommandCompleter(Completer):
    """Completes ``/`` commands and the values of their arguments."""

    def __init__(self, registry: CommandRegistry) -> None:
        self._registry = registry

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        name, space, argument = text[1:].partition(" ")
        if not space:
            for command in self._registry.commands.values():
                if command.name.startswith(name):
                    yield Completion(
                        command.name, -len(name), f"/{command.name}", display_meta=command.summary
                    )
        elif (found := self._registry.commands.get(name)) is not None:
            for value in found.values:
                if value.startswith(argument):
                    yield Completion(value, -len(argument))


def make_buffer(registry: CommandRegistry, root: Path) -> Buffer:
    buffer = Buffer(
        multiline=True,
        history=ThreadedHistory(ProjectHistory(root)),
        completer=CommandCompleter(registry),
        # A task for each key is only worth it where there is something to complete.
        complete_while_typing=Condition(lambda: buffer.text.startswith("/")),
    )
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
        self.buffer.reset(append_to_history=bool(text.strip()) and panel is None)
        if panel is not None:
            panel.write(text.strip())
        elif text.strip():
            self.actions.submit(text.strip())

    def newline(self, event: KeyPressEvent) -> None:
        self.buffer.insert_text("\n")

    def escape(self, event: KeyPressEvent) -> None:
        if self.actions.panel is not None:
            self.actions.panel.cancel()
            self.actions.changed()
        elif self.buffer.complete_state is not None:
            self.buffer.cancel_completion()
        else:
            self.actions.stop()

    def control_c(self, event: KeyPressEvent) -> None:
        if self.actions.interrupt(self.buffer.text):
            self.buffer.reset()

    def control_d(self, event: KeyPressEvent) -> None:
        if self.buffer.text:
            self.buffer.delete()
        else:
            self.actions.leave()

    def shift_tab(self, event: KeyPressEvent) -> None:
        self.actions.next_mode()

    def take_back(self, event: KeyPressEvent) -> None:
        if text := self.actions.take_back():
            self.buffer.insert_text(text)

    def digit(self, event: KeyPressEvent) -> None:
        if self.actions.panel is not None:
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
    add("escape")(keys.escape)
    add("c-c")(keys.control_c)
    add("c-d")(keys.control_d)
    add("s-tab")(keys.shift_tab)
    add("escape", "up", filter=~choosing)(keys.take_back)
    for digit in "123456789":
        add(digit, filter=choosing)(keys.digit)
    add("up", filter=choosing)(keys.up)
    add("down", filter=choosing)(keys.down)
    add("c-p", filter=choosing)(keys.up)
    add("c-n", filter=choosing)(keys.down)
    add(Keys.Any, filter=choosing)(_ignore)
    add(Keys.BracketedPaste, filter=choosing)(_ignore)
    # Focus reports of the terminal are no input.
    add("escape", "[", "I")(_ignore)
    add("escape", "[", "O")(_ignore)
    return bindings
