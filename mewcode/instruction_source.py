"""Joins instructions with the config and the user's approvals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.config.schema import Config
from mewcode.infra.paths import Places, cache_dir, home_of

if TYPE_CHECKING:
    from mewcode.config.include_approvals import IncludeApprovals
    from mewcode.instructions.cache import InstructionCache
    from mewcode.instructions.load import Loader


class InstructionSource:
    """What reads the instructions of a workspace. Most workspaces have none: their starts load nothing of
    what is made here."""

    def __init__(self, places: Places, environ: Mapping[str, str], config: Config) -> None:
        self._places = places
        self._environ = environ
        self._home = home_of(environ)
        self._roots = [_folder(name, places.user, self._home) for name in config.instructions.include_roots]

    def loader(self) -> Loader:
        """One that reads anew."""
        from mewcode.instructions.load import Loader

        return Loader(self._places, home=self._home, include_roots=self._roots, approvals=self._approvals())

    def cache(self) -> InstructionCache:
        """What an earlier start has kept of the same."""
        from mewcode.instructions.cache import InstructionCache

        return InstructionCache(
            self._places,
            cache_dir(self._environ, self._home),
            home=self._home,
            include_roots=self._roots,
            make_approvals=self._approvals,
        )

    def _approvals(self) -> IncludeApprovals:
        from mewcode.config.include_approvals import IncludeApprovals

        return IncludeApprovals(self._places.user, self._places.root)


def _folder(name: str, user: Path, home: Path) -> Path:
    if name == "~" or name.startswith("~/"):
        return home / name[2:]
    return user / name
