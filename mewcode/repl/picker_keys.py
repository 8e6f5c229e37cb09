"""The keys of the picker, by what it is doing."""

from __future__ import annotations

from typing import Protocol

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings

from mewcode.repl.line_edit import LineEdit
from mewcode.repl.list_keys import ListActions, ListKeys
from mewcode.repl.picker_view import PickerView


class Actions(ListActions, Protocol):
    """What keys ask for. Called from the event loop; none blocks."""

    @property
    def view(self) -> PickerView: ...

    def filter_changed(self) -> None: ...

    def choose(self) -> None: ...

    def escape(self) -> None: ...

    def next_scope(self) -> None: ...

    def next_sort(self) -> None: ...

    def pin(self) -> None: ...

    def begin_rename(self) -> None: ...

    def end_rename(self, *, keep: bool) -> None: ...

    def ask_trash(self) -> None: ...

    def answer_trash(self, *, yes: bool) -> None: ...

    def restore(self) -> bool:
        """Whether there is something to bring back."""
        ...

    def open_preview(self) -> None: ...

    def close_preview(self) -> None: ...


def make_keys(actions: Actions) -> KeyBindings:
    """The bindings; which hold depends on the view's mode."""
    keys, view = ListKeys(actions), actions.view
    in_list = Condition(lambda: view.mode == "list")
    renames = Condition(lambda: view.mode == "rename")
    previews = Condition(lambda: view.mode == "preview")
    moves, bind = in_list | previews, keys.bind
    keys.bind_answers(Condition(lambda: view.mode == "confirm"), lambda yes: actions.answer_trash(yes=yes))
    keys.bind_editing(in_list, lambda: view.filter, actions.filter_changed)
    keys.bind_editing(renames, lambda: view.title, lambda: None)
    keys.bind_moves(moves)
    bind(("enter",), moves, actions.choose)
    bind(("escape",), in_list, actions.escape)
    bind(("tab",), in_list, actions.next_scope)
    bind(("c-s",), in_list, actions.next_sort)
    bind(("c-p",), in_list, actions.pin)
    bind(("c-r",), in_list, actions.begin_rename)
    bind(("c-d",), in_list, actions.ask_trash)
    bind(("right", "c-o"), in_list, actions.open_preview)
    bind(("left", "escape", "c-o", "q"), previews, actions.close_preview)
    bind(("enter",), renames, lambda: actions.end_rename(keep=True))
    bind(("escape", "c-c"), renames, lambda: actions.end_rename(keep=False))
    bindings = keys.bindings
    for key, act in (("left", LineEdit.left), ("right", LineEdit.right),
                     ("home", LineEdit.home), ("end", LineEdit.end)):  # fmt: skip
        bindings.add(key, filter=renames)(lambda _, act=act: act(view.title))
    bindings.add("c-z")(lambda event: actions.restore() or event.app.suspend_to_background())
    return bindings
