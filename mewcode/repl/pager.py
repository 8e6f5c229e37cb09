"""The full transcript on a screen of its own, with search. What runs goes on behind it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import HSplit, Layout, UIContent, UIControl, Window
from prompt_toolkit.output import ColorDepth, Output

from mewcode.core.message import Message
from mewcode.infra.supervisor import TaskScope
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.repl.layout import Lines, fragments_of
from mewcode.repl.pages import Pages
from mewcode.repl.screen import Screen
from mewcode.repl.theme import Theme
from mewcode.repl.transcript import newest_first

_HELP = "arrows, space, b, g, G move · / searches, n, N · q leaves"
# Messages are rendered in a thread, so many lines at a time.
_BATCH = 500


class Focus(Protocol):
    def __call__(self, *, here: bool) -> None: ...


class _View(UIControl):
    """The lines shown, the hits among them marked."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def create_content(self, width: int, height: int) -> UIContent:
        find = self._pages.finder()
        lines = [_marked(fragments_of(line), find) for line in self._pages.shown()]
        return UIContent(lines.__getitem__, len(lines), show_cursor=False)


def _marked(fragments: StyleAndTextTuples, find: re.Pattern[str] | None) -> StyleAndTextTuples:
    text = "".join(fragment[1] for fragment in fragments)
    hits = [match.span() for match in find.finditer(text)] if find is not None else []
    if not hits:
        return fragments
    hit = {place for start, end in hits for place in range(start, end)}
    marked: StyleAndTextTuples = []
    place = 0
    for style, part, *_ in fragments:
        for char in part:
            marked.append((f"{style} reverse" if place in hit else style, char))
            place += 1
    return marked


