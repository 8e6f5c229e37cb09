"""The terminal front end: joins screen, input, questions, commands and turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style as ScreenStyle

from mewcode.core.errors import MewCodeError
from mewcode.infra.collector import start_done
from mewcode.infra.log_file import log_path
from mewcode.infra.supervisor import TaskScope
from mewcode.infra.terminal_text import safe_line
from mewcode.permissions.modes import next_mode
from mewcode.repl.aside_view import Asides
from mewcode.repl.commands import CommandRegistry, Desk
from mewcode.repl.completer import InputCompleter
from mewcode.repl.composer import Composer
from mewcode.repl.file_index import FileIndex
from mewcode.repl.guide import TerminalGuide
from mewcode.repl.input import make_bindings, make_buffer
from mewcode.repl.layout import Drawn, make_layout
from mewcode.repl.notify import Attention
from mewcode.repl.outcomes import Outcomes
from mewcode.repl.panel import Panel
from mewcode.repl.questions import Questions
from mewcode.repl.reading import Reading
from mewcode.repl.screen import Screen
from mewcode.repl.statusline import background_text, status_text
from mewcode.repl.terminal_traits import TerminalTraits
from mewcode.repl.theme import Style, Theme
from mewcode.repl.turn_view import TurnView
from mewcode.repl.turns import Turns, is_command
from mewcode.repl.user_shell import UserShell

if TYPE_CHECKING:
    # The parts of a session are loaded after the first paint.
    from mewcode.agent.session import Session

# Seconds within which a second Ctrl-C, or a second Esc, counts as one with the first.
_TWICE = 1.0
# Rows that the input, its menu and the status line may want below what is in progress.
_ROWS_BELOW = 4
# Rows that a panel leaves: for what it is about, a blank one, the status line.
_ROWS_BESIDE_PANEL = 3
# Rows of the block in progress: enough to follow it, few enough to draw in a millisecond or two.
_LIVE_ROWS = 12

# Shapes, not colours: they hold in every theme.
_MENU_STYLE = [
    ("completion-menu.completion.current", "reverse"),
    ("completion-menu.meta.completion", "italic"),
]

CLOSED = 130
"""The exit code after a signal or the end of the terminal."""

OpenSession = Callable[["Repl"], Awaitable["Session"]]


class Repl:
    """One run of the front end. ``open_session`` is awaited after the first paint, and may ask."""

    def __init__(
        self,
        open_session: OpenSession,
        commands: CommandRegistry,
        theme: Theme,
        input_: Input,
        output: Output,
        *,
        root: Path,
        folder: str,
        branch: str,
        first_prompt: str | None = None,
        label: str = "",
        traits: TerminalTraits | None = None,
        attention: Attention | None = None,
        cwd: Path | None = None,
        vi_mode: bool = False,
        keeps_history: bool = True,
    ) -> None:
        self.theme = theme
        traits = traits or TerminalTraits()
        self.attention = attention or Attention(
            output.write_raw, time.monotonic, traits, title=False, notify=False
        )
        self.session: Session | None = None
        self._open_session = open_session
        self._commands = commands
        self._folder, self._branch, self._label = folder, branch, label
        self._first_prompt = first_prompt
        self._last_interrupt = self._last_escape = 0.0
        self.reading = Reading(self)
        self._tasks = TaskScope("repl")
        self._failure: Exception | None = None
        self.turns = Turns(self, self._tasks)
        cwd = cwd or root
        self.composer = Composer(self, FileIndex(root, cwd))
        completer = InputCompleter(commands, self.composer.files, cwd, lambda: self.session)
        self.buffer: Buffer = make_buffer(completer, root if keeps_history else None)
        self._is_kept = keeps_history
        self._drawn = Drawn(theme.paint("user", "❯ "))
        self.screen = Screen(
            make_layout(self.buffer, self._drawn),
            make_bindings(self.buffer, self),
            ScreenStyle(_MENU_STYLE),
            input_,
            output,
            color=theme.name != "no-color",
            compose=self._compose,
            after_first_paint=self._painted,
            reflows=traits.reflows,
        )
        if vi_mode:
            self.screen.use_vi()
        self.shell = UserShell(self._tasks, self.screen)
        self._drawn.marks_cursor = lambda: self.screen.parked
        self.questions = Questions(self.buffer, self.screen, theme)
        self.questions.on_ask = self._asked
        self._asides = Asides(self)
        self.guide = TerminalGuide(self)
        self._outcomes = Outcomes(self.screen, self.questions, self.guide, self)

    async def run(self) -> int:
        """Runs until the user leaves; returns the exit code. Raises what kept the session from opening."""
        try:
            code = await self.screen.run()
        except EOFError:  # the terminal was closed
            code = CLOSED
        finally:
            if self.turns.run is not None:
                self.turns.run.interrupt()
            await self._tasks.close(grace=1.0)
            self.attention.end()
            if self.session is not None:
                await self.session.aclose()
        if self._failure is not None:
            raise self._failure
        return code

    def end(self, code: int) -> None:
        """Leaves from outside: a signal, a closed terminal."""
        if self.turns.run is not None:
            self.turns.run.interrupt()
        self.screen.exit(code)

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Starts work of the front end; what goes wrong in it is said, and harms nothing else."""

        async def guarded() -> None:
            try:
                await work()
            except MewCodeError as error:
                self.say("error", error.message, error.hint)
            except Exception as error:
                # A defect of ours: the session goes on, the task's scope logs the trace.
                self.say(
                    "error",
                    f"unexpected: {type(error).__name__}: {error}",
                    f"The log says more: {log_path()}",
                )
                raise

        return self._tasks.start(name, guarded())

    def use_theme(self, theme: Theme) -> None:
        """What is drawn from now on is in these colours; the scrollback stays as it is."""
        self.theme = self.questions.theme = theme
        if self.turns.view is not None:
            self.turns.view.use_theme(theme)
        self._drawn.set_prompt(theme.paint("user", "❯ "))
        self.screen.use_color(color=theme.name != "no-color")
        self.screen.refresh()

    def _painted(self) -> None:
        self.attention.begin()
        self.start("session", self._begin)

    async def _begin(self) -> None:
        try:
            self.session = await self._open_session(self)
        except Exception as error:  # noqa: BLE001 - `run` raises it once the screen is given back
            self._failure = error
            self.screen.exit(1)
            return
        for notice in self.session.notices:
            self.say("warn", notice)
        self._show_resumed(self.session)
        self.start("views", self._look_ahead)
        self.session.on_saving = self._saving_changed
        self.session.background.start("warm", self._warm(self.session))
        if self._is_kept:
            self.session.work.attend(self.session, self.screen.refresh)
            if self.session.noting is not None:
                self.session.noting.attend(self.session, self.turns.tell, self.screen.refresh)
        self.screen.refresh()
        if self._first_prompt:
            self.turns.submit(self._first_prompt)
        else:
            self.turns.next()

    async def _warm(self, session: Session) -> None:
        """Loads what the first turn needs; the start is over with it. Then the user is told what of the
        instructions waits for them."""
        try:
            await session.warm()
        finally:
            start_done()
        loaded = session.news.instructions.loaded if session.agent.system else None
        if loaded is not None and loaded.outside():
            from mewcode.repl.include_offers import notice_of

            words, hint = await asyncio.to_thread(notice_of, loaded)
            if words:
                self.say("dim", words, hint)

    async def _look_ahead(self) -> None:
        await asyncio.to_thread(_load_views)
        self.composer.files.begin()

    def _saving_changed(self, failing: str | None) -> None:
        if failing:
            self.say("warn", failing, "The conversation goes on; saving is tried again with each message.")
        else:
            self.say("dim", "the session is being saved again")

    def _show_resumed(self, session: Session) -> None:
        if session.resumed is not None:
            from mewcode.repl.replay import resumed_words

            self.say("plain", *resumed_words(session.resumed))
            self.show_end(session, session.settings.shown)

    def show_end(self, session: Session, exchanges: int) -> None:
        from mewcode.repl.replay import replay

        messages, whole = session.agent.conversation.messages, not session.resumed or session.resumed.is_whole
        self.screen.commit(replay(messages, self.theme, self.screen.width, exchanges, is_whole=whole))

    def _compose(self) -> bool:
        width, rows, panel = self.screen.width, self.screen.rows, self.panel
        room = rows - _ROWS_BESIDE_PANEL
        asked = panel.lines(self.theme, width, room) if panel else self.composer.lines(width)
        waiting = [f"queued: {text}" for text in self.turns.queued]
        queued = [self.theme.paint("dim", safe_line(text, width - 1)) for text in waiting]
        if self.guide.waiting.words:
            words = f"{self.guide.waiting.words} · esc stops waiting"
            queued.append(self.theme.paint("dim", safe_line(words, width - 1)))
        queued = [*self._asides.lines(), *queued]
        live: list[str] = []
        if self.turns.view is not None:
            left = rows - len(queued) - len(asked) - _ROWS_BELOW
            least = 1 if asked else 3
            live = self.turns.view.live_lines(max(least, min(left, _LIVE_ROWS)))
        if self.shell.view is not None:
            left = rows - len(queued) - len(asked) - len(live) - _ROWS_BELOW
            live = [*self.shell.view.live_lines(max(3, min(left, _LIVE_ROWS))), *live]
        background = background_text(self.session, len(waiting))
        status = status_text(self.session, self._folder, self._branch, width, self._label, background)
        return self._drawn.show(
            [*live, *queued, *asked, ""],
            self.theme.paint("dim", status),
            takes_input=panel is None or panel.writing is not None,
        )

    def say(self, style: Style, text: str, hint: str = "") -> None:
        """A line or two in the scrollback."""
        TurnView(self.theme, self.screen.commit, lambda: self.screen.width, time.monotonic).note(
            style, text, hint
        )

    async def command(self, session: Session, line: str) -> None:
        in_turn = self.turns.run is not None
        screen, told = self.screen, partial(self.turns.told, session)
        desk = Desk(session, self.theme.name, screen.width, screen.rows, self.turns.queued, in_turn, told)
        await self._outcomes.show(session, await self._commands.run(desk, line))

    def is_anytime(self, line: str) -> bool:
        return is_command(line) and self._commands.is_anytime(line)

    def ask_aside(self, session: Session, question: str) -> None:
        self._asides.ask(session, question)

    async def compact(self, session: Session, keep: str) -> None:
        """Has the conversation summed up, beside nothing else."""
        await self.turns.compact(session, keep)

    async def compose(self, text: str) -> None:
        """Lets the user write in their editor; what they wrote stands in the input after."""
        await self.composer.compose(text or self.buffer.text)

    async def run_shell(self, session: Session, command: str) -> None:
        await self.shell.run(session, command, self.theme)

    async def take_note(self, session: Session, text: str) -> None:
        from mewcode.repl.commands.note import note_outcome

        await self._outcomes.show(session, note_outcome(session, text))

    def give_back(self, text: str) -> None:
        """Into the input, on lines of its own."""
        self.questions.insert_lines(self.composer.pasted.fold(text))

    def _asked(self) -> None:
        # Its keys are not for a question's answer; what it has found is put aside as the input.
        self.composer.end_search(keep=True)
        self.attention.asked()

    # What keys ask for; see `repl.input.Actions`.

    @property
    def panel(self) -> Panel | None:
        return self.questions.panel

    def submit(self, text: str) -> None:
        self.turns.submit(text)

    def stop(self) -> None:
        if self._asides.stop() or self.shell.stop() or self.guide.waiting.stop():
            return
        if self.turns.stop():
            self.say("warn", "interrupted")

    @property
    def _at_work(self) -> bool:
        others = self.shell.view is not None or self._asides.running or bool(self.guide.waiting.words)
        return self.turns.busy or others

    def escape(self, *, empty: bool) -> None:
        now, idle = time.monotonic(), empty and not self._at_work
        twice, self._last_escape = now - self._last_escape < _TWICE, now if idle else 0.0
        if idle and twice and self.session is not None:
            self._last_escape = 0.0
            self.turns.submit("/rewind")
        else:
            self.stop()

    def interrupt(self, text: str) -> bool:
        now = time.monotonic()
        twice, self._last_interrupt = now - self._last_interrupt < _TWICE, now
        if self.panel is not None:
            self.panel.writing, self.panel.filter = None, ""
            self.panel.cancel()
            if self.turns.run is None:
                return False  # what asked goes on without an answer
        if self._at_work:
            self.stop()
            if twice:
                self.turns.abandon()
            return False
        if text:
            self._last_interrupt = 0.0
            return True
        if twice:
            self.screen.exit(0)
        else:
            self.say("dim", "press Ctrl-C again to leave, or Ctrl-D")
        return False

    def leave(self) -> None:
        if not self.turns.busy:
            self.screen.exit(0)
        else:
            self.say("dim", "a turn is running: Esc stops it")

    def next_mode(self) -> None:
        if self.session is not None:
            self.session.use_mode(next_mode(self.session.mode))
            self.screen.refresh()

    def changed(self) -> None:
        self.screen.refresh()

    def take_back(self) -> None:
        if text := self.turns.take_back():
            self.give_back(text)

    def focus(self, *, here: bool) -> None:
        self.attention.focus(here=here)

    def open_transcript(self) -> None:
        if self.session is not None:
            self.reading.open(self.session)


def _load_views() -> None:
    """What the first answer needs to be drawn, loaded while the user types."""
    import mewcode.repl.markdown_blocks  # noqa: F401
