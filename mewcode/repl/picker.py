"""Picks a session on a screen of its own. What runs goes on behind it.

Nothing here waits for the disk: what is known is shown at once, and what comes from threads fills it in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.input import Input, create_input
from prompt_toolkit.output import Output

from mewcode.core.errors import MewCodeError
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.frame import preview_size
from mewcode.repl.line_edit import LineEdit
from mewcode.repl.list_screen import Focus, ListScreen, nowhere
from mewcode.repl.picker_feed import Feed
from mewcode.repl.picker_keys import make_keys
from mewcode.repl.picker_view import PickerView
from mewcode.repl.theme import Theme
from mewcode.repl.thread_call import call_in_thread

if TYPE_CHECKING:
    from mewcode.repl.picker_preview import Preview
    from mewcode.repl.picker_source import SessionSource
    from mewcode.repl.screen import Screen
    from mewcode.sessions.catalog_entry import CatalogEntry

# Seconds that the first drawing waits for the sessions, rather than be empty.
_FIRST = 0.1


class Picker(ListScreen[PickerView, "CatalogEntry"]):
    """One choice. ``view`` may have been shown and filled already (see `picker_start`)."""

    def __init__(
        self,
        view: PickerView,
        source: SessionSource,
        input_: Input,
        output: Output,
        *,
        is_shown: bool = False,
        preload: Callable[[], None] = lambda: None,
        focus: Focus = nowhere,
    ) -> None:
        """``is_shown``: the screen is the alternate one already, with the view on it. ``preload`` is called
        in a thread, after the first paint."""
        self.view = view  # what `make_keys` asks for
        super().__init__("picker", view, make_keys(self), input_, output, focus)
        self._source = source
        self._is_shown = is_shown
        self._load_more = preload
        self._is_painted = False
        self._target: CatalogEntry | None = None
        self._trashed: list[CatalogEntry] = []
        self._preview: Preview | None = None
        self.feed = Feed(view, source, self._tasks, self._changed)
        self.app.before_render += self._fit
        self.app.after_render += self._painted

    async def run(self, known: Sequence[CatalogEntry] | None = None) -> CatalogEntry | None:
        """The session that was chosen, None for none. ``known``: `SessionSource.known` of the
        first scope, where it was asked already."""
        self.feed.open(known)
        try:
            await self.feed.first(_FIRST)
            return await self.app.run_async(
                pre_run=self._begin, set_exception_handler=False, handle_sigint=False
            )
        finally:
            self.feed.close()
            await self._tasks.close()

    def _begin(self) -> None:
        if self._is_shown:
            # To enter it once more would make the terminal forget where it was before.
            self.app.renderer._in_alternate_screen = True

    def _fit(self, _: object) -> None:
        if self._preview is not None:
            self._preview.fit()

    def _preload(self) -> None:
        """What is needed next, loaded while the user looks."""
        import mewcode.repl.picker_preview  # noqa: F401

        self._load_more()

    def _painted(self, _: object) -> None:
        if not self._is_painted:
            self._is_painted = True
            self._tasks.start("preload", call_in_thread("preload", self._preload))
        self.feed.ask_holders()

    # What keys ask for beside what `ListScreen` does; see `picker_keys.Actions`.

    def filter_changed(self) -> None:
        self.view.message = ""
        self.feed.filter_changed()

    def choose(self) -> None:
        entry = self._target if self.view.mode == "preview" else self.view.sessions.current
        if entry is not None:
            self._exit(None if self.view.is_current(entry) else entry)

    def escape(self) -> None:
        if not self.view.filter.text:
            self.leave()
        else:
            self.view.filter = LineEdit()
            self.feed.filter_changed()

    def next_scope(self) -> None:
        self.feed.next_scope()

    def next_sort(self) -> None:
        self.feed.next_sort()

    def _held(self) -> CatalogEntry | None:
        """The selected session, which stays selected from now on."""
        self.view.sessions.hold()
        return self.view.sessions.current

    def pin(self) -> None:
        entry = self._held()
        if entry is not None:
            pinned = not entry.pinned
            # At once: a second press means the other way.
            self.feed.replace(entry, pinned=pinned)

            async def work() -> None:
                try:
                    await call_in_thread("pin-session", lambda: self._source.pin(entry, pinned))
                except MewCodeError:
                    self.feed.replace(entry, pinned=not pinned)
                    raise

            self._act("pin", work)

    def begin_rename(self) -> None:
        self._target = self._held()
        if self._target is not None:
            self.view.title = LineEdit(safe_line(self._target.title))
            self.view.mode = "rename"

    def end_rename(self, *, keep: bool) -> None:
        entry, title = self._target, " ".join(self.view.title.text.split())
        self.view.mode = "list"
        if not keep or entry is None or (title == safe_line(entry.title) and entry.named):
            return

        async def work() -> None:
            await call_in_thread("rename-session", lambda: self._source.rename(entry, title))
            self.feed.replace(entry, title=title or entry.first_prompt, named=bool(title))
            if not title:
                self.feed.forget_changes(entry)

        self._act("rename", work)

    def ask_trash(self) -> None:
        self._target = entry = self._held()
        if entry is not None and self.view.is_current(entry):
            self.view.message = "this session goes on here: it stays"
        elif entry is not None:
            self.view.mode = "confirm"

    def answer_trash(self, *, yes: bool) -> None:
        entry = self._target
        self.view.mode = "list"
        if not yes or entry is None:
            return

        async def work() -> None:
            await call_in_thread("trash-session", lambda: self._source.trash(entry))
            self._trashed.append(entry)
            self.feed.remove(entry)
            self.view.message = (
                f"moved to the trash · ^Z brings it back: {safe_line(entry.title or entry.id)}"
            )

        self._act("trash", work)

    def restore(self) -> bool:
        if not self._trashed:
            return False
        entry = self._trashed.pop()

        async def work() -> None:
            await call_in_thread("restore-session", lambda: self._source.restore(entry))
            self.feed.bring_back(entry)
            self.view.message = f"brought back: {safe_line(entry.title or entry.id)}"

        self._act("restore", work)
        return True

    def open_preview(self) -> None:
        view, entry = self.view, self._held()
        if entry is None:
            return
        self._target = entry
        # It brings what renders a transcript: the first sight of the list does without.
        from mewcode.repl.picker_preview import Preview

        def size() -> tuple[int, int]:
            screen = self._output.get_size()
            return preview_size(screen.columns - 1, screen.rows)

        view.mode, view.preview_title = "preview", safe_line(entry.title or entry.id)
        self._preview = Preview(view, lambda: self._source.preview(entry), self._tasks, size, self._changed)
        self.pages = self._preview.pages

    def close_preview(self) -> None:
        self.view.mode = "list"
        if self._preview is not None:
            self._preview.close()
            self._preview = self.pages = None


async def pick_session(
    screen: Screen,
    theme: Theme,
    source: SessionSource,
    *,
    current: str | None = None,
    news: Callable[[], str] = lambda: "",
    focus: Focus = nowhere,
) -> Path | None:
    """Lets the user pick a session in place of ``screen``; its folder, None where they leave. ``current`` is
    the id of the session that goes on. ``news``: a word on what waits outside."""
    view = PickerView(theme, source.scopes, current, news=news)
    # An input of its own: what the screen's has yet to decide of an Esc would go to the screen's keys.
    picker = Picker(view, source, create_input(), screen.output, focus=focus)
    async with screen.away():
        picked = await picker.run()
    return picked.path if picked is not None else None
