"""What a session is reminded out of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mewcode.infra.stoppable import Stop
    from mewcode.memory.entry import Entry
    from mewcode.memory.recall.engine import Engine
    from mewcode.memory.store import NoteStore
    from mewcode.sessions.briefs import IsOurs


class SessionIndex:
    """`agent.ports.RecallIndex`. ``folders``: where notes may be; ``store`` gives them and ``engine`` the
    session's, which is made when it is first asked for."""

    def __init__(
        self,
        folders: Sequence[Path],
        store: Callable[[], NoteStore],
        engine: Callable[[], Engine],
        sessions_dir: Path,
        is_ours: IsOurs,
    ) -> None:
        self._folders = folders
        self.store = store
        self._engine = engine
        self._dir = sessions_dir
        self._is_ours = is_ours
        self._is_open = False

    def has_notes(self) -> bool:
        return any(folder.is_dir() for folder in self._folders)

    def engine(self) -> Engine:
        self._is_open = True
        return self._engine()

    def refresh_notes(self, entries: Iterable[Entry], stop: Stop) -> bool:
        from mewcode.recall_source import refresh_notes

        return refresh_notes(self.engine(), self.store(), stop, entries)

    def refresh(self, stop: Stop) -> bool:
        from mewcode.recall_source import refresh_notes
        from mewcode.recall_turns import refresh_sessions

        is_whole = refresh_notes(self.engine(), self.store(), stop)
        return refresh_sessions(self.engine(), self._dir, stop, self._is_ours) and is_whole

    def close(self) -> None:
        if self._is_open:
            self._engine().close()
