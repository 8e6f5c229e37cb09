"""The checkpoints of the session that is under way, made when they are first needed: a start needs none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mewcode.core.access import Access, CommandAccess

if TYPE_CHECKING:
    from mewcode.agent.checkpointing import SessionCheckpoints
    from mewcode.agent.ports import SessionArchive
    from mewcode.agent.session import Session
    from mewcode.core.message import Message


class Safekeeping:
    """Has the session's tools and commands tell of what they change. A new archive has its own checkpoints.

    ``left``: the conversation that the last rewind left, and the id of that rewind.
    """

    def __init__(self, session: Session) -> None:
        self.left: tuple[str, tuple[Message, ...]] | None = None
        self._session = session
        self._lock = threading.Lock()
        self._archive: SessionArchive | None = None
        self._checkpoints: SessionCheckpoints | None = None
        files = session.tools.session
        files.before_write = lambda path: self.checkpoints.before_write(path)
        files.after_write = lambda path: self.checkpoints.after_write(path)
        session.tools.watch = self._watch

    @property
    def checkpoints(self) -> SessionCheckpoints:
        """Those of the archive that the session has now. May be asked for in any thread."""
        with self._lock:
            if self._checkpoints is None or self._archive is not self._session.archive:
                self._end(wait=False)  # the event loop may be asking
                self._archive = self._session.archive
                self._checkpoints = self._made(self._archive)
            return self._checkpoints

    def _made(self, archive: SessionArchive) -> SessionCheckpoints:
        from mewcode.agent.checkpointing import SessionCheckpoints
        from mewcode.sessions.checkpoints import Checkpoints

        session = self._session
        root, policy = session.tools.session.root, session.policy
        kept = Checkpoints(lambda: archive.folder, lambda: session.agent.conversation.turn)
        with_git = policy.trusted_folder and (root / ".git").exists()
        return SessionCheckpoints(kept, root, with_git=with_git, only_reads=policy.only_reads)

    @asynccontextmanager
    async def _watch(self, accesses: Sequence[Access]) -> AsyncIterator[None]:
        if not any(isinstance(access, CommandAccess) for access in accesses):
            yield
            return
        async with self.checkpoints.watched(accesses):
            yield

    async def aclose(self) -> None:
        """Waits until what the last command changed is known, at most a second or two."""
        if self._checkpoints is not None:
            await asyncio.to_thread(self._end)

    def _end(self, *, wait: bool = True) -> None:
        if self._checkpoints is not None:
            self._checkpoints.close(wait=wait)
            self._checkpoints = None
