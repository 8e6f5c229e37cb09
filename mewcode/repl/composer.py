"""What goes with the input's words: pasted texts, pictures, earlier inputs, the editor, mentioned files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from prompt_toolkit.buffer import Buffer

from mewcode.core.message import Image
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.file_index import FileIndex
from mewcode.repl.history import HistorySearch
from mewcode.repl.pasted import Pasted
from mewcode.repl.questions import Questions
from mewcode.repl.screen import Screen
from mewcode.repl.theme import Style, Theme

if TYPE_CHECKING:
    # The parts of a session, and what deals with pictures, are loaded when they are needed.
    from mewcode.agent.session import Session
    from mewcode.repl.mentions import Attached
    from mewcode.repl.pictures import Pictures


class Host(Protocol):
    """What the composer needs of the front end around it."""

    theme: Theme
    screen: Screen
    session: Session | None
    buffer: Buffer
    questions: Questions

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> object: ...

    def say(self, style: Style, text: str, hint: str = "") -> None: ...


class Composer:
    """``search`` is the search through earlier inputs that is under way, ``pasted`` what markers in the
    input stand for, ``files`` what an ``@`` completes."""

    def __init__(self, host: Host, files: FileIndex) -> None:
        self.pasted = Pasted()
        self.search: HistorySearch | None = None
        self.files = files
        self._host = host
        self._pictures: Pictures | None = None

    # What is submitted.

    def take(self, *, remember: bool) -> str:
        """The whole text of the input, which is empty after. ``remember``: it goes to the history."""
        buffer = self._host.buffer
        text = self.pasted.unfold(buffer.text)
        if remember and text.strip() and buffer.history.get_strings()[-1:] != [text]:
            buffer.history.append_string(text)
        buffer.reset()
        return text.strip()

    def brings(self, text: str) -> bool:
        """Whether a message brings more than words."""
        from mewcode.repl.mentions import has_mention

        pictures = self._pictures is not None and self._pictures.within(text)
        return bool(pictures) or has_mention(self.pasted.fold(text))

    async def attach(self, session: Session, text: str) -> tuple[Attached, list[Image]]:
        """Reads what a message mentions, and finds its pictures; `show_attached` says what was found."""
        from mewcode.repl.mentions import attach

        typed = self.pasted.typed(text)
        attached = await attach(session, self.pasted.fold(text), typed)
        images = self._pictures.within(text) if self._pictures is not None else []
        if images and not session.model.vision:
            images = []
            why = "Its marker stays in your words; /model shows which models take pictures."
            attached.warnings.append((f"{session.model.name} takes no pictures: none is sent", why))
        return attached, [*attached.images, *images]

    def show_attached(self, text: str, attached: Attached) -> None:
        """Says below a message, which was said now, what goes with it and what does not."""
        self.pasted.said(text)
        host = self._host
        paint, width = host.theme.paint, host.screen.width
        if attached.notes:
            lines = [paint("dim", safe_line(f"  └ {note}", width - 1)) for note in attached.notes]
            host.screen.commit("\n".join(lines))
        for words, hint in attached.warnings:
            host.say("warn", words, hint)

    # What keys do.

    def paste(self, text: str) -> None:
        """Inserts a pasted text: folded where it is long; the path of a picture becomes a mention of it."""
        text = "".join(char for char in text if char >= " " or char in "\t\n\r")
        if any(name in text[-12:].lower() for name in (".png", ".jp", ".gif", ".webp")):
            from mewcode.repl.mentions import mention_of
            from mewcode.repl.pictures import dropped_pictures

            if paths := dropped_pictures(text):
                self._host.buffer.insert_text("".join(f"{mention_of(path)} " for path in paths))
                return
        self._host.buffer.insert_text(self.pasted.add(text))

    def paste_picture(self) -> None:
        self._host.start("clipboard", self._paste_picture)

    async def _paste_picture(self) -> None:
        from mewcode.repl.clipboard_picture import read_clipboard_picture
        from mewcode.repl.pictures import Pictures
        from mewcode.tools.in_thread import in_thread

        host, session = self._host, self._host.session
        if session is None:
            return
        if session.model.name and not session.model.vision:
            host.say("warn", f"{session.model.name} takes no pictures", "/model shows which models do.")
            return
        pictures = self._pictures = self._pictures or Pictures()
        data = await read_clipboard_picture(session.around.environ)
        marker = await in_thread(lambda stop: pictures.add(data))
        host.questions.insert(marker + " ")
        host.screen.app.invalidate()

    def edit(self) -> None:
        """Opens the user's editor on the input."""
        self._host.start("editor", lambda: self.compose(self._host.buffer.text))

    async def compose(self, text: str) -> None:
        """Lets the user write the next input in an editor, beginning with ``text``."""
        from mewcode.repl.editor import edit_text

        host, session = self._host, self._host.session
        if session is None:
            return
        environ: Mapping[str, str] = session.around.environ
        async with host.screen.away():
            text = await edit_text(self.pasted.unfold(text), environ)
        host.questions.replace(self.pasted.fold(text))

    def start_search(self) -> None:
        buffer = self._host.buffer
        self.search = HistorySearch.over(buffer.history.get_strings(), buffer.document)
        self._host.screen.refresh()

    def show_found(self) -> None:
        """The input shows what the search has found."""
        if self.search is not None:
            self._host.buffer.set_document(self.search.document)
            self._host.screen.refresh()

    def end_search(self, *, keep: bool) -> None:
        """Leaves what was found in the input, or puts back what stood there."""
        search, self.search = self.search, None
        if search is not None and not keep:
            self._host.buffer.set_document(search.draft)
        self._host.screen.refresh()

    def lines(self, width: int) -> list[str]:
        """What stands above the input."""
        return [self.search.line(self._host.theme, width)] if self.search is not None else []
