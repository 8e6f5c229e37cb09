"""The keys that lists on a screen of their own have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from prompt_toolkit.filters import Filter
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from mewcode.repl.line_edit import LineEdit


class ListActions(Protocol):
    """What these keys ask for. Called from the event loop; none blocks."""

    def acts(self) -> None:
        """Called before what a key asks for: words that told of the one before go."""
        ...

    def move(self, by: int) -> None: ...

    def page(self, pages: int) -> None: ...

    def to_end(self, *, last: bool) -> None: ...

    def leave(self) -> None:
        """Ctrl-C."""
        ...

    def focus(self, *, here: bool) -> None: ...


class ListKeys:
    """``bindings`` grow with each call."""

    def __init__(self, actions: ListActions) -> None:
        self.bindings = KeyBindings()
        self._actions = actions

    def bind(self, keys: Iterable[str], when: Filter, act: Callable[[], object]) -> None:
        def pressed(_: KeyPressEvent) -> None:
            self._actions.acts()
            act()

        for key in keys:
            self.bindings.add(key, filter=when)(pressed)

    def bind_moves(self, when: Filter) -> None:
        """The keys that move through a list or a preview, the one that leaves, and what the terminal says of
        its window."""
        actions = self._actions
        self.bind(("up",), when, lambda: actions.move(-1))
        self.bind(("down",), when, lambda: actions.move(1))
        self.bind(("pageup",), when, lambda: actions.page(-1))
        self.bind(("pagedown",), when, lambda: actions.page(1))
        self.bind(("home",), when, lambda: actions.to_end(last=False))
        self.bind(("end",), when, lambda: actions.to_end(last=True))
        self.bind(("c-c",), when, actions.leave)
        self.bindings.add("escape", "[", "I")(lambda _: actions.focus(here=True))
        self.bindings.add("escape", "[", "O")(lambda _: actions.focus(here=False))

    def bind_answers(self, when: Filter, answer: Callable[[bool], None]) -> None:
        """``y`` says yes, any other key no."""
        self.bindings.add(Keys.Any, filter=when)(lambda event: answer(event.data in ("y", "Y")))
        for key in ("enter", "escape", "c-c", "backspace", "up", "down", "left", "right", "tab"):
            self.bindings.add(key, filter=when)(lambda _: answer(False))

    def bind_editing(self, when: Filter, line: Callable[[], LineEdit], changed: Callable[[], None]) -> None:
        """The keys that edit a line."""

        def edit(act: Callable[[LineEdit, KeyPressEvent], None]) -> Callable[[KeyPressEvent], None]:
            def pressed(event: KeyPressEvent) -> None:
                act(line(), event)
                changed()

            return pressed

        for key in (Keys.Any, Keys.BracketedPaste):
            self.bindings.add(key, filter=when)(edit(lambda edited, event: edited.insert(event.data)))
        self.bindings.add("backspace", filter=when)(edit(lambda edited, _: edited.erase()))
        self.bindings.add("c-w", filter=when)(edit(lambda edited, _: edited.erase_word()))
        self.bindings.add("c-u", filter=when)(edit(lambda edited, _: edited.clear()))
