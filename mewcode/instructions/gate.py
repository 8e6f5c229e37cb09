"""Stands before the instructions of a session: where a workspace has none, none of their parts is loaded, and
nothing waits for a thread. Only names of files are looked at here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.infra.paths import Places
from mewcode.instructions.discover import candidates, folders_down_to, in_folder

if TYPE_CHECKING:
    from mewcode.instructions.live import LiveInstructions
    from mewcode.instructions.load import Instructions, Loader


class InstructionGate:
    """As `LiveInstructions`, which it makes when the first file of instructions shows. May be called from any
    thread."""

    def __init__(self, places: Places, make_loader: Callable[[], Loader]) -> None:
        self._places = places
        self._make_loader = make_loader
        self._lock = threading.Lock()
        self._live: LiveInstructions | None = None
        self._is_built = False
        self._looked_into: set[Path] = set()

    def build(self) -> str:
        """See `LiveInstructions.build`."""
        text = self._made().build() if self._live is not None or self._is_any() else ""
        self._is_built = True
        return text

    def change(self) -> str:
        """See `LiveInstructions.change`."""
        return self._made().change() if self.may_have_changed() else ""

    def may_have_changed(self) -> bool:
        """Whether `change` has files to look at; tens of microseconds."""
        return self._is_built and (self._live is not None or self._is_any())

    def is_new(self, paths: Iterable[Path]) -> bool:
        """Whether `touch` has something to look at; tens of microseconds for a path in a new folder."""
        if self._live is not None:
            return self._live.is_new(paths)
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
        """What was read last for the prompt; None where there was nothing to read."""
        return self._live.loaded if self._live is not None else None

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

                live = LiveInstructions(self._make_loader)
                if self._is_built:
                    live.begin_without()
                self._live = live
            return self._live
