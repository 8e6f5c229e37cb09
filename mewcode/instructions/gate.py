"""Stands before the instructions of a session: where a workspace has none, none of their parts is loaded, and
nothing waits for a thread; where all is as an earlier start has read it, nothing is read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.infra.paths import Places
from mewcode.instructions.discover import candidates, folders_down_to, in_folder

if TYPE_CHECKING:
    from mewcode.instructions.cache import InstructionCache, Kept
    from mewcode.instructions.live import LiveInstructions
    from mewcode.instructions.load import Instructions, Loader

_MOMENT = 0.05
"""Seconds: what a start takes from the prompt to the first message that was given with it, several times."""


class InstructionGate:
    """As `LiveInstructions`, which it makes when the first file of instructions shows. May be called from any
    thread."""

    def __init__(
        self,
        places: Places,
        make_loader: Callable[[], Loader],
        make_cache: Callable[[], InstructionCache] | None = None,
    ) -> None:
        """``make_cache``: of the same files as the loader; None keeps nothing for the next start."""
        self._places = places
        self._make_loader = make_loader
        self._make_cache = make_cache
        self._cache: InstructionCache | None = None
        self._kept: Kept | None = None
        self._lock = threading.Lock()
        self._live: LiveInstructions | None = None
        self._is_built, self._built_at = False, 0.0
        self._looked_into: set[Path] = set()

    def build(self) -> str:
        """See `LiveInstructions.build`. Where all is as an earlier start has read it, no file is read."""
        text = self._from_kept() if self._live is None else None
        if text is None:
            live = self._made()
            text = live.build()
            if self._cache is not None:
                live.keep_in(self._cache)
        self._is_built, self._built_at = True, time.monotonic()
        return text

    def is_fresh(self) -> bool:
        """Whether the prompt was built a moment ago: what changes in it is told with a later message."""
        return self._is_built and time.monotonic() - self._built_at < _MOMENT

    def change(self) -> str:
        """See `LiveInstructions.change`."""
        if not self.may_have_changed() or (self._live is None and self._is_as_kept()):
            return ""
        return self._made().change()

    def may_have_changed(self) -> bool:
        """Whether `change` has files to look at; tens of microseconds."""
        if not self._is_built:
            return False
        return self._live is not None or self._kept is not None or self._is_any()

    def is_new(self, paths: Iterable[Path]) -> bool:
        """Whether `touch` has something to look at; tens of microseconds for a path in a new folder."""
        if self._live is not None:
            return self._live.is_new(paths)
        if self._kept is not None:
            return any(True for _ in paths)
        return self._is_built and any(self._brings(path) for path in paths)

    def touch(self, paths: Iterable[Path], told: Collection[str] = ()) -> str:
        """See `LiveInstructions.touch`."""
        return self._made().touch(paths, told)

    def conversation_changed(self) -> None:
        """See `LiveInstructions.conversation_changed`."""
        self._looked_into.clear()
        if self._live is not None:
            self._live.conversation_changed()

    def stale(self) -> tuple[str, ...]:
        """See `LiveInstructions.stale`."""
        return self._made().stale() if self.may_have_changed() else ()

    def look(self) -> Instructions:
        """See `LiveInstructions.look`."""
        return self._made().look()

    @property
    def loaded(self) -> Instructions | None:
        """What was read last for the prompt; None where nothing was read: nothing is kept for later of what
        waits for the user's word."""
        return self._live.loaded if self._live is not None else None

    def _from_kept(self) -> str | None:
        """The text where nothing has to be read for it."""
        found = list(candidates(self._places))
        if not found:
            self._kept = None
            return ""
        if self._cache is None and self._make_cache is not None:
            self._cache = self._make_cache()
        self._kept = self._cache.find(found) if self._cache is not None else None
        return self._kept.told.text() if self._kept is not None else None

    def _is_as_kept(self) -> bool:
        if self._kept is None or self._cache is None:
            return False
        return self._cache.holds(self._kept, list(candidates(self._places)))

    def _is_any(self) -> bool:
        return next(candidates(self._places), None) is not None

    def _brings(self, path: Path) -> bool:
        for folder in folders_down_to(path, self._places):
            if folder not in self._looked_into:
                self._looked_into.add(folder)
                if in_folder(folder, self._places):
                    return True
        return False

    def _made(self) -> LiveInstructions:
        with self._lock:
            if self._live is None:
                from mewcode.instructions.live import LiveInstructions  # most workspaces need none of it
                from mewcode.instructions.told import Told

                live = LiveInstructions(self._make_loader)
                if self._is_built:
                    live.begin_with(self._kept.told if self._kept is not None else Told())
                self._live = live
            return self._live
