"""What the completion scripts ask the program for at a press of Tab: names, one a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

_MOST = 200


def print_values(words: Sequence[str]) -> int:
    """Prints the values of a kind: ``sessions`` of this folder (the newest first), ``providers``, ``models``
    of the catalogue. An unknown kind has none. Says nothing else, whatever is wrong."""
    kind = words[0] if words else ""
    found = {"sessions": _sessions, "providers": _providers, "models": _models}.get(kind, list)()
    sys.stdout.write("".join(f"{name}\n" for name in found[:_MOST] if name.isprintable()))
    return 0


def _sessions() -> list[str]:
    from mewcode.infra.paths import find_places

    try:
        folder = find_places(Path.cwd(), os.environ).project / "sessions"
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:  # no folder, or none that may be read: nothing to offer
        return []
    # Names begin with the time; a name that came from elsewhere could not be typed safely.
    return sorted((name for name in names if name.replace("-", "").isalnum()), reverse=True)


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
