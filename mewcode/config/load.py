"""Loads the configuration: reads the layers, leaves out what an untrusted folder may not set, merges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mewcode.config import layers
from mewcode.config.key_path import KeyPath, dotted
from mewcode.config.layers import Layer
from mewcode.config.schema import Config
from mewcode.core.errors import ConfigError
from mewcode.infra.paths import Places


class LoadedConfig(msgspec.Struct, frozen=True):
    """``notices``: sentences for the user, among them one for each key of the project's files that is
    ignored, which begins with its ``file:line: key``."""

    config: Config
    notices: list[str]


def load_config(
    places: Places,
    environ: Mapping[str, str],
    *,
    flags: Mapping[str, Any] | None = None,
    extra_file: Path | None = None,
    trusted: bool,
) -> LoadedConfig:
    """The merged configuration. ``trusted``: the user trusts the folder (see `config.trust`).

    ``flags`` has dotted or nested keys (``permissions.mode``); None means not given. Raises ConfigError with
    ``file:line``, or the flag, of the first thing that is wrong. Without any config file it reads nothing
    and imports no YAML.
    """
    home = environ.get("HOME")
    found = layers.file_layers(places, home)
    if extra_file is not None:
        found.append(layers.extra_layer(extra_file, places, home))
    found += [
        layer for layer in (layers.environment_layer(environ), layers.flags_layer(flags or {})) if layer
    ]
    if not found:
        return LoadedConfig(Config(), [])
    return _merge(found, places, trusted)


def _merge(found: list[Layer], places: Places, trusted: bool) -> LoadedConfig:
    values: dict[str, Any] = {}
    origins: dict[KeyPath, str] = {}
    by_level: dict[str, Any] = {}
    notices: list[str] = []
    for read in found:
        layer = read
        if layer.name in ("project", "local"):
            layer = _permitted(layer, values, places, trusted, notices)
        values = layers.merge_layer(values, origins, layer)
        if layer.values.get("permissions"):
            by_level[layer.name] = layer.values["permissions"]
    merged = {**values, "permissions_by_level": by_level, "origins": origins}
    config = msgspec.convert(merged, Config)
    _check_time_limits(config)
    return LoadedConfig(config, notices)


def _permitted(
    layer: Layer,
    below: Mapping[str, Any],
    places: Places,
    trusted: bool,
    notices: list[str],
) -> Layer:
    """The layer without what it may not set, each with a notice."""
    from mewcode.config import restrict
    from mewcode.config.trust import TrustStore, is_own_folder

    dropped = []
    for key, instead in restrict.never_allowed(layer).items():
        dropped.append(key)
        what = f"{dotted(key)}: bypass" if key == ("permissions", "mode") else dotted(key)
        notices.append(f"{layer.where(key)}: {what} is ignored: a project's config cannot set it. {instead}")
    if not trusted and not is_own_folder(places):
        needing = restrict.needing_trust(layer, below)
        store = TrustStore(places.user)
        if needing and not (layer.path and store.was_made(places.root, layer.path, layer.content)):
            for key, reason in needing.items():
                dropped.append(key)
                notices.append(
                    f"{layer.where(key)}: {dotted(key)} is ignored until you trust this folder: {reason}."
                )
        notices += store.notices
    return restrict.without(layer, dropped) if dropped else layer


def _check_time_limits(config: Config) -> None:
    shell = config.shell
    if shell.timeout > shell.max_timeout:
        key = "shell.timeout" if config.origin("shell.timeout") != "default" else "shell.max_timeout"
        raise ConfigError(
            f"shell.timeout ({shell.timeout:g} s) exceeds shell.max_timeout ({shell.max_timeout:g} s)",
            "Set both.",
            config.origin(key),
        )
