"""What the completion scripts ask the program for at a press of Tab: names, one a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

_MOST = 200
_DESCRIPTION = 60


def print_values(words: Sequence[str]) -> int:
    """Prints the values of a kind: ``sessions`` of this folder (the newest first, ids and titles), those that
    are ``trashed``, ``notes`` (files and names), ``providers``, ``models`` of the catalogue. An unknown kind
    has none. Where ``described`` stands behind the kind, values may hold blanks, and a tab and a description
    follow them. Says nothing else, whatever is wrong."""
    kind, is_described = words[0] if words else "", "described" in words[1:]
    if kind == "sessions":
        found = _sessions()
    elif kind == "notes":
        found = _notes()
    else:
        plain = {"trashed": _trashed, "providers": _providers, "models": _models}.get(kind, list)()
        found = [(name, "") for name in plain]
    lines = []
    for name, about in found[:_MOST]:
        if is_described:
            lines += [f"{name}\t{about}\n" if about else f"{name}\n"] if name.isprintable() else []
        elif kind not in ("sessions", "trashed", "notes") or _is_one_word(name):
            lines += [f"{name}\n"] if name.isprintable() else []
    sys.stdout.write("".join(lines))
    return 0


def _sessions() -> list[tuple[str, str]]:
    """Ids with titles, then the user's own titles with ids."""
    from mewcode.infra.paths import find_places
    from mewcode.infra.terminal_text import safe_line
    from mewcode.sessions.catalog_list import known_entries
    from mewcode.sessions.workspaces import Workspace

    try:
        places = find_places(Path.cwd(), os.environ)
    except OSError:  # the folder is gone: nothing to offer
        return []
    entries = known_entries(Workspace(places.root, places.project / "sessions"))
    entries.sort(key=lambda entry: (entry.updated, entry.id), reverse=True)
    newest = entries[: _MOST // 2]
    ids = [(entry.id, safe_line(entry.title, _DESCRIPTION)) for entry in newest]
    return ids + [(entry.title, entry.id) for entry in newest if entry.named]


def _notes() -> list[tuple[str, str]]:
    """Files without their ending, with names. Writes nothing."""
    from mewcode.core.errors import MewCodeError
    from mewcode.infra.paths import find_places
    from mewcode.infra.terminal_text import safe_line
    from mewcode.note_source import open_notes

    try:
        live = open_notes(find_places(Path.cwd(), os.environ), os.environ).live()
    except (MewCodeError, OSError):  # what is wrong is told where notes are used
        return []
    return sorted((entry.file.removesuffix(".md"), safe_line(entry.name, _DESCRIPTION)) for entry in live)


def _trashed() -> list[str]:
    from mewcode.infra.paths import find_places

    try:
        folder = find_places(Path.cwd(), os.environ).project / "sessions" / "trash"
        return sorted(os.listdir(folder), reverse=True)
    except OSError:  # no folder, or none that may be read: nothing to offer
        return []


def _is_one_word(name: str) -> bool:
    """Whether a shell takes the name for nothing else: it came from outside, and could not be typed safely
    otherwise."""
    return name.replace("-", "").replace("_", "").replace(".", "").isalnum() and not name.startswith("-")


def _providers() -> list[str]:
    from mewcode.providers.presets import presets
    from mewcode.providers.registry import BUILT_IN

    return list(dict.fromkeys([*BUILT_IN, *presets(), *_configured()]))


def _configured() -> list[str]:
    """The names that the user's own config gives to services."""
    from mewcode.config.load import load_config
    from mewcode.core.errors import MewCodeError
    from mewcode.infra.paths import find_places

    try:
        places = find_places(Path.cwd(), os.environ)
        return list(load_config(places, os.environ, trusted=False).config.providers)
    except (MewCodeError, OSError):  # a wrong config is told where it is used
        return []


def _models() -> list[str]:
    from mewcode.providers.catalog import Catalog

    return list(Catalog.load().names())
