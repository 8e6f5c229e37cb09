"""A full screen of ANSI lines within a prompt-toolkit application, drawn line by line.

prompt-toolkit compares and writes a screen cell by cell: 10 to 30 ms for a large one that is full of text.
Here a line that stays as it is costs nothing, and one that changes is written as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point
from prompt_toolkit.layout import Window
from prompt_toolkit.layout.controls import DummyControl
from prompt_toolkit.layout.mouse_handlers import MouseHandlers
from prompt_toolkit.layout.screen import Screen, WritePosition

from mewcode.repl.frame import Frame

CLEAR = "\x1b[H\x1b[J"
"""Takes off what the canvas has drawn, of which prompt-toolkit knows nothing."""
_SHOW_CURSOR = "\x1b[?25h"


class Canvas(Window):
    """Shows what ``compose(width, height)`` gives, asked for with each drawing. To prompt-toolkit it is empty
    and the cursor stands in its first cell. The last column stays free: where it is written to, terminals
    differ."""

    def __init__(self, compose: Callable[[int, int], Frame]) -> None:
        super().__init__(DummyControl())
        self._compose = compose
        self._drawn: tuple[str, ...] = ()

    def attach(self, app: Application[Any]) -> None:
        """The application draws it from now on."""
        app.before_render += self._before
        app.after_render += self._draw

    def write_to_screen(
        self,
        screen: Screen,
        mouse_handlers: MouseHandlers,
        write_position: WritePosition,
        parent_style: str,
        erase_bg: bool,
        z_index: int | None,
    ) -> None:
        screen.set_cursor_position(self, Point(0, 0))
        screen.width, screen.height = write_position.width, write_position.height
        screen.visible_windows_to_write_positions[self] = write_position

    def _before(self, app: Application[Any]) -> None:
        if app.renderer.last_rendered_screen is None:
            self._drawn = ()  # another program has had the terminal

    def _draw(self, app: Application[Any]) -> None:
        if app.is_done:
            return
        size = app.output.get_size()
        frame = self._compose(size.columns - 1, size.rows)
        lines = frame.lines[: size.rows]
        before, self._drawn = self._drawn, lines
        changed = [
            f"\x1b[{number};1H{line}\x1b[0m\x1b[K"
            for number, line in enumerate(lines, 1)
            if len(before) != len(lines) or before[number - 1] != line
        ]
        if frame.cursor is not None:
            column, row = frame.cursor
            changed.append(f"\x1b[{row + 1};{column + 1}H{_SHOW_CURSOR}")
        app.output.write_raw("".join(changed))
        app.output.flush()
