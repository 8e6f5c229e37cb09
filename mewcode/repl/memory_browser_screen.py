"""The notes on a screen of their own: what keys do, and what is read meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from prompt_toolkit.input import Input, create_input
from prompt_toolkit.output import Output

from mewcode.core.errors import MewCodeError
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.editor import edit_file
from mewcode.repl.frame import preview_size
from mewcode.repl.line_edit import LineEdit
from mewcode.repl.list_screen import Focus, ListScreen, nowhere
from mewcode.repl.memory_browser_items import ChangeItem, FileItem, Item, NoteItem, Standing, Tab
from mewcode.repl.memory_browser_keys import make_keys
from mewcode.repl.memory_browser_source import Notes, NoteSource, Past
from mewcode.repl.memory_browser_view import BrowserView
from mewcode.repl.pages import Pages
from mewcode.repl.screen import Screen
from mewcode.repl.slices import Slices
from mewcode.repl.theme import Theme
from mewcode.repl.thread_call import call_in_thread

# Seconds that the first drawing waits for the notes, rather than be empty.
_FIRST = 0.1


class MemoryBrowser(ListScreen[BrowserView, None]):
    """One look at the notes. ``environ`` names the editor."""

    def __init__(
        self,
        view: BrowserView,
        source: NoteSource,
        environ: Mapping[str, str],
        input_: Input,
        output: Output,
        focus: Focus = nowhere,
    ) -> None:
        self.view = view  # what `make_keys` asks for
        super().__init__("memory", view, make_keys(self), input_, output, focus)
        self._source = source
        self._environ = environ
        self._slices = Slices(self._tasks, self._changed)
        self._notes: list[NoteItem] = []
        self._forgotten: list[NoteItem] = []
        self._rounds: dict[Tab, int] = {}  # what comes from an earlier reading is dropped
        self._yes: Callable[[], None] = lambda: None
        self._before_question = view.mode
        self._to_edit: NoteItem | FileItem | None = None
        # What the preview shows, or will in a moment: the item itself, since it may be another by now.
        self._previewed: tuple[Item | None, int] = (None, 0)
        self._previewing: asyncio.Task[None] | None = None
        self._text = view.preview = Pages(self._preview_rows)
        self.app.before_render += self._fit

    async def run(self) -> None:
        """Shows the notes until the user leaves them."""
        try:
            reading = self._read("notes")
            self._read("history")
            if self.view.items.tab == "instructions":
                reading = self._read("instructions")
            await asyncio.wait((reading,), timeout=_FIRST)
            while True:
                await self.app.run_async(set_exception_handler=False, handle_sigint=False)
                item, self._to_edit = self._to_edit, None
                if item is None:
                    return
                # In this task, so that who ends the browser ends the editor.
                await self._told(partial(self._edit, item))
        finally:
            await self._tasks.close()

    # What is read.

    def _read(self, tab: Tab) -> asyncio.Task[None]:
        """Reads what a tab shows anew; what is shown stays until it is there. The notes bring the inbox, the
        history what was forgotten."""
        number = self._rounds[tab] = self._rounds.get(tab, 0) + 1

        async def work() -> None:
            self.view.reading.add(tab)
            try:
                take = await call_in_thread(f"read-{tab}", self._reader(tab))
            finally:
                if number == self._rounds[tab]:
                    self.view.reading.discard(tab)
            if number == self._rounds[tab]:
                take()
                self._apply()

        return self._tasks.start("read", self._told(work))

    def _reader(self, tab: Tab) -> Callable[[], Callable[[], None]]:
        """What reads a tab, in a thread, and gives what takes in what was read."""
        source = self._source
        if tab == "instructions":
            return lambda: partial(self.view.items.take, tab, source.files())
        if tab == "history":
            return lambda: partial(self._take_past, source.past())
        return lambda: partial(self._take_notes, source.notes())

    def _take_notes(self, notes: Notes) -> None:
        self._notes, self.view.withheld = notes.items, notes.withheld
        self._share_out()

    def _take_past(self, past: Past) -> None:
        self._forgotten = past.forgotten
        self.view.message = self.view.message or past.problem
        self.view.items.take("history", past.changes)
        self._share_out()

    def _share_out(self) -> None:
        """Each note to its tab."""
        waiting = [note for note in self._notes if note.standing == "inbox"]
        others = [note for note in self._notes if note.standing != "inbox"]
        self.view.items.take("inbox", waiting)
        self.view.items.take("notes", [*others, *self._forgotten])

    def _apply(self) -> None:
        self._slices.apply(self.view.items.steps())

    def _read_changed(self) -> None:
        """After a change of notes."""
        self._read("notes")
        self._read("history")

    # The preview follows the selection.

    def _preview_rows(self) -> int:
        return preview_size(*self._size)[1]

    @property
    def _size(self) -> tuple[int, int]:
        """Columns and rows that are drawn."""
        size = self._output.get_size()
        return size.columns - 1, size.rows

    def _fit(self, _: object) -> None:
        """Before each drawing: where another item is selected, or the width is another, its preview is made
        anew. The one before stays until it is there."""
        item, width = self.view.items.current, preview_size(*self._size)[0]
        if self.view.mode == "preview" and item is None:
            self.close_preview()
        before, width_before = self._previewed
        if not self.view.shows_preview(self._size[0]) or (item is before and width == width_before):
            return
        self._previewed = item, width
        if self._previewing is not None:
            self._previewing.cancel()
        if item is None:
            self._text.lines, self.view.preview_title = [], ""
            return
        stays = before is not None and before.key == item.key
        self._previewing = self._tasks.start(
            "preview", self._told(partial(self._preview, item, width, stays))
        )

    async def _preview(self, item: Item, width: int, stays: bool) -> None:
        """``stays``: it is the same item as before, and keeps its place."""

        def work() -> list[str]:
            # It brings what renders Markdown and diffs: the first sight of the list does without.
            from mewcode.repl.memory_browser_text import preview_lines

            return preview_lines(item, self._source.texts(item), self.view.theme, width, self.view.clock())

        text = self._text
        lines = await call_in_thread("preview-note", work)
        above = max(0, len(text.lines) - self._preview_rows() - text.below) if stays else 0
        text.lines, self.view.preview_title = lines[::-1], title_of(item)
        text.top()
        text.move(-above)

    # What keys ask for beside what `ListScreen` does; see `memory_browser_keys.Actions`.

    def filter_changed(self) -> None:
        self.view.message = ""
        if self.view.items.use_words(self.view.filter.text):
            self._apply()

    def escape(self) -> None:
        if not self.view.filter.text:
            self.leave()
        else:
            self.view.filter = LineEdit()
            self.filter_changed()

    def next_tab(self, by: int) -> None:
        self.close_preview()
        items = self.view.items
        items.next_tab(by)
        self._apply()
        self._read("notes" if items.tab == "inbox" else items.tab)

    def next_state(self) -> None:
        if self.view.items.tab == "notes":
            self.view.items.next_state()
            self._apply()

    def next_type(self) -> None:
        self.view.items.next_type()
        self._apply()

    def next_level(self) -> None:
        self.view.items.next_level()
        self._apply()

    def choose(self) -> None:
        if isinstance(self.view.items.current, FileItem):
            self.edit()
        else:
            self.open_preview()

    def open_preview(self) -> None:
        if self._held() is not None:
            self.view.mode, self.pages = "preview", self._text

    def close_preview(self) -> None:
        if self.view.mode == "preview":
            self.view.mode, self.pages = "list", None

    def _held(self) -> Item | None:
        """The selected item, which stays selected from now on."""
        self.view.items.hold()
        return self.view.items.current

    def _note(self, *standings: Standing, otherwise: str) -> NoteItem | None:
        """The selected note, where its state is one of these; ``otherwise`` is said where it is not."""
        item = self._held()
        if not isinstance(item, NoteItem):
            return None
        if item.standing in standings:
            return item
        first = {"forgotten": "^R restores it first", "inbox": "^Y approves it first"}
        self.view.message = first.get(item.standing, otherwise)
        return None

    def pin(self) -> None:
        if note := self._note(*_KEPT, otherwise=""):
            self._change("pin-note", partial(self._source.pin, note))

    def move_level(self) -> None:
        if note := self._note(*_KEPT, otherwise=""):
            self._change("move-note", partial(self._source.move, note))

    def approve(self) -> None:
        if note := self._note("inbox", otherwise="it needs no yes: it is not in the inbox"):
            self._change("approve-note", partial(self._source.approve, note))

    def ask_forget(self) -> None:
        if note := self._note(*_KEPT, "inbox", otherwise=""):
            does = "refuse" if note.standing == "inbox" else "forget"
            forget = partial(self._source.forget, note)
            self._ask(f"{does}? (y/n) {title_of(note)}", partial(self._change, "forget-note", forget))

    def restore(self) -> None:
        item = self._held()
        if isinstance(item, ChangeItem):
            if item.is_undone:
                self.view.message = "it is taken back already"
            else:
                self._ask_undo(item.first.id, item.what)
        elif isinstance(item, NoteItem):
            if item.standing in ("live", "inbox"):
                self.view.message = "there is nothing to restore: it is here"
            else:
                self._change("restore-note", partial(self._source.restore, item))

    def ask_undo(self) -> None:
        async def work() -> None:
            change_id, what = await call_in_thread("last-change", self._source.last_change)
            if self.view.mode != "confirm":
                self._ask_undo(change_id, what)

        self._act("last-change", work)

    def _ask_undo(self, change_id: str, what: str) -> None:
        undo = partial(self._source.undo, change_id)
        self._ask(f"take back? (y/n) {what}", partial(self._change, "undo-change", undo))

    def _ask(self, question: str, yes: Callable[[], None]) -> None:
        view = self.view
        self._before_question, view.mode = view.mode, "confirm"
        view.question, self._yes = question, yes

    def answer(self, yes: bool) -> None:
        self.view.mode = self._before_question
        if yes:
            self._yes()

    def _change(self, name: str, deed: Callable[[], str]) -> None:
        """Changes a note; whatever comes of it, the notes are read again."""

        async def work() -> None:
            self.view.doing = "saving…"
            try:
                self.view.message = await call_in_thread(name, deed)
            finally:
                self.view.doing = ""
                self._read_changed()

        self._act(name, work)

    def edit(self) -> None:
        item = self._held()
        if isinstance(item, NoteItem) and item.standing == "forgotten":
            self.view.message = "^R restores it first"
        elif isinstance(item, NoteItem | FileItem):
            self._to_edit = item
            self._exit(None)

    async def _edit(self, item: NoteItem | FileItem) -> None:
        """Lets the user edit the item's file while the terminal is free."""
        path = await call_in_thread("note-path", lambda: self._source.path(item))
        if path is None or not path.is_file():
            self.view.message = "there is no file to be edited"
            return
        problem = ""
        try:
            await edit_file(path, self._environ)
        except MewCodeError as error:
            problem = " ".join(filter(None, (error.message, error.hint)))
        try:
            said = await call_in_thread("edited", lambda: self._source.edited(item))
            self.view.message = problem or said
        finally:
            if isinstance(item, NoteItem):
                self._read_changed()
            else:
                self._read("instructions")


_KEPT: tuple[Standing, ...] = ("live", "expired", "superseded", "archived")


def title_of(item: Item) -> str:
    """What an item is called, safe to show."""
    if isinstance(item, NoteItem):
        return safe_line(item.entry.name) or safe_line(item.entry.file)
    return safe_line(item.shown if isinstance(item, FileItem) else item.what)


async def show_notes(
    screen: Screen,
    theme: Theme,
    source: NoteSource,
    environ: Mapping[str, str],
    *,
    tab: Tab = "notes",
    news: Callable[[], str] = lambda: "",
    focus: Focus = nowhere,
) -> None:
    """Shows the notes in place of ``screen`` until the user leaves them. ``news``: a word on what waits
    outside."""
    view = BrowserView(theme, news=news)
    view.items.use_tab(tab)
    # An input of its own: what the screen's has yet to decide of an Esc would go to the screen's keys.
    browser = MemoryBrowser(view, source, environ, create_input(), screen.output, focus)
    async with screen.away():
        await browser.run()
