"""The model's tools for past sessions: search_history, read_history.

They are there on every start with notes; what they work with is loaded when the first of them is used.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from mewcode.core.errors import SessionError, ToolError
from mewcode.core.outcome import TextView, ToolOutcome
from mewcode.infra.terminal_text import safe_line
from mewcode.tools.base import AnyTool, ArgsT, Tool, ToolContext, ToolSession
from mewcode.tools.in_thread import in_thread

if TYPE_CHECKING:
    from mewcode.infra.stoppable import Stop
    from mewcode.infra.supervisor import TaskScope
    from mewcode.memory.recall.engine import Engine
    from mewcode.note_tools.history_desk import HistoryDesk
    from mewcode.note_tools.refreshing import Refresh
    from mewcode.sessions.briefs import IsOurs

OpenHistory = Callable[[], "HistoryDesk"]
"""Gives what looks things up. May be called in any thread; raises ToolError where notes are off."""


class SearchHistoryArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Words to find turns by."""

    query: Annotated[str, Meta(description="A few words.", min_length=1, max_length=500)]
    limit: Annotated[int, Meta(description="Most turns to give. Default: 8.", ge=1, le=25)] = 8


class ReadHistoryArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A turn of a session."""

    session: Annotated[str, Meta(description="The session's id.", min_length=1, max_length=200)]
    turn: Annotated[int, Meta(description="The turn's number.", ge=0)]
    offset: Annotated[int, Meta(description="Messages to leave out, as the answer says.", ge=0)] = 0


class _HistoryTool(Tool[ArgsT]):
    read_only = True
    pages = True

    def __init__(self, open_desk: OpenHistory) -> None:
        self._open = open_desk

    @property
    def description(self) -> str:
        return Path(__file__).with_name(f"{self.name}.md").read_text(encoding="utf-8").strip()


class SearchHistoryTool(_HistoryTool[SearchHistoryArgs]):
    name = "search_history"
    args_type = SearchHistoryArgs

    def __init__(self, open_desk: OpenHistory, ready: Callable[[ToolContext], Awaitable[bool]]) -> None:
        super().__init__(open_desk)
        self._ready = ready

    def summary(self, args: SearchHistoryArgs, session: ToolSession) -> str:
        return safe_line(args.query)

    async def run(self, args: SearchHistoryArgs, context: ToolContext) -> ToolOutcome:
        await in_thread(lambda _: self._open())  # says where notes are off, before anything is read
        is_whole = await self._ready(context)
        found = await in_thread(lambda _: self._open().search(args.query, args.limit))
        told = found.told
        if not is_whole:
            told += "\nThe past sessions are still being read: ask again for those that are missing."
        return ToolOutcome.text(told, TextView(safe_line(found.shown), found.body))


class ReadHistoryTool(_HistoryTool[ReadHistoryArgs]):
    name = "read_history"
    args_type = ReadHistoryArgs

    def summary(self, args: ReadHistoryArgs, session: ToolSession) -> str:
        return safe_line(f"{args.session} turn {args.turn}")

    async def run(self, args: ReadHistoryArgs, context: ToolContext) -> ToolOutcome:
        try:
            found = await in_thread(
                lambda stop: self._open().read(args.session, args.turn, args.offset, lambda: not stop.wanted)
            )
        except SessionError as error:
            raise ToolError(f"{error.message} {error.hint}".strip()) from error
        return ToolOutcome.text(found.told, TextView(safe_line(found.shown), found.body))


class SessionHistory:
    """The past sessions as a session looks them up. ``engine`` is called when they are first asked for, in
    any thread; ``in_view``: see `HistoryDesk`; ``scope`` owns the work beside the
    conversation. ``is_off``: the user wants no memory in this session."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        sessions_dir: Path,
        is_ours: IsOurs,
        in_view: Callable[[], str],
        scope: Callable[[], TaskScope],
        is_off: Callable[[], bool],
    ) -> None:
        self._engine = engine
        self._dir = sessions_dir
        self._is_ours = is_ours
        self._in_view = in_view
        self._is_off = is_off
        self._scope = scope
        self._refresh: Refresh[bool] | None = None

    def tools(self) -> tuple[AnyTool, ...]:
        """The model's tools."""
        return ReadHistoryTool(self.desk), SearchHistoryTool(self.desk, self.ready)

    def desk(self) -> HistoryDesk:
        """To be called in a thread. Raises ToolError where the user has turned memory off."""
        if self._is_off():
            raise ToolError("notes are off for this session. The user turns them on with /memory on.")
        from mewcode.note_tools.history_desk import HistoryDesk

        return HistoryDesk(self._engine(), self._dir, self._is_ours, self._in_view)

    async def ready(self, context: ToolContext) -> bool:
        """Brings the index up to date; whether all can be found now."""
        if self._refresh is None:
            from mewcode.note_tools.refreshing import Refresh

            self._refresh = Refresh(lambda _, stop: self._read(stop), self._scope, "sessions")
        return bool(await self._refresh.ready(context.progress))

    def _read(self, stop: Stop) -> bool:
        from mewcode.recall_turns import refresh_sessions

        return refresh_sessions(self._engine(), self._dir, stop, self._is_ours)
