"""A full screen of lines that is drawn line by line."""

from __future__ import annotations

import asyncio
import io

import pyte
from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.layout import Layout
from prompt_toolkit.output.vt100 import Vt100_Output

from mewcode.repl.frame import Frame
from mewcode.repl.line_canvas import Canvas


class Stage:
    """An application with nothing but a canvas, drawn when a test says so."""

    def __init__(self, lines: list[str], cursor: tuple[int, int] | None = None) -> None:
        self.lines = lines
        self.cursor = cursor
        self.size = Size(5, 20)
        self.sizes: list[tuple[int, int]] = []
        self.out = io.StringIO()
        self.terminal = pyte.Screen(20, 5)
        self._stream = pyte.Stream(self.terminal)

    def _compose(self, width: int, height: int) -> Frame:
        self.sizes.append((width, height))
        return Frame(tuple(self.lines), self.cursor)

    def run(self, *steps: object) -> list[str]:
        """What each drawing wrote; before each but the first, a step is taken."""
        written: list[str] = []

        async def main() -> None:
            with create_pipe_input() as keys:
                output = Vt100_Output(self.out, lambda: self.size, term="xterm", enable_cpr=False)
                canvas = Canvas(self._compose)
                app: Application[None] = Application(
                    layout=Layout(canvas), input=keys, output=output, full_screen=True
                )
                canvas.attach(app)
                drawn = asyncio.Event()

                def taken(_: object) -> None:
                    if not app.is_done:
                        self._take(written)
                        drawn.set()

                app.after_render += taken
                running = asyncio.ensure_future(app.run_async())
                await asyncio.wait_for(drawn.wait(), 20)
                for step in steps:
                    step(app)  # type: ignore[operator]  # a function, as the tests give them
                    app._redraw()
                app.exit()
                await running

        asyncio.run(main())
        return written

    def _take(self, written: list[str]) -> None:
        text = self.out.getvalue()[sum(map(len, written)) :]
        written.append(text)
        self._stream.feed(text)
        self.shown = [line.rstrip() for line in self.terminal.display]
        self.place = (self.terminal.cursor.x, self.terminal.cursor.y)


def test_only_lines_that_change_are_written() -> None:
    stage = Stage(["one", "\x1b[7mtwo\x1b[0m", "中文", "four", "five"], cursor=(3, 1))

    def change(_: object) -> None:
        stage.lines = ["one", "two", "中文", "4", "five"]

    first, second, third = stage.run(change, lambda _: None)
    assert all(word in first for word in ("one", "two", "中文", "four", "five"))
    assert "one" not in second
    assert "two" in second
    assert "one" not in third
    assert "two" not in third
    assert stage.shown == ["one", "two", "中文", "4", "five"]
    assert stage.place == (3, 1)
    assert stage.sizes[0] == (19, 5)


def test_a_screen_that_another_program_had_is_drawn_anew() -> None:
    stage = Stage(["one", "two", "three", "four", "five"])

    def leave(app: object) -> None:
        app.renderer.erase()  # type: ignore[attr-defined]  # an application

    _, second = stage.run(leave)
    assert "one" in second
    assert stage.shown == ["one", "two", "three", "four", "five"]


def test_another_size_is_drawn_anew() -> None:
    stage = Stage(["one", "two", "three", "four", "five"])

    def resize(app: object) -> None:
        stage.size = Size(3, 12)
        stage.terminal.resize(3, 12)
        app._on_resize()  # type: ignore[attr-defined]  # an application

    stage.run(resize)
    assert stage.sizes[-1] == (11, 3)
    assert stage.shown == ["one", "two", "three"]
