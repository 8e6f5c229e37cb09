"""One line that is being edited, outside of the input: a filter, a title."""

from __future__ import annotations

from mewcode.infra.terminal_text import safe_text
from mewcode.repl.graphemes import length_after, length_before


class LineEdit:
    """``text`` with the cursor at ``place``, in code points, never within a character as people see it. At
    most ``limit`` code points."""

    def __init__(self, text: str = "", limit: int = 200) -> None:
        self.text = ""
        self.place = 0
        self._limit = limit
        self.insert(text)

    def insert(self, text: str) -> None:
        """What was typed or pasted; line breaks become spaces, control characters are left out."""
        room = max(0, self._limit - len(self.text))
        typed = safe_text(text[: 4 * self._limit]).replace("\n", " ").replace("\t", " ")[:room]
        self.text = self.text[: self.place] + typed + self.text[self.place :]
        self.place += len(typed)

    def erase(self) -> None:
        """Backspace."""
        self._erase_from(self.place - length_before(self.text[: self.place]))

    def erase_word(self) -> None:
        """Back to the last blank before a word."""
        before = self.text[: self.place].rstrip()
        self._erase_from(before.rfind(" ") + 1)

    def clear(self) -> None:
        """All that stands before the cursor goes."""
        self._erase_from(0)

    def left(self) -> None:
        self.place -= length_before(self.text[: self.place])

    def right(self) -> None:
        self.place += length_after(self.text[self.place :])

    def home(self) -> None:
        self.place = 0

    def end(self) -> None:
        self.place = len(self.text)

    def _erase_from(self, start: int) -> None:
        self.text = self.text[:start] + self.text[self.place :]
        self.place = start
