"""A list on a screen of its own that runs, and what a test does with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from mewcode.repl.list_screen import ListScreen

LIMIT = 20.0


class Output(DummyOutput):
    size = Size(24, 80)

    def get_size(self) -> Size:
        return self.size


L = TypeVar("L", bound=ListScreen[Any, Any])


@dataclass
class ListDesk(Generic[L]):
    """``keys`` are typed into ``listed``; ``output`` has a size and takes all."""

    listed: L
    keys: PipeInput
    output: Output
    drawn: asyncio.Event = field(default_factory=asyncio.Event)

    def screen(self) -> str:
        frame = self.listed.view.frame(self.output.size.columns - 1, self.output.size.rows)
        return "\n".join(frame.lines)

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(LIMIT):
            while not holds():
                self.drawn.clear()
                # What only a thread did is drawn by nobody.
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.02):
                        await self.drawn.wait()

    async def press(self, keys: str, holds: Callable[[], object]) -> None:
        self.keys.send_text(keys)
        await self.until(holds)

    async def see(self, keys: str, words: str) -> None:
        self.keys.send_text(keys)
        try:
            await self.until(lambda: words in self.screen())
        except TimeoutError:
            raise AssertionError(f"no {words!r} after {keys!r}:\n{self.screen()}") from None

    async def ended(self) -> None:
        await self.until(lambda: self.listed.app.is_done)


D = TypeVar("D", bound=ListDesk[Any])


@contextmanager
def list_desk(kind: type[D], make: Callable[[PipeInput, Output], ListScreen[Any, Any]]) -> Iterator[D]:
    """A desk of that kind with the list that ``make`` gives; nothing runs yet."""
    with create_pipe_input() as keys:
        output = Output()
        desk = kind(make(keys, output), keys, output)
        desk.listed.app.after_render += lambda _: desk.drawn.set()
        yield desk
