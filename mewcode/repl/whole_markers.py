"""What stands for a pasted text or a picture is one thing in the input, whatever key moves or deletes."""

from __future__ import annotations

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from mewcode.repl.pasted import markers_in


def mended(before: str, after: str, start: int) -> Document | None:
    """Where ``after`` is ``before`` with a part deleted at ``start`` that takes some of a marker with it: the
    text without that whole marker. None where no marker was cut."""
    cut = len(before) - len(after)
    end = start + cut
    if cut <= 0 or before[:start] != after[:start] or before[end:] != after[start:]:
        return None  # another text, not a deletion
    first, last = start, end
    for left, right in markers_in(before):
        if left < end and start < right:
            first, last = min(first, left), max(last, right)
    return None if (first, last) == (start, end) else Document(before[:first] + before[last:], first)


def outside(text: str, came_from: int, place: int) -> int:
    """Where a cursor goes that moved from ``came_from`` to ``place``: out of a marker, on the same way."""
    for left, right in markers_in(text):
        if left < place < right:
            return left if place < came_from else right
    return place


class WholeMarkers:
    """Keeps the markers in a buffer whole."""

    def __init__(self, buffer: Buffer) -> None:
        self._text, self._place = buffer.text, buffer.cursor_position
        buffer.on_text_changed += self._changed
        buffer.on_cursor_position_changed += self._moved

    def _changed(self, buffer: Buffer) -> None:
        before, self._text, self._place = self._text, buffer.text, buffer.cursor_position
        if "[" in before and (whole := mended(before, self._text, self._place)) is not None:
            self._text = whole.text
            buffer.set_document(whole)

    def _moved(self, buffer: Buffer) -> None:
        came_from, self._place = self._place, buffer.cursor_position
        if "[" in buffer.text:
            place = outside(buffer.text, came_from, self._place)
            if place != self._place:
                buffer.cursor_position = place
