"""What fills the picker's list: the sessions known at once, those found since, the filter, searches, and who
has a session open. What takes time goes on in threads or in slices; what comes too late is dropped."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from mewcode.core.errors import MewCodeError
from mewcode.infra.supervisor import TaskScope
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.list_screen import defect_words
from mewcode.repl.picker_filter import Query, read_filter
from mewcode.repl.picker_list import Key, ShownHit, key_of, key_of_path
from mewcode.repl.picker_view import PickerView
from mewcode.repl.slices import Slices
from mewcode.repl.thread_call import call_in_thread

if TYPE_CHECKING:
    from mewcode.repl.picker_source import SessionSource, SourceHit
    from mewcode.sessions.catalog_entry import CatalogEntry

# Seconds without a key after which a search begins.
_PAUSE = 0.12


class Feed:
    """Owns what the list is made of. Everything here runs in the event loop's thread; ``changed`` asks for a
    drawing."""

    def __init__(
        self, view: PickerView, source: SessionSource, tasks: TaskScope, changed: Callable[[], None]
    ) -> None:
        self._view = view
        self._source = source
        self._tasks = tasks
        self._changed = changed
        self._round = 0  # which opening of a scope; what comes from an earlier one is dropped
        self._search = 0
        self._is_over = False
        self._has_come = asyncio.Event()
        self._slices = Slices(tasks, changed)
        self._asking: asyncio.Task[None] | None = None
        # What the user did here, since the files were read.
        self._own: dict[Key, dict[str, Any]] = {}
        self._gone: set[Key] = set()

    @property
    def scope(self) -> str:
        return self._view.scopes[self._view.scope]

    def close(self) -> None:
        """Nothing is looked for any more."""
        self._is_over = True

    def open(self, known: Sequence[CatalogEntry] | None = None) -> None:
        """Shows the scope's sessions; ``known`` are those already asked for."""
        self._round += 1
        self._view.reading = True
        if known is not None:
            self.take(known)
        self._tasks.start("sessions", self._follow(self._round, is_known=known is not None))

    async def first(self, limit: float) -> None:
        """Waits until there is something to show, or to say; at most ``limit`` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._has_come.wait()

    def next_scope(self) -> None:
        view = self._view
        if len(view.scopes) > 1:
            view.scope = (view.scope + 1) % len(view.scopes)
            view.holders.clear()
            self.open()
            if view.sessions.query.search:
                self._look_for(view.sessions.query)

    async def _follow(self, number: int, *, is_known: bool) -> None:
        scope, loop = self.scope, asyncio.get_running_loop()

        def stop() -> bool:
            return self._is_over or number != self._round

        def come(entries: Sequence[CatalogEntry]) -> None:
            if not stop():
                self.take(entries)
                self._changed()

        def more(entries: Sequence[CatalogEntry]) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(come, entries)

        try:
            if not is_known:
                come(await call_in_thread("known-sessions", lambda: self._source.known(scope)))
            await call_in_thread("read-sessions", lambda: self._source.refresh(scope, more, stop))
        except MewCodeError as error:
            self._view.message = error.message
        except Exception as error:
            self._view.message = defect_words(error)
            raise
        finally:
            self._has_come.set()
            if number == self._round:
                self._view.reading = False
                self._changed()

    def take(self, entries: Sequence[CatalogEntry]) -> None:
        """These are the scope's sessions now."""
        if self._own or self._gone:
            entries = [
                msgspec.structs.replace(entry, **own) if (own := self._own.get(key_of(entry))) else entry
                for entry in entries
                if key_of(entry) not in self._gone
            ]
        self._view.sessions.take(entries)
        self._apply()
        self._has_come.set()

    def filter_changed(self) -> None:
        """The filter's text is another one."""
        query = read_filter(self._view.filter.text)
        if query == self._view.sessions.query:
            return
        self._view.sessions.use(query)
        if query.search:
            self._look_for(query)
        else:
            self._search += 1
            self._view.searching, self._view.sessions.hits, self._view.more_hits = False, {}, False
            self._apply()

    def next_sort(self) -> None:
        self._view.sessions.next_sort()
        self._apply()

    def replace(self, entry: CatalogEntry, **changes: Any) -> None:
        """The user has changed a session."""
        self._own.setdefault(key_of(entry), {}).update(changes)
        self._view.sessions.replace(msgspec.structs.replace(entry, **changes))

    def forget_changes(self, entry: CatalogEntry) -> None:
        """What was changed is for the files to say: they are read again."""
        self._own.pop(key_of(entry), None)
        self.open()

    def remove(self, entry: CatalogEntry) -> None:
        self._gone.add(key_of(entry))
        self._view.sessions.remove(entry)
        self._apply()

    def bring_back(self, entry: CatalogEntry) -> None:
        self._gone.discard(key_of(entry))
        self._view.sessions.add(entry)
        self._apply()
        self._view.sessions.select(entry)

    def _apply(self) -> None:
        """Applies the filter."""
        self._slices.apply(self._view.sessions.steps())

    def _look_for(self, query: Query) -> None:
        self._search += 1
        self._view.searching = True
        self._tasks.start("search", self._find(self._search, query))

    async def _find(self, number: int, query: Query) -> None:
        scope, view = self.scope, self._view
        await asyncio.sleep(_PAUSE)

        def stop() -> bool:
            return self._is_over or number != self._search

        def work() -> tuple[dict[Key, list[ShownHit]], bool]:
            finder = None if query.kind == "pattern" else query.finder()
            found = self._source.search(query.search, scope, stop)
            return _gathered(found.hits, finder), found.is_complete

        if stop():
            return
        try:
            found, is_complete = await call_in_thread("search-sessions", work)
        except MewCodeError as error:
            found, is_complete = {}, True
            if number == self._search:
                view.message = error.message
        except Exception as error:
            view.message = defect_words(error)
            raise
        finally:
            if number == self._search:
                view.searching = False
                self._changed()
        if number == self._search:
            view.sessions.hits, view.more_hits = found, not is_complete
            self._apply()

    def ask_holders(self) -> None:
        """Asks who has the sessions open that are on the screen, where it is not known."""
        if self._asking is None and not self._is_over:
            unknown = [entry for entry in self._view.on_screen if key_of(entry) not in self._view.holders]
            if unknown:
                self._asking = self._tasks.start("holders", self._ask(unknown))

    async def _ask(self, entries: Sequence[CatalogEntry]) -> None:
        def work() -> dict[Key, tuple[int, float] | None]:
            return {key_of(entry): self._source.open_by(entry) for entry in entries}

        try:
            self._view.holders |= dict.fromkeys(map(key_of, entries), None)
            self._view.holders |= await call_in_thread("open-sessions", work)
        finally:
            self._asking = None
            self._changed()


def _gathered(hits: Sequence[SourceHit], finder: re.Pattern[str] | None) -> dict[Key, list[ShownHit]]:
    """The hits by session, the session with the best one first. Without a finder they say themselves what
    matched."""
    found: dict[Key, list[ShownHit]] = {}
    for hit in hits:
        snippet = safe_line(hit.snippet, 400)
        if finder is None:
            spans = tuple(hit.marks)
        else:
            spans = tuple(match.span() for match in finder.finditer(snippet) if match.end() > match.start())
        found.setdefault(key_of_path(hit.path), []).append(ShownHit(hit.turn, snippet, spans))
    return found
