"""A list of which one item is selected: which one, and which rows are seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Selection(Generic[T, K]):
    """``shown`` are the items, ``selected`` counts among them. ``key``: what tells an item from all others,
    whatever becomes of it."""

    def __init__(self, key: Callable[[T], K]) -> None:
        self.shown: list[T] = []
        self.selected = 0
        self.top = 0
        self._seen = 1
        self._key = key
        self._is_held = False

    @property
    def current(self) -> T | None:
        """The item that is selected."""
        return self.shown[self.selected] if self.shown else None

    def show(self, items: list[T]) -> None:
        """Until the user has turned to one, the first is selected; then the selection stays on its item where
        that is still shown, else at its place in the list."""
        before, self.shown = self.current, items
        if not self._is_held:
            self.selected, self.top = self._first_place(), 0
        elif before is not None:
            self.select(before)

    def _first_place(self) -> int:
        """Where the selection is at first."""
        return 0

    def let_go(self) -> None:
        """The list is to be another one: its first is selected, wherever the selection was."""
        self._is_held = False

    def hold(self) -> None:
        """The user has turned to the selected one: it stays selected while others come."""
        self._is_held = True

    def select(self, wanted: T) -> None:
        """This one where it is shown; else the selection stays at its place in the list."""
        self.hold()
        key = self._key(wanted)
        place = next((place for place, item in enumerate(self.shown) if self._key(item) == key), None)
        self.selected = min(self.selected, max(0, len(self.shown) - 1)) if place is None else place

    def move(self, by: int) -> None:
        """The ends hold."""
        self.hold()
        self.selected = max(0, min(self.selected + by, len(self.shown) - 1))

    def page(self, pages: int) -> None:
        """So many screens, by what was seen last."""
        self.move(pages * max(1, self._seen - 1))

    def first(self) -> None:
        self.hold()
        self.selected = self.top = 0

    def last(self) -> None:
        self.move(len(self.shown))

    def height(self, item: T) -> int:
        """Rows of an item."""
        return 1

    def visible(self, rows: int) -> Sequence[T]:
        """The items that fit so many rows, from ``top`` on, which moves no more than it must to show the
        selected one. The last may be cut."""
        top = max(0, min(self.top, self.selected))
        left, lowest = rows, self.selected
        while self.shown and lowest >= top and (left := left - self.height(self.shown[lowest])) >= 0:
            lowest -= 1
        top = max(top, min(lowest + 1, self.selected))
        # What stands below does not leave rows empty above.
        left, end = rows, top
        while end < len(self.shown) and left > 0:
            left -= self.height(self.shown[end])
            end += 1
        while end == len(self.shown) and top > 0 and self.height(self.shown[top - 1]) <= left:
            top -= 1
            left -= self.height(self.shown[top])
        self.top, self._seen = top, end - top
        return self.shown[top:end]
