"""Where the live part begins after the terminal's width has changed."""

from __future__ import annotations

from collections.abc import Mapping

from prompt_toolkit.data_structures import Point
from prompt_toolkit.layout.screen import Char
from prompt_toolkit.layout.screen import Screen as Cells


def rows_above(cells: Cells, cursor: Point, columns: int) -> int:
    """Rows between the first row of what was drawn and the cursor, in a terminal that has since wrapped
    each row at ``columns`` cells. ``cursor`` is where the drawing left it."""
    columns = max(1, columns)
    above = sum(
        _wrapped(cells.data_buffer[row], _used(cells.data_buffer[row]), columns) for row in range(cursor.y)
    )
    # The cursor moves along with the text before it.
    return above + _wrapped(cells.data_buffer[cursor.y], cursor.x + 1, columns) - 1


def _used(row: Mapping[int, Char]) -> int:
    """Cells up to the last that is not blank."""
    return max((column + (char.width or 1) for column, char in row.items() if char.char != " "), default=0)


def _wrapped(row: Mapping[int, Char], cells: int, columns: int) -> int:
    """Rows that the first ``cells`` cells take: a wide character is never split between two."""
    rows, filled, column = 1, 0, 0
    while column < cells:
        char = row.get(column)
        width = max(1, char.width) if char is not None else 1
        if filled + width > columns and filled:
            rows, filled = rows + 1, 0
        filled += width
        column += width
    return rows