class Pager:
    """One look at a transcript. ``news`` is a word on what waits outside, asked for with each drawing.
    ``earlier`` gives what was said before ``messages``; it is called in a thread."""

    def __init__(
        self,
        messages: Sequence[Message],
        theme: Theme,
        input_: Input,
        output: Output,
        news: Callable[[], str],
        focus: Focus,
        earlier: Callable[[], Sequence[Message]] | None = None,
    ) -> None:
        self._messages = tuple(messages)
        self._earlier = earlier
        self._before: Sequence[Message] | None = None
        self._theme = theme
        self._output = output
        self._news = news
        self._focus = focus
        self._typed: str | None = None  # a pattern that is being typed
        self._missed = False
        self._width = 0
        self._tasks = TaskScope("pager")
        self._load: asyncio.Task[None] | None = None
        self.pages = Pages(lambda: max(1, output.get_size().rows - 1))
        self._status = Lines()
        view = Window(_View(self.pages), wrap_lines=False, always_hide_cursor=True)
        status = Window(self._status, height=1, wrap_lines=False)
        self.app: Application[None] = Application(
            layout=Layout(HSplit([view, status])),
            key_bindings=self._bindings(),
            input=input_,
            output=output,
            full_screen=True,
            color_depth=None if theme.name != "no-color" else ColorDepth.DEPTH_1_BIT,
            include_default_pygments_style=False,
            before_render=self._fit,
        )
        # Esc leaves: it must not be taken for the start of something for long (seconds).
        self.app.ttimeoutlen = 0.05
        self.app.timeoutlen = 0.1

    async def run(self) -> None:
        """Shows the transcript until the user leaves it."""
        try:
            await self.app.run_async(set_exception_handler=False, handle_sigint=False)
        finally:
            await self._tasks.close()

    def leave(self) -> None:
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def _fit(self, _: object) -> None:
        """A width that is new makes the lines anew; the status is set with each drawing."""
        width = self._output.get_size().columns
        if width != self._width:
            self._width = width
            if self._load is not None:
                self._load.cancel()
            self.pages.lines, self.pages.loading = [], True
            self._load = self._tasks.start("lines", self._read(width - 1))
        self._status.show([self._theme.paint("dim", safe_line(self._status_text(), width - 1))])

    async def _read(self, width: int) -> None:
        """Takes in the lines, a batch at a time, each made in a thread."""
        parts = self._parts(width)

        def batch() -> list[str]:
            taken: list[str] = []
            for part in parts:
                taken += reversed(part)
                if len(taken) >= _BATCH:
                    break
            return taken

        while lines := await asyncio.to_thread(batch):
            self.pages.lines += lines
            self.app.invalidate()
        self.pages.loading = False
        self.app.invalidate()

    def _parts(self, width: int) -> Iterator[list[str]]:
        yield from newest_first(self._messages, self._theme, width)
        if self._before is None:
            self._before = self._earlier() if self._earlier is not None else ()
        yield from newest_first(self._before, self._theme, width)

    def _status_text(self) -> str:
        if self._typed is not None:
            return f"/{self._typed}"
        pages, news = self.pages, self._news()
        total = len(pages.lines)
        place = f"{total - pages.below:,} of {total:,} lines" + (" …" if pages.loading else "")
        missed = f"no {pages.pattern!r} here" if self._missed else ""
        return " · ".join(filter(None, (news, missed, place, _HELP)))

    def _bindings(self) -> KeyBindings:
        bindings, pages = KeyBindings(), self.pages
        typing = Condition(lambda: self._typed is not None)

        def bind(keys: Iterable[str], act: Callable[[], object]) -> None:
            for key in keys:
                bindings.add(key, filter=~typing)(lambda _: act())

        bind(("up", "k", "c-p"), lambda: pages.move(1))
        bind(("down", "j", "c-n", "enter"), lambda: pages.move(-1))
        bind(("pageup", "b", "c-b"), lambda: pages.page(1))
        bind(("pagedown", " ", "c-f"), lambda: pages.page(-1))
        bind(("u", "c-u"), lambda: pages.page(0.5))
        bind(("d", "c-d"), lambda: pages.page(-0.5))
        bind(("g", "home"), pages.top)
        bind(("G", "end"), pages.bottom)
        bind(("n",), lambda: self._again(up=True))
        bind(("N",), lambda: self._again(up=False))
        bind(("q", "escape", "c-o", "c-c"), self.leave)
        bind(("/",), self._begin_typing)
        bindings.add("c-z")(lambda event: event.app.suspend_to_background())
        for key in ("escape", "c-c"):
            bindings.add(key, filter=typing)(lambda _: self._end_typing(search=False))
        bindings.add("enter", filter=typing)(lambda _: self._end_typing(search=True))
        bindings.add("backspace", filter=typing)(lambda _: self._rub_out())
        bindings.add(Keys.Any, filter=typing)(self._type)
        bindings.add(Keys.BracketedPaste, filter=typing)(self._type)
        bindings.add("escape", "[", "I")(lambda _: self._focus(here=True))
        bindings.add("escape", "[", "O")(lambda _: self._focus(here=False))
        return bindings

    def _again(self, *, up: bool) -> None:
        self._missed = bool(self.pages.pattern) and not self.pages.again(up=up)

    def _begin_typing(self) -> None:
        self._typed, self._missed = "", False

    def _type(self, event: KeyPressEvent) -> None:
        self._typed = (self._typed or "") + safe_text(event.data).replace("\n", " ")

    def _rub_out(self) -> None:
        self._typed = self._typed[:-1] if self._typed else None

    def _end_typing(self, *, search: bool) -> None:
        pattern, self._typed = self._typed, None
        if search and pattern:
            self._missed = not self.pages.search(pattern)
        else:
            self.pages.pattern = ""


async def show_transcript(
    screen: Screen,
    messages: Sequence[Message],
    theme: Theme,
    news: Callable[[], str],
    focus: Focus,
    earlier: Callable[[], Sequence[Message]] | None = None,
) -> None:
    """Shows it in place of ``screen`` until the user leaves; what is committed meanwhile appears then."""
    # An input of its own: what the screen's has yet to decide of an Esc would go to the screen's keys.
    pager = Pager(messages, theme, create_input(), screen.output, news, focus, earlier)
    async with screen.away():
        await pager.run()
