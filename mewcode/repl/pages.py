"""Lines of which a part is seen: moved through, and searched.

They are kept from the last to the first, so that those which are still being rendered come in at the far end
and nothing moves under the reader's eyes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_SGR = re.compile(r"\x1b\[[0-9;]*m")


class Pages:
    """What is shown of the lines: ``below`` lines stand below the last one shown. ``rows``: how many are."""

    def __init__(self, rows: Callable[[], int]) -> None:
        self.lines: list[str] = []  # the last line first
        self.below = 0
        self.pattern = ""
        self.loading = True
        self._rows = rows

    @property
    def _highest(self) -> int:
        return max(0, len(self.lines) - self._rows())

    def move(self, lines: int) -> None:
        """Up by ``lines``; down where it is negative. The ends hold."""
        self.below = max(0, min(self.below + lines, self._highest))

    def page(self, pages: float) -> None:
        self.move(int(pages * max(1, self._rows() - 1)))

    def top(self) -> None:
        self.below = self._highest

    def bottom(self) -> None:
        self.below = 0

    def shown(self) -> list[str]:
        """The lines on the screen, from top to bottom."""
        self.below = min(self.below, self._highest)
        return self.lines[self.below : self.below + self._rows()][::-1]

    def search(self, pattern: str) -> bool:
        """Looks upwards from the last line shown, and on from the end; case counts where ``pattern`` has
        capitals. Returns whether it was found."""
        self.pattern = pattern
        return self._go_to(range(self.below, len(self.lines))) or self._go_to(range(self.below))

    def again(self, *, up: bool) -> bool:
        """The next hit further up, or further down, and on from the other end."""
        last = len(self.lines)
        if not last:
            return False
        # Lines may be fewer by now: a new width makes them anew.
        here = min(self._hit_line, last - 1)
        if up:
            return self._go_to(range(here + 1, last)) or self._go_to(range(here + 1))
        return self._go_to(range(here - 1, -1, -1)) or self._go_to(range(last - 1, here - 1, -1))

    _hit_line = 0

    def _go_to(self, places: Iterable[int]) -> bool:
        find = self.finder()
        if find is None:
            return False
        for place in places:
            if find.search(_SGR.sub("", self.lines[place])):
                self._hit_line = place
                if not self.below <= place < self.below + self._rows():
                    self.below = max(0, min(place - self._rows() // 2, self._highest))
                return True
        return False

    def finder(self) -> re.Pattern[str] | None:
        """What finds the pattern in a line, as text; None without a pattern."""
        if not self.pattern:
            return None
        exact = self.pattern != self.pattern.lower()
        return re.compile(re.escape(self.pattern), 0 if exact else re.IGNORECASE)
