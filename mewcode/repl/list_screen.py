"""A list on a screen of its own, with a preview. What runs goes on behind it.

Nothing here waits for the disk: what takes time goes to threads, and fills in what is shown already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import Layout
from prompt_toolkit.output import Output

from mewcode.core.errors import MewCodeError
from mewcode.infra.log_file import log_path
from mewcode.infra.supervisor import TaskScope
from mewcode.repl.frame import Frame
from mewcode.repl.line_canvas import CLEAR, Canvas
from mewcode.repl.pages import Pages
from mewcode.repl.selection import Selection


class Focus(Protocol):
    def __call__(self, *, here: bool) -> None: ...


def nowhere(*, here: bool) -> None:
    """The terminal's window came to the front or left it: nobody here asks."""


class ListView(Protocol):
    """What is to be seen. ``message`` stands in place of the details until a key."""

    message: str

    @property
    def listed(self) -> Selection[Any, Any]:
        """The list that is shown."""
        ...

    def frame(self, width: int, height: int) -> Frame:
        """The screen at that size."""
        ...


V = TypeVar("V", bound=ListView)
R = TypeVar("R")


class ListScreen(Generic[V, R]):
    """Ends with a result, None where the user leaves. ``pages``: the lines of the preview while keys move
    through those, and not through the list."""

    def __init__(
        self, name: str, view: V, keys: KeyBindings, input_: Input, output: Output, focus: Focus = nowhere
    ) -> None:
        self.view = view
        self.focus = focus
        self.pages: Pages | None = None
        self._output = output
        self._tasks = TaskScope(name)
        self._acting = asyncio.Lock()
        canvas = Canvas(view.frame)
        self.app: Application[R | None] = Application(
            layout=Layout(canvas),
            key_bindings=keys,
            input=input_,
            output=output,
            full_screen=True,
            erase_when_done=True,
            include_default_pygments_style=False,
            # A key's echo comes before what else is ready.
            max_render_postpone_time=None,
        )
        canvas.attach(self.app)
        # Esc leaves: it must not be taken for the start of something for long (seconds).
        self.app.ttimeoutlen = 0.05
        self.app.timeoutlen = 0.1

    def leave(self) -> None:
        self._exit(None)

    def _exit(self, result: R | None) -> None:
        if self.app.is_running and not self.app.is_done:
            # For terminals that have no other screen to go back to.
            self._output.write_raw(CLEAR)
            self.app.exit(result=result)

    def _changed(self) -> None:
        self.app.invalidate()

    def acts(self) -> None:
        self.view.message = ""

    def move(self, by: int) -> None:
        if self.pages is not None:
            self.pages.move(-by)
        else:
            self.view.listed.move(by)

    def page(self, pages: int) -> None:
        if self.pages is not None:
            self.pages.page(-pages)
        else:
            self.view.listed.page(pages)

    def to_end(self, *, last: bool) -> None:
        if self.pages is not None:
            (self.pages.bottom if last else self.pages.top)()
        else:
            (self.view.listed.last if last else self.view.listed.first)()

    def _act(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Changes something, one after the other."""

        async def in_turn() -> None:
            async with self._acting:
                await work()

        self._tasks.start(name, self._told(in_turn))

    async def _told(self, work: Callable[[], Awaitable[None]]) -> None:
        """Does it; what goes wrong is said, and a drawing follows in any case."""
        try:
            await work()
        except MewCodeError as error:
            self.view.message = " ".join(filter(None, (error.message, error.hint)))
        except Exception as error:
            self.view.message = defect_words(error)
            raise
        finally:
            self._changed()


def defect_words(error: Exception) -> str:
    """For a defect of ours: the list goes on, the task's scope logs the trace."""
    return f"unexpected: {type(error).__name__}: {error}; the log says more: {log_path()}"
