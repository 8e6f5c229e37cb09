"""Joins instructions with the config and the user's approvals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.config.schema import Config
from mewcode.infra.paths import Places

if TYPE_CHECKING:
    from mewcode.instructions.load import Loader


def instruction_loaders(places: Places, environ: Mapping[str, str], config: Config) -> Callable[[], Loader]:
    """What makes a loader of this workspace's instructions; each reads anew."""
    home = Path(environ.get("HOME") or Path.home())
    roots = [_folder(name, places.user, home) for name in config.instructions.include_roots]

    def make() -> Loader:
        # Most workspaces have no instructions: their starts load none of this.
        from mewcode.config.include_approvals import IncludeApprovals
        from mewcode.instructions.load import Loader

        approvals = IncludeApprovals(places.user, places.root)
        return Loader(places, home=home, include_roots=roots, approvals=approvals)

    return make


def _folder(name: str, user: Path, home: Path) -> Path:
    if name == "~" or name.startswith("~/"):
        return home / name[2:]
    return user / name
