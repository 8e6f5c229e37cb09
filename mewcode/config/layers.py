"""The layers of the configuration, lowest first, and how one is laid over another.

    defaults < user < project < local < extra (--config FILE) < environment < flags

A later layer's value wins, mappings merge key by key. The lists of permission rules are joined, so that a
denial at any level stays in force, and so are the paths of documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from mewcode.config.key_path import KeyPath
from mewcode.core.errors import ConfigError
from mewcode.infra.paths import Places

LayerName = Literal["user", "project", "local", "extra", "environment", "flags"]
CONFIG_FILE = "config.yaml"
LOCAL_FILE = "config.local.yaml"
RULE_KINDS = ("allow", "ask", "deny")
JOINED: tuple[KeyPath, ...] = (*(("permissions", kind) for kind in RULE_KINDS), ("knowledge", "paths"))
"""The lists of which each layer adds to those below."""

_LABELS: dict[LayerName, str] = {
    "user": "user config",
    "project": "project config",
    "local": "local config",
    "extra": "config file",
    "environment": "environment variable",
    "flags": "flag",
}
_VARIABLES = {"model": "MEWCODE_MODEL", "provider": "MEWCODE_PROVIDER"}
_FLAG_NAMES: dict[KeyPath, str] = {
    ("permissions", "mode"): "--permission-mode",
    ("permissions", "allow"): "--allow",
    ("permissions", "deny"): "--deny",
}


class Layer(msgspec.Struct, frozen=True):
    """Checked values of one layer. ``spots``: ``file:line``, the flag or the variable of each path.

    ``path`` and ``content`` are those of the file; None and empty where the layer is none.
    """

    name: LayerName
    values: dict[str, Any]
    spots: Mapping[KeyPath, str]
    path: Path | None = None
    content: bytes = b""

    def where(self, key: KeyPath) -> str:
        """``file:line`` of a path, or of the nearest thing around it."""
        while key and key not in self.spots:
            key = key[:-1]
        return self.spots.get(key, "")

    def origin(self, key: KeyPath) -> str:
        return f"{_LABELS[self.name]} {self.where(key)}"


def read_layer(name: LayerName, path: Path, shown: str) -> Layer | None:
    """The layer of a file, None where there is no file. Raises ConfigError with ``file:line``."""
    import os

    if not os.path.lexists(path):  # spares a start without config files everything that follows
        return None
    from mewcode.config.check import check_values
    from mewcode.config.yaml_file import YamlText, read_bounded

    content = read_bounded(path, shown)
    if content is None:
        return None
    text = YamlText(content, shown)
    spots = {key: text.where(key) for key in ((), *text.lines)}
    return Layer(name, check_values(text.values, text.where), spots, path, content)


def environment_layer(environ: Mapping[str, str]) -> Layer | None:
    """The variables that set a key; one that is empty counts as not set."""
    values = {key: environ[variable] for key, variable in _VARIABLES.items() if environ.get(variable)}
    if not values:
        return None
    return Layer("environment", dict(values), {(key,): _VARIABLES[key] for key in values})


def flags_layer(flags: Mapping[str, Any]) -> Layer | None:
    """The layer of the command line: keys dotted or nested, None where a flag was not given.

    Raises ConfigError that names the flag.
    """
    values: dict[str, Any] = {}
    for key, value in flags.items():
        if value is None:
            continue
        *sections, last = key.split(".")
        section = values
        for part in sections:
            section = section.setdefault(part, {})
        section[last] = dict(value) if isinstance(value, Mapping) else value
    if not values:
        return None
    from mewcode.config.check import check_values

    layer = Layer("flags", values, {path: _flag_name(path) for path in _paths(values, ())})
    return Layer("flags", check_values(values, layer.where), layer.spots)


def _paths(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    yield path
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _paths(item, (*path, str(place)))


def _flag_name(path: KeyPath) -> str:
    """``--max-turns`` for ``max_turns``, ``--base-url`` for that of any provider."""
    if not path:
        return "command line"
    named = path[-1] if path[0] == "providers" else path[0]
    return _FLAG_NAMES.get(path[:2]) or "--" + named.replace("_", "-")


def merge_layer(
    values: dict[str, Any], origins: dict[KeyPath, str], layer: Layer, path: KeyPath = ()
) -> dict[str, Any]:
    """``values`` with ``layer`` laid over it from ``path`` down; ``origins`` is updated in place."""
    over: Any = layer.values
    for part in path:
        over = over[part]
    merged = dict(values)
    for key, item in over.items():
        here = (*path, key)
        old = merged.get(key)
        if isinstance(item, dict):
            if not isinstance(old, dict):
                origins.pop(here, None)
                old = {}
            merged[key] = merge_layer(old, origins, layer, here)
        elif here in JOINED:
            below = list(old or ())
            for place in range(len(item)):
                origins[(*here, str(len(below) + place))] = layer.origin((*here, str(place)))
            merged[key] = below + list(item)
        else:
            _forget(origins, old, here)
            origins[here] = layer.origin(here)
            merged[key] = item
    return merged


def _forget(origins: dict[KeyPath, str], old: Any, path: KeyPath) -> None:
    """Drops the origins of a value that is replaced, in time of its own size."""
    origins.pop(path, None)
    if isinstance(old, dict):
        for key, item in old.items():
            _forget(origins, item, (*path, key))


def shown_path(path: Path, home: str | None) -> str:
    """The path as messages show it: ``~`` for the home folder, nothing that could steer a terminal."""
    text = str(path)
    if home and home != "/" and path.is_relative_to(home):
        text = str(Path("~") / path.relative_to(home))
    if text.isprintable():
        return text
    from mewcode.core.codec import clean_text
    from mewcode.infra.terminal_text import safe_line

    return safe_line(clean_text(text), 300)


def file_layers(places: Places, home: str | None) -> list[Layer]:
    """The layers of the user's, the project's and the local file, those that exist."""
    files: tuple[tuple[LayerName, Path], ...] = (
        ("user", places.user / CONFIG_FILE),
        ("project", places.project / CONFIG_FILE),
        ("local", places.project / LOCAL_FILE),
    )
    found = (read_layer(name, path, shown_path(path, home)) for name, path in files)
    return [layer for layer in found if layer is not None]


def extra_layer(path: Path, places: Places, home: str | None) -> Layer:
    """The file that ``--config`` names, relative to the folder started in. Raises ConfigError."""
    full = places.cwd / path.expanduser()
    layer = read_layer("extra", full, shown_path(full, home))
    if layer is None:
        raise ConfigError(f"there is no file {shown_path(full, home)}", where="--config")
    return layer
