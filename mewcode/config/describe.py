"""The configuration as a table: each key, its value, where it was set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from mewcode.config.key_path import KeyPath
from mewcode.config.layers import JOINED
from mewcode.config.load import LoadedConfig
from mewcode.config.schema import Settings

_PASSWORD = re.compile(r"://[^/@\s]*@")


def describe(loaded: LoadedConfig) -> list[tuple[str, Any, str]]:
    """(dotted key, value, origin) of every setting, defaults included, sorted by key.

    Values of headers and passwords in URLs are hidden; what is not set and an empty mapping are left out.
    """
    config = loaded.config
    values = {name: msgspec.to_builtins(getattr(config, name)) for name in Settings.__struct_fields__}
    rows = []
    for path, value in _leaves(values, ()):
        key = ".".join(path)
        # What is joined has an origin each; every other value has one of its own or is the default.
        origin = config.origin(key) if path in JOINED else config.origins.get(path, "default")
        rows.append((key, _shown(path, value), origin))
    return sorted(rows, key=lambda row: row[0])


def _leaves(values: dict[str, Any], path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, name))
        elif value is not None:
            yield (*path, name), value


def _shown(path: KeyPath, value: Any) -> Any:
    if path[0] == "providers" and path[2:3] == ("headers",):
        return "(hidden)"
    return _PASSWORD.sub("://(hidden)@", value) if isinstance(value, str) else value
