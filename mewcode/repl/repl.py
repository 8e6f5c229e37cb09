"""The terminal front end: joins screen, input, commands and turns. It is the `Person` that tools ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from mewcode._version import __version__
from mewcode.core.errors import MewCodeError
from mewcode.core.events import ApprovalAnswer, ApprovalRequest, Question
from mewcode.infra.collector import start_done
from mewcode.infra.log_file import log_path
from mewcode.infra.supervisor import TaskScope
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.permissions.modes import next_mode
from mewcode.repl.approval import answer_of, approval_panel
from mewcode.repl.commands import Clear, CommandRegistry, Outcome, Pick, Quit, Say, Table
from mewcode.repl.input import make_bindings, make_buffer
from mewcode.repl.layout import Drawn, make_layout
from mewcode.repl.panel import Chosen, Option, Panel
from mewcode.repl.screen import Screen
from mewcode.repl.statusline import status_text
from mewcode.repl.theme import Theme
from mewcode.repl.tool_views import user_block
from mewcode.repl.turn_view import TurnView

if TYPE_CHECKING:
    # The parts of a session are loaded after the first paint.
    from mewcode.agent.agent import Run
    from mewcode.agent.session import Session

# Seconds within which a second Ctrl-C counts as one with the first.
_TWICE = 1.0
# Seconds for which a key still belongs to the words that a question interrupted.
_MID_WORD = 1.0
# Seconds between two drawings that only show that time passes.
_TICK = 0.1
# Rows that the input, its menu and the status line may want below what is in progress.
_ROWS_BELOW = 4
# Rows of the block in progress: enough to follow it, few enough to draw in a millisecond or two.
_LIVE_ROWS = 16

# Shapes, not colours: they hold in every theme.
_MENU_STYLE = [
    ("completion-menu.completion.current", "reverse"),
    ("completion-menu.meta.completion", "italic"),
]

CLOSED = 130
"""The exit code after a signal or the end of the terminal."""

OpenSession = Callable[["Repl"], Awaitable["Session"]]


class Repl:
    """One run of the front end. ``open_session`` is awaited after the first paint."""

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
    ) -> None:
        self.panel: Panel | None = None
        self.theme = theme
        self.session: Session | None = None
        self._open_session = open_session
        self._commands = commands
        self._folder, self._branch, self._label = folder, branch, label
        self._first_prompt = first_prompt
        self._queue: list[str] = []
        self._run: Run | None = None
        self._view: TurnView | None = None
        self._busy = False
        self._input: asyncio.Task[None] | None = None
        self._last_interrupt = 0.0
        self._tasks = TaskScope("repl")
        self._failure: Exception | None = None
        self.buffer: Buffer = make_buffer(commands, root)
        self._drawn = Drawn(theme.paint("user", "❯ "))
        self.screen = Screen(
            make_layout(self.buffer, self._drawn),
            make_bindings(self.buffer, self),
            Style(_MENU_STYLE),
            input_,
            output,
            color=theme.name != "no-color",
            compose=self._compose,
            after_first_paint=self._painted,
        )

    async def run(self) -> int:
        """Runs until the user leaves; returns the exit code. Raises what kept the session from opening."""
        try:
            code = await self.screen.run()
        except EOFError:  # the terminal was closed
            code = CLOSED
        finally:
            if self._run is not None:
                self._run.interrupt()
            await self._tasks.close(grace=1.0)
            if self.session is not None:
                await self.session.aclose()
        if self._failure is not None:
            raise self._failure
        return code

    def end(self, code: int) -> None:
        """Leaves from outside: a signal, a closed terminal."""
        if self._run is not None:
            self._run.interrupt()
        self.screen.exit(code)

    def _start(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
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

    def _painted(self) -> None:
        self._start("session", self._begin)

    async def _begin(self) -> None:
        try:
            self.session = await self._open_session(self)
        except Exception as error:  # noqa: BLE001 - `run` raises it once the screen is given back
            self._failure = error
            self.screen.exit(1)
            return
        for notice in self.session.notices:
            self.say("warn", notice)
        self._replay(self.session)
        self._start("views", lambda: asyncio.to_thread(_load_views))
        self.session.on_saving = self._saving_changed
        self.session.background.start("warm", _warm(self.session))
        self.screen.refresh()
        if self._first_prompt:
            self.submit(self._first_prompt)
        elif self._queue:
            self._next()

    def _saving_changed(self, failing: str | None) -> None:
        if failing:
            self.say("warn", failing, "The conversation goes on; saving is tried again with each message.")
        else:
            self.say("dim", "the session is being saved again")

    def _replay(self, session: Session) -> None:
        from mewcode.repl.replay import replay

        if session.agent.conversation.messages:
            self.screen.commit(replay(session.agent.conversation.messages, self.theme, self.screen.width))

    # What is drawn.

    def _compose(self) -> None:
        width, rows, panel = self.screen.width, self.screen.rows, self.panel
        asked = panel.lines(self.theme, width) if panel is not None else []
        queued = [self.theme.paint("dim", safe_line(f"queued: {text}", width - 1)) for text in self.queued]
        live: list[str] = []
        if self._view is not None:
            left = rows - len(queued) - len(asked) - _ROWS_BELOW
            live = self._view.live_lines(max(3, min(left, _LIVE_ROWS)))
        status = status_text(self.session, self._folder, self._branch, width, self._label)
        self._drawn.show(
            [*live, *queued, *asked, ""],
            self.theme.paint("dim", status),
            takes_input=panel is None or panel.writing is not None,
        )

    def say(self, style: str, text: str, hint: str = "") -> None:
        TurnView(self.theme, self.screen.commit, lambda: self.screen.width, time.monotonic).note(
            style, text, hint
        )

    @property
    def queued(self) -> tuple[str, ...]:
        waiting = self.session.agent.interjections.waiting if self.session else ()
        return (*waiting, *self._queue)

    # What keys ask for; see `repl.input.Actions`.

    def submit(self, text: str) -> None:
        """Sends, or queues while a turn runs; a command is never queued behind a turn."""
        if self.session is None or (self._busy and (self._run is None or text.startswith("/"))):
            self._queue.append(text)
        elif self._busy:
            self.session.agent.interjections.put(text)
        else:
            self._queue.append(text)
            self._next()
        self.screen.refresh()

    def _next(self) -> None:
        idle = not self._busy and self.screen.app.is_running
        if idle and self._queue and self.session is not None:
            self._busy = True
            session, text = self.session, self._queue.pop(0)
            self._input = self._start("input", lambda: self._take(session, text))
            # Not in the task itself: one that is cancelled before its first step never runs.
            self._input.add_done_callback(lambda _: self._taken(session))

    async def _take(self, session: Session, text: str) -> None:
        if text.startswith("/") and "\n" not in text and not text.startswith("//"):
            self.screen.commit("\n" + user_block(text, self.theme, self.screen.width))
            await self._show(session, await self._commands.run(session, text))
        else:
            await self._turn(session, text)

    def _taken(self, session: Session) -> None:
        self._busy = False
        self._queue += session.agent.interjections.take_all()
        self.screen.refresh()
        self._next()

    async def _turn(self, session: Session, text: str) -> None:
        self.screen.commit("\n" + user_block(text, self.theme, self.screen.width))
        view = TurnView(self.theme, self.screen.commit, lambda: self.screen.width, time.monotonic)
        self._view = view
        ticking = self._tasks.start("tick", self._tick())
        try:
            async with session.run(text) as run:
                self._run = run
                async for event in run:
                    view.handle(event)
                    self.screen.refresh()
            if run.result.stop in ("interrupted", "denied", "error"):
                self._give_back(session)
        finally:
            ticking.cancel()
            self._view = self._run = None

    def _give_back(self, session: Session) -> None:
        """After a stop, what was queued returns to the input."""
        texts = [*session.agent.interjections.take_all(), *self._queue]
        self._queue.clear()
        if texts:
            self.buffer.insert_text("\n".join(texts))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            self.screen.refresh()

    def stop(self) -> None:
        if self._run is not None:
            if self._view is not None:
                self._view.interrupted = True
            self._run.interrupt()
            self.screen.refresh()
        elif self._input is not None and not self._input.done():
            # A command, such as one that asks the service for its models.
            self._input.cancel()
            self.say("warn", "interrupted")

    def interrupt(self, text: str) -> bool:
        now = time.monotonic()
        twice, self._last_interrupt = now - self._last_interrupt < _TWICE, now
        if self.panel is not None:
            self.panel.writing = None
            self.panel.cancel()
            if self._run is None:
                return False  # what asked goes on without an answer
        if self._busy:
            self.stop()
            if twice and self._input is not None:
                # Whatever does not end by being asked is left behind: the prompt comes back.
                self._input.cancel()
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
        if not self._busy:
            self.screen.exit(0)
        else:
            self.say("dim", "a turn is running: Esc stops it")

    def next_mode(self) -> None:
        if self.session is not None:
            self.session.use_mode(next_mode(self.session.mode))
            self.screen.refresh()

    def changed(self) -> None:
        self.screen.refresh()

    def take_back(self) -> str | None:
        if self._queue:
            return self._queue.pop()
        return self.session.agent.interjections.take_last() if self.session else None

    async def choose(self, title: str, options: tuple[Option, ...]) -> str | None:
        """The value of the option that the user takes, None for Esc."""
        chosen = await self._ask(Panel(title, options))
        return None if chosen is None else chosen.value

    # The person, see `agent.ports.Person`.

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        shown, panel = approval_panel(request, self.theme, self.screen.width)
        self.screen.commit(shown)
        return answer_of(await self._ask(panel))

    async def answer(self, question: Question) -> str | None:
        own = Option("", "something else", "in your own words", asks_text=True)
        options = tuple(Option(label, label, description) for label, description in question.choices)
        chosen = await self._ask(Panel(safe_text(question.question), (*options, own)))
        return None if chosen is None else chosen.text or chosen.value or None

    async def _ask(self, panel: Panel) -> Chosen | None:
        self.panel = panel
        # What was being typed is no answer: it waits aside.
        draft = self.buffer.document
        if draft.text:
            panel.accepts_from = asyncio.get_running_loop().time() + _MID_WORD
        self.buffer.reset()
        self.screen.refresh()
        try:
            return await panel.outcome
        finally:
            self.panel = None
            self.buffer.set_document(draft)
            self.screen.refresh()

    # What commands give.

    async def _show(self, session: Session, outcome: Outcome) -> None:
        while isinstance(outcome, Pick):
            chosen = await self._ask(Panel(outcome.title, outcome.options, outcome.selected))
            if chosen is None:
                return
            outcome = outcome.then(chosen.value)
        if isinstance(outcome, Say):
            self.say("plain", outcome.text, outcome.hint)
        elif isinstance(outcome, Table):
            from mewcode.repl.tables import table_text

            self.screen.commit("\n" + table_text(outcome, self.theme, self.screen.width))
        elif isinstance(outcome, Clear):
            self.screen.clear(header(self.theme))
            self.say("dim", f"a new conversation: {session.id}")
        elif isinstance(outcome, Quit):
            self.screen.exit(0)


async def _warm(session: Session) -> None:
    """Loads what the first turn needs; the start is over with it."""
    try:
        await session.warm()
    finally:
        start_done()


def header(theme: Theme) -> str:
    """The first line on the screen."""
    return theme.paint("accent", f"MewCode {__version__}") + theme.paint("dim", " · /help lists the commands")


def _load_views() -> None:
    """What the first answer needs to be drawn, loaded while the user types."""
    import mewcode.repl.markdown_blocks  # noqa: F401
