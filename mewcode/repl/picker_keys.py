"""The keys of the picker, by what it is doing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from prompt_toolkit.filters import Condition, Filter
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from mewcode.repl.line_edit import LineEdit
from mewcode.repl.picker_view import PickerView


class Actions(Protocol):
    """What keys ask for. Called from the event loop; none blocks."""

    @property
    def view(self) -> PickerView: ...

    def move(self, by: int) -> None: ...

    def page(self, pages: int) -> None: ...

    def to_end(self, *, last: bool) -> None: ...

    def filter_changed(self) -> None: ...

    def choose(self) -> None: ...

    def leave(self) -> None:
        """Ctrl-C."""
        ...

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

    def focus(self, *, here: bool) -> None: ...


def make_keys(actions: Actions) -> KeyBindings:
    """The bindings; which hold depends on the view's mode."""
    bindings, view = KeyBindings(), actions.view
    in_list = Condition(lambda: view.mode == "list")
    renames = Condition(lambda: view.mode == "rename")
    confirms = Condition(lambda: view.mode == "confirm")
    previews = Condition(lambda: view.mode == "preview")
    moves = in_list | previews

    def bind(keys: Iterable[str], when: Filter, act: Callable[[], object]) -> None:
        def pressed(_: KeyPressEvent) -> None:
            view.message = ""
            act()

        for key in keys:
            bindings.add(key, filter=when)(pressed)

    bindings.add(Keys.Any, filter=confirms)(lambda event: actions.answer_trash(yes=event.data in ("y", "Y")))
    for key in ("enter", "escape", "c-c", "backspace", "up", "down", "left", "right", "tab"):
        bindings.add(key, filter=confirms)(lambda _: actions.answer_trash(yes=False))
    _bind_editing(bindings, in_list, lambda: view.filter, actions.filter_changed)
    _bind_editing(bindings, renames, lambda: view.title, lambda: None)
    bind(("up",), moves, lambda: actions.move(-1))
    bind(("down",), moves, lambda: actions.move(1))
    bind(("pageup",), moves, lambda: actions.page(-1))
    bind(("pagedown",), moves, lambda: actions.page(1))
    bind(("home",), moves, lambda: actions.to_end(last=False))
    bind(("end",), moves, lambda: actions.to_end(last=True))
    bind(("enter",), moves, actions.choose)
    bind(("escape",), in_list, actions.escape)
    bind(("tab",), in_list, actions.next_scope)
    bind(("c-s",), in_list, actions.next_sort)
    bind(("c-p",), in_list, actions.pin)
    bind(("c-r",), in_list, actions.begin_rename)
    bind(("c-d",), in_list, actions.ask_trash)
    bind(("right", "c-o"), in_list, actions.open_preview)
    bind(("left", "escape", "c-o", "q"), previews, actions.close_preview)
    bind(("c-c",), moves, actions.leave)
    bind(("enter",), renames, lambda: actions.end_rename(keep=True))
    bind(("escape", "c-c"), renames, lambda: actions.end_rename(keep=False))
    for key, act in (("left", LineEdit.left), ("right", LineEdit.right),
                     ("home", LineEdit.home), ("end", LineEdit.end)):  # fmt: skip
        bindings.add(key, filter=renames)(lambda _, act=act: act(view.title))
    bindings.add("c-z")(lambda event: actions.restore() or event.app.suspend_to_background())
    bindings.add("escape", "[", "I")(lambda _: actions.focus(here=True))
    bindings.add("escape", "[", "O")(lambda _: actions.focus(here=False))
    return bindings


def _bind_editing(
    bindings: KeyBindings, when: Filter, line: Callable[[], LineEdit], changed: Callable[[], None]
) -> None:
    """The keys that edit a line."""

    def edit(act: Callable[[LineEdit, KeyPressEvent], None]) -> Callable[[KeyPressEvent], None]:
        def pressed(event: KeyPressEvent) -> None:
            act(line(), event)
            changed()

        return pressed

    for key in (Keys.Any, Keys.BracketedPaste):
        bindings.add(key, filter=when)(edit(lambda edited, event: edited.insert(event.data)))
    bindings.add("backspace", filter=when)(edit(lambda edited, _: edited.erase()))
    bindings.add("c-w", filter=when)(edit(lambda edited, _: edited.erase_word()))
    bindings.add("c-u", filter=when)(edit(lambda edited, _: edited.clear()))
