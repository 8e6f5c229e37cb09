"""The live part of the terminal below the scrollback: one prompt-toolkit application for the whole session.

What is finished goes to the scrollback once, above the live part, exactly as it will stay; the live part
(block in progress, panel, input, status) is drawn over and over. Both happen in frames, so that a stream of
thousands of events costs some tens of drawings.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import set_app
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.cursor_shapes import ModalCursorShapeConfig
from prompt_toolkit.data_structures import Point
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindingsBase
from prompt_toolkit.layout import Layout
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import BaseStyle

from mewcode.repl.reflow import rows_above

# Seconds between two drawings while output streams: about what a person still sees as motion.
_FRAME = 0.04
# The same while the user types, for so long after a key: a key must not wait for a drawing of something else.
_FRAME_AT_KEYS = 0.1
_TYPING = 0.5
# While output streams and nobody types, the terminal's cursor waits at the live part's first row: wherever a
# resize moves it, all below it is ours. It goes back to the input after a key, or so long after a frame.
_UNPARKED_BY_KEY = 0.5
_UNPARKED_AT_REST = 0.5
# Terminals may have a new size for so long before they say so: tmux up to 250 ms, while it is dragged.
_SETTLED = 0.3

# Terminals that know synchronised output show a frame whole; the others ignore this.
_BEGIN_FRAME = "\x1b[?2026h"
_END_FRAME = "\x1b[?2026l"


class _Application(Application[int]):
    """``on_resize`` says where the live part is, before anything is drawn in the new size."""

    on_resize: Callable[[], None]

    def _on_resize(self) -> None:
        # While another program or view has the terminal, nothing of ours is on it.
        if self.is_running and not self._running_in_terminal:
            self.on_resize()
            self._redraw()


class Screen:
    """Owns the application. Everything here runs in the event loop's thread."""

    def __init__(
        self,
        layout: Layout,
        bindings: KeyBindingsBase,
        style: BaseStyle,
        input_: Input,
        output: Output,
        *,
        color: bool,
        compose: Callable[[], bool],
        after_first_paint: Callable[[], None],
        reflows: bool = False,
    ) -> None:
        """``compose`` is called before each frame, sets what the layout shows and returns whether that has
        changed. ``reflows``: the terminal wraps its lines anew when its width changes."""
        self.output = output
        self._compose = compose
        self._reflows = reflows
        self.app: Application[int] = self._application(layout, bindings, style, input_, color=color)
        self._pending: list[str] = []
        self._last_frame = 0.0
        self._last_key = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._after_first_paint = after_first_paint
        self._unparking: asyncio.TimerHandle | None = None
        self._drawn_at = 0.0
        self._height = 0
        self._size = output.get_size()
        self._away = asyncio.Lock()
        self._visitors: set[asyncio.Task[object]] = set()
        self.app.before_render += self._fit
        self.app.after_render += self._painted
        self.app.key_processor.before_key_press += self._key_pressed

    def _application(
        self, layout: Layout, bindings: KeyBindingsBase, style: BaseStyle, input_: Input, *, color: bool
    ) -> Application[int]:
        app = _Application(
            layout=layout,
            key_bindings=bindings,
            style=style,
            input=input_,
            output=self.output,
            color_depth=None if color else ColorDepth.DEPTH_1_BIT,
            include_default_pygments_style=False,
            erase_when_done=True,
            # A key's echo comes before what else is ready.
            max_render_postpone_time=None,
        )
        app.on_resize = self._settle_size
        # Esc and the start of an escape sequence look alike: these waits tell them apart (seconds).
        app.ttimeoutlen = 0.05
        app.timeoutlen = 0.1
        return app

    async def run(self) -> int:
        """Runs until `exit`; what is pending is written at the end."""
        self._compose()
        code = await self.app.run_async(set_exception_handler=False, handle_sigint=False)
        for timer in (self._timer, self._unparking):
            if timer is not None:
                timer.cancel()
        self.output.write_raw(self._take_pending())
        self.output.flush()
        return code

    def exit(self, code: int) -> None:
        """Ends `run`. What has the terminal meanwhile (see `away`) is cancelled: it would be waited for."""
        for visitor in self._visitors:
            visitor.cancel()
        if not self.app.is_done and self.app.is_running:
            self.app.exit(result=code)

    @property
    def width(self) -> int:
        return max(20, self.output.get_size().columns)

    @property
    def rows(self) -> int:
        return max(5, self.output.get_size().rows)

    def use_vi(self) -> None:
        """Keys as in vi; the cursor's shape shows which of its modes is on."""
        self.app.editing_mode = EditingMode.VI
        self.app.cursor = ModalCursorShapeConfig()

    def use_color(self, *, color: bool) -> None:
        self.app._color_depth = None if color else ColorDepth.DEPTH_1_BIT

    def commit(self, text: str) -> None:
        """Adds finished lines (ANSI, each ending in a newline) to the scrollback with the next frame."""
        if text:
            self._pending.append(text if text.endswith("\n") else text + "\n")
            self.refresh()

    def clear(self, header: str) -> None:
        """Empties the visible screen and begins it with ``header`` (ANSI); the scrollback stays. The header
        also keeps the live part off the first row: erasing from there, tmux would move it to its history."""
        self._settle_size()
        self._lift()
        self.output.erase_screen()
        self.output.cursor_goto(0, 0)
        self.output.write_raw(header + "\r\n")
        self.output.flush()
        self.refresh()

    def refresh(self) -> None:
        """Asks for a frame: now when the last is long enough ago, else when it is."""
        if self._timer is None:
            now = time.monotonic()
            pause = _FRAME_AT_KEYS if now - self._last_key < _TYPING else _FRAME
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, self._last_frame + pause - now), self._frame)

    @asynccontextmanager
    async def away(self) -> AsyncGenerator[None, None]:
        """Gives the terminal to another view meanwhile, one at a time. What is committed waits. The task that
        is in here is cancelled by `exit`."""
        visitor = asyncio.current_task()
        assert visitor is not None
        self._visitors.add(visitor)
        try:
            async with self._away:
                self._settle_size()
                with set_app(self.app):
                    async with in_terminal():
                        yield
                        # What is drawn again on return is how things are by then.
                        self._compose()
        finally:
            self._visitors.discard(visitor)
        self.refresh()

    @property
    def parked(self) -> bool:
        """Whether the terminal's cursor is not in the input, which then shows a mark in its place."""
        return self._unparking is not None

    def _key_pressed(self, _: object) -> None:
        self._last_key = time.monotonic()
        if self._unparking is not None:
            self._unparking.cancel()
            self._unparking = None

    def _park(self) -> None:
        """The drawing that follows leaves the cursor at the live part's first row."""
        if self._unparking is not None:
            self._unparking.cancel()
            self._unparking = None
        if time.monotonic() - self._last_key > _UNPARKED_BY_KEY:
            self._unparking = asyncio.get_running_loop().call_later(_UNPARKED_AT_REST, self._unpark)

    def _unpark(self) -> None:
        self._unparking = None
        self.app._redraw()

    def _frame(self) -> None:
        self._timer = None
        self._last_frame = time.monotonic()
        app = self.app
        if not app.is_running or app._running_in_terminal:
            return
        self._settle_size()
        changed = self._compose()
        if self._pending or changed:
            self._park()
        if self._pending or self._is_shrinking():
            self.output.write_raw(_BEGIN_FRAME)
            self._lift()
            self.output.write_raw(self._take_pending())
            app._redraw()
            self.output.write_raw(_END_FRAME)
            self.output.flush()
        elif changed:
            app._redraw()

    def _lift(self) -> None:
        """Takes the live part off the screen; the cursor is then where it began. As the renderer's own
        ``erase``, but no mode of the terminal changes: a paste may be coming in right now."""
        renderer, output = self.app.renderer, self.output
        output.cursor_backward(renderer._cursor_pos.x)
        output.cursor_up(renderer._cursor_pos.y)
        output.erase_down()
        output.reset_attributes()
        output.enable_autowrap()
        self._forget_drawing()

    def _forget_drawing(self) -> None:
        renderer = self.app.renderer
        renderer._cursor_pos = Point(0, 0)
        renderer._last_screen = None
        renderer._last_style = None

    def _take_pending(self) -> str:
        text = "".join(self._pending).replace("\n", "\r\n")
        self._pending.clear()
        return text

    def _is_shrinking(self) -> bool:
        """A drawing never gets lower by itself; it must be erased to give lines back."""
        size = self.output.get_size()
        wanted = self.app.layout.container.preferred_height(size.columns, size.rows).preferred
        return wanted < self._height

    def _settle_size(self) -> None:
        """After a resize: finds the live part where the terminal has put it, takes it off, composes anew."""
        size, before = self.output.get_size(), self._size
        if size == before:
            return
        self._size = size
        renderer = self.app.renderer
        cells = renderer.last_rendered_screen
        # One that was drawn a moment ago may have been drawn after the terminal wrapped its lines: to take
        # too many rows for ours would lose what is finished.
        settled = time.monotonic() - self._drawn_at > _SETTLED
        if self._reflows and settled and cells is not None and size.columns != before.columns:
            cursor = renderer._cursor_pos
            renderer._cursor_pos = Point(cursor.x, rows_above(cells, cursor, size.columns))
        self._lift()
        self._compose()

    def _fit(self, _: Application[int]) -> None:
        """What is shown was composed for a width: a resize makes it anew."""
        self._settle_size()

    def _painted(self, _: Application[int]) -> None:
        self._drawn_at = time.monotonic()
        if self.parked:
            cursor = self.app.renderer._cursor_pos
            self.output.cursor_backward(cursor.x)
            self.output.cursor_up(cursor.y)
            self.output.hide_cursor()
            self.output.flush()
            self.app.renderer._cursor_pos = Point(0, 0)
        last = self.app.renderer.last_rendered_screen
        self._height = last.height if last is not None else 0
        after, self._after_first_paint = self._after_first_paint, _nothing
        after()


def _nothing() -> None:
    pass
