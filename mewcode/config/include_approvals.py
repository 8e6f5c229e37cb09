"""Which includes from beyond their boundary the user has approved, by workspace, file and content.

Kept in ``includes.json`` of the user folder, never in the folder whose instructions ask for them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mewcode.core.errors import ConfigError

INCLUDES_FILE = "includes.json"
_MOST = 1_000
"""Approvals of one workspace; an older one gives way."""


class IncludeApprovals:
    """`instructions.boundary.Approvals` for one workspace. Reads the file once, when first asked: most
    workspaces never ask. What is damaged counts as no approval."""

    def __init__(self, user_dir: Path, root: Path) -> None:
        self.path = user_dir / INCLUDES_FILE
        self._root = str(root.resolve())
        self._known: dict[str, str] | None = None

    def digest(self, path: Path) -> str | None:
        """The digest that was approved for a resolved path."""
        if self._known is None:
            self._known = _of_root(self._read(), self._root)
        return self._known.get(str(path))

    def approve(self, path: Path, digest: str) -> None:
        """Remembers the user's word. Raises ConfigError where it cannot be kept."""
        from mewcode.config.file_lock import locked
        from mewcode.infra.atomic import write_atomic
        from mewcode.infra.paths import private_dir

        try:
            private_dir(self.path.parent)
            with locked(self.path.with_name(INCLUDES_FILE + ".lock")):
                state = self._read()
                known = {**_of_root(state, self._root)}
                known.pop(str(path), None)
                known[str(path)] = digest
                state[self._root] = dict(list(known.items())[-_MOST:])
                write_atomic(self.path, _encode(state), mode=0o600)
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror or error}") from error
        self._known = known

    def _read(self) -> dict[str, Any]:
        import json  # only where an include leaves its boundary

        try:
            state = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):  # missing or damaged: nothing was approved
            return {}
        return state if isinstance(state, dict) else {}


def _encode(state: dict[str, Any]) -> bytes:
    import json

    # Python spells file names of other encodings with lone surrogates, which plain UTF-8 refuses.
    return json.dumps(state, indent=1).encode("ascii")


def _of_root(state: dict[str, Any], root: str) -> dict[str, str]:
    known = state.get(root)
    if not isinstance(known, dict):
        return {}
    return {path: digest for path, digest in known.items() if isinstance(digest, str) and os.path.isabs(path)}
