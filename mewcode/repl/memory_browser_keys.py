"""The keys of the browser of notes, by what it is doing."""

from __future__ import annotations

from typing import Protocol

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings

from mewcode.repl.list_keys import ListActions, ListKeys
from mewcode.repl.memory_browser_view import BrowserView


class Actions(ListActions, Protocol):
    """What keys ask for. Called from the event loop; none blocks."""

    @property
    def view(self) -> BrowserView: ...

    def filter_changed(self) -> None: ...

    def escape(self) -> None: ...

    def next_tab(self, by: int) -> None: ...

    def next_state(self) -> None: ...

    def next_type(self) -> None: ...

    def next_level(self) -> None: ...

    def choose(self) -> None:
        """Enter: shows the item, or edits a file of instructions."""
        ...

    def edit(self) -> None: ...

    def pin(self) -> None: ...

    def move_level(self) -> None: ...

    def approve(self) -> None: ...

    def ask_forget(self) -> None: ...

    def restore(self) -> None:
        """Brings a note back, or takes the selected change back."""
        ...

    def ask_undo(self) -> None: ...

    def answer(self, yes: bool) -> None: ...

    def open_preview(self) -> None: ...

    def close_preview(self) -> None: ...


def make_keys(actions: Actions) -> KeyBindings:
    """The bindings; which hold depends on the view's mode."""
    keys, view = ListKeys(actions), actions.view
    in_list = Condition(lambda: view.mode == "list")
    previews = Condition(lambda: view.mode == "preview")
    moves, bind = in_list | previews, keys.bind
    keys.bind_answers(Condition(lambda: view.mode == "confirm"), actions.answer)
    keys.bind_editing(in_list, lambda: view.filter, actions.filter_changed)
    keys.bind_moves(moves)
    bind(("enter",), in_list, actions.choose)
    bind(("escape",), in_list, actions.escape)
    bind(("tab",), moves, lambda: actions.next_tab(1))
    bind(("s-tab",), moves, lambda: actions.next_tab(-1))
    bind(("c-s",), in_list, actions.next_state)
    bind(("c-t",), in_list, actions.next_type)
    bind(("c-l",), in_list, actions.next_level)
    bind(("right", "c-o"), in_list, actions.open_preview)
    bind(("left", "escape", "c-o", "q", "enter"), previews, actions.close_preview)
    for control, letters, act in (
        ("c-e", "e", actions.edit),
        ("c-p", "p", actions.pin),
        ("c-x", "m", actions.move_level),
        ("c-y", "a", actions.approve),
        ("c-d", "dx", actions.ask_forget),
        ("c-r", "r", actions.restore),
        ("c-z", "u", actions.ask_undo),
    ):
        bind((control,), moves, act)
        # There nothing is typed.
        bind(letters, previews, act)
    return keys.bindings
