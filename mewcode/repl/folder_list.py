"""The entries of a folder whose path is being typed."""

from __future__ import annotations

import os
from pathlib import Path

_LISTED = 200
"""Entries that are offered at most."""


def list_folder(path: str, cwd: Path) -> list[str]:
    """The entries of the folder that a spelt-out ``path`` names which begin as it ends, folders first."""
    head, start = os.path.split(path) if path not in ("~", "..") else (path, "")
    prefix = head if head.endswith("/") or not head else head + "/"
    try:
        with os.scandir(os.path.join(cwd, os.path.expanduser(head))) as entries:
            names = [
                (not entry.is_dir(), entry.name + ("/" if entry.is_dir() else ""))
                for entry in entries
                if entry.name.lower().startswith(start.lower())
                and entry.name.isprintable()
                and (start.startswith(".") or not entry.name.startswith("."))
            ]
    except (OSError, ValueError):  # no folder, so nothing to offer
        return []
    return [prefix + name for _, name in sorted(names)[:_LISTED]]
