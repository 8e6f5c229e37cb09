"""The live part of the terminal below the scrollback: one prompt-toolkit application for the whole session.

What is finished goes to the scrollback once, above the live part, exactly as it will stay; the live part
(block in progress, panel, input, status) is drawn over and over. Both happen in frames, so that a stream of
thousands of events costs some tens of drawings.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from prompt_toolkit.application import Application
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindingsBase
from prompt_toolkit.layout import Layout
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import BaseStyle

# Seconds between two drawings while output streams: about what a person still sees as motion.
_FRAME = 0.04

# Terminals that know synchronised output show a frame whole; the others ignore this.
_BEGIN_FRAME = "\x1b[?2026h"
_END_FRAME = "\x1b[?2026l"


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
        compose: Callable[[], None],
        after_first_paint: Callable[[], None],
    ) -> None:
        """``compose`` is called before each frame and sets what the layout shows."""
        self.output = output
        self._compose = compose
        self.app: Application[int] = Application(
            layout=layout,
            key_bindings=bindings,
            style=style,
            input=input_,
            output=output,
            color_depth=None if color else ColorDepth.DEPTH_1_BIT,
            include_default_pygments_style=False,
            erase_when_done=True,
        )
        # Esc and the start of an escape sequence look alike: these waits tell them apart (seconds).
        self.app.ttimeoutlen = 0.05
        self.app.timeoutlen = 0.1
        self._pending: list[str] = []
        self._last_frame = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._after_first_paint = after_first_paint
        self._height = 0
        self._size = output.get_size()
        self.app.before_render += self._fit
        self.app.after_render += self._painted

    async def run(self) -> int:
        """Runs until `exit`; what is pending is written at the end."""
        self._compose()
        code = await self.app.run_async(set_exception_handler=False, handle_sigint=False)
        if self._timer is not None:
            self._timer.cancel()
        self.output.write_raw(self._take_pending())
        self.output.flush()
        return code

    def exit(self, code: int) -> None:
        if not self.app.is_done and self.app.is_running:
            self.app.exit(result=code)

    @property
    def width(self) -> int:
        return max(20, self.output.get_size().columns)

    @property
    def rows(self) -> int:
        return max(5, self.output.get_size().rows)

    def commit(self, text: str) -> None:
        """Adds finished lines (ANSI, each ending in a newline) to the scrollback with the next frame."""
        if text:
            self._pending.append(text if text.endswith("\n") else text + "\n")
            self.refresh()

    def clear(self, header: str) -> None:
        """Empties the visible screen and begins it with ``header`` (ANSI); the scrollback stays. The header
        also keeps the live part off the first row: erasing from there, tmux would move it to its history."""
        self.app.renderer.erase(leave_alternate_screen=False)
        self.output.erase_screen()
        self.output.cursor_goto(0, 0)
        self.output.write_raw(header + "\r\n")
        self.output.flush()
        self.refresh()

    def refresh(self) -> None:
        """Asks for a frame: now when the last is long enough ago, else when it is."""
        if self._timer is None:
            wait = self._last_frame + _FRAME - time.monotonic()
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, wait), self._frame)

    def _frame(self) -> None:
        self._timer = None
        self._last_frame = time.monotonic()
        app = self.app
        if not app.is_running or app._running_in_terminal:
            return
        self._compose()
        if self._pending or self._is_shrinking():
            self.output.write_raw(_BEGIN_FRAME)
            app.renderer.erase(leave_alternate_screen=False)
            self.output.write_raw(self._take_pending())
            app._redraw()
            self.output.write_raw(_END_FRAME)
            self.output.flush()
        else:
            app.invalidate()

    def _take_pending(self) -> str:
        text = "".join(self._pending).replace("\n", "\r\n")
        self._pending.clear()
        return text

    def _is_shrinking(self) -> bool:
        """A drawing never gets lower by itself; it must be erased to give lines back."""
        size = self.output.get_size()
        wanted = self.app.layout.container.preferred_height(size.columns, size.rows).preferred
        return wanted < self._height

    def _fit(self, _: Application[int]) -> None:
        """What is shown was composed for a width: a resize makes it anew."""
        size = self.output.get_size()
        if size != self._size:
            self._size = size
            self._compose()

    def _painted(self, _: Application[int]) -> None:
        last = self.app.renderer.last_rendered_screen
        self._height = last.height if last is not None else 0
        after, self._after_first_paint = self._after_first_paint, _nothing
        after()


def _nothing() -> None:
    pass
