"""The end of a session beside the picker's list, or in its place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from mewcode.core.errors import MewCodeError
from mewcode.core.message import Message
from mewcode.infra.supervisor import TaskScope
from mewcode.repl.list_screen import defect_words
from mewcode.repl.pages import Pages
from mewcode.repl.picker_view import PickerView
from mewcode.repl.thread_call import call_in_thread
from mewcode.repl.transcript import newest_first

# Lines that are rendered in a thread before they are shown.
_BATCH = 200


class Preview:
    """Reads a session's end with ``read`` and renders it, anew for each new width."""

    def __init__(
        self,
        view: PickerView,
        read: Callable[[], Sequence[Message]],
        tasks: TaskScope,
        size: Callable[[], tuple[int, int]],
        changed: Callable[[], None],
    ) -> None:
        """``size``: columns and rows for its lines."""
        self._view = view
        self._size = size
        self._tasks = tasks
        self._changed = changed
        self._messages: Sequence[Message] = ()
        self._width = 0
        self.pages = view.preview = Pages(lambda: size()[1])
        view.preview_note = "reading…"
        self._task = tasks.start("preview", self._read(read))

    async def _read(self, read: Callable[[], Sequence[Message]]) -> None:
        try:
            self._messages = await call_in_thread("preview-session", read)
        except MewCodeError as error:
            self._view.preview_note = error.message
        except Exception as error:
            self._view.preview_note = defect_words(error)
            raise
        else:
            self._view.preview_note = "" if self._messages else "nothing was said in this session"
            await self._render()
        finally:
            self._changed()

    def fit(self) -> None:
        """A new width makes the lines anew."""
        if self._messages and self._size()[0] != self._width:
            self._task.cancel()
            self._task = self._tasks.start("preview", self._render())

    def close(self) -> None:
        self._task.cancel()
        self._view.preview = None

    async def _render(self) -> None:
        self._width = self._size()[0]
        parts = newest_first(self._messages, self._view.theme, self._width)

        def batch() -> list[str]:
            taken: list[str] = []
            for part in parts:
                taken += reversed(part)
                if len(taken) >= _BATCH:
                    break
            return taken

        self.pages.lines = []
        while lines := await call_in_thread("render-preview", batch):
            self.pages.lines += lines
            self._changed()
            await asyncio.sleep(0)
        self.pages.loading = False
