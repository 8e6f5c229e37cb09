"""What a project's config may not set on its own.

A file that came with a repository was written by strangers. Until the user trusts the folder it may not run a
command, say where requests and keys go, or loosen a permission or a limit on what is spent. It may always
tighten: ``permissions.deny`` and ``ask``, a lower ``max_turns`` and ``memory.enabled: false`` count at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mewcode.config.key_path import KeyPath
from mewcode.config.layers import Layer
from mewcode.config.schema import Config
from mewcode.core.access import Mode

# Tightest first. An untrusted project may go left of what the user's own layers say, never right.
_TIGHTNESS: tuple[Mode, ...] = ("plan", "dont-ask", "default", "accept-edits", "bypass")
_FREE_MODES: tuple[Mode, ...] = ("plan", "dont-ask", "default")

_DEFAULTS = Config()

_NEEDS_TRUST = {
    "hooks": "it runs commands",
    "sandbox": "it says what commands may do",
    "providers": "it says where requests and keys go",
    "provider": "it says where requests go",
    "sessions": "it says which sessions are kept",
    "system_prompt": "it says what the model is told",
    "knowledge": "it says which files are read and sent to the model",
}
_ALLOW = "it allows tools without asking"
_MODE = "it loosens what is asked"
_TURNS = "it raises the limit of steps"
_MEMORY = "it says what is noted of you, and with which model"
_PRICE = "the cost limit is reckoned with it"
_WITH_PROVIDER = "it goes with the provider of this file"


def never_allowed(layer: Layer) -> dict[KeyPath, str]:
    """Keys that a project's file may not set even where the folder is trusted, each with what to do."""
    found: dict[KeyPath, str] = {}
    if _section(layer, "permissions").get("mode") == "bypass":
        found[("permissions", "mode")] = "Use --permission-mode bypass or your own config."
    if _section(layer, "instructions").get("include_roots"):
        found[("instructions", "include_roots")] = "Set it in your own config."
    return found


def needing_trust(layer: Layer, below: Mapping[str, Any]) -> dict[KeyPath, str]:
    """The keys of a project's file that need trust, each with the reason.

    ``below``: the merged values of the layers below. An empty section sets nothing.
    """
    found: dict[KeyPath, str] = {
        (key,): reason for key, reason in _NEEDS_TRUST.items() if layer.values.get(key)
    }
    if ("provider",) in found:
        # The names of models are free, but these are meant for the provider that is left out.
        found |= {(key,): _WITH_PROVIDER for key in ("model", "small_model") if layer.values.get(key)}
    found |= {("memory", key): _MEMORY for key in _section(layer, "memory") if key != "enabled"}
    was_enabled = (below.get("memory") or {}).get("enabled", _DEFAULTS.memory.enabled)
    if _section(layer, "memory").get("enabled") and not was_enabled:
        found[("memory", "enabled")] = _MEMORY
    if layer.values.get("max_turns", 0) > below.get("max_turns", _DEFAULTS.max_turns):
        found[("max_turns",)] = _TURNS
    found |= {
        ("models", name, "price"): _PRICE
        for name, entry in _section(layer, "models").items()
        if entry and entry.get("price")
    }
    permissions = _section(layer, "permissions")
    if permissions.get("allow"):
        found[("permissions", "allow")] = _ALLOW
    mode = permissions.get("mode")
    if mode and mode != "bypass":
        mode_before: Mode = (below.get("permissions") or {}).get("mode", _DEFAULTS.permissions.mode)
        looser = _TIGHTNESS.index(mode) > _TIGHTNESS.index(mode_before)
        if looser or mode not in _FREE_MODES:
            found[("permissions", "mode")] = _MODE
    return found


def without(layer: Layer, keys: list[KeyPath]) -> Layer:
    """The layer with the given keys left out."""
    values = _copied(layer.values)
    for *sections, last in keys:
        section = values
        for part in sections:
            section = section[part]
        section.pop(last, None)
    return Layer(layer.name, values, layer.spots, layer.path, layer.content)


def _copied(values: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping and all mappings in it."""
    return {key: _copied(item) if isinstance(item, dict) else item for key, item in values.items()}


def _section(layer: Layer, name: str) -> dict[str, Any]:
    section: dict[str, Any] = layer.values.get(name) or {}
    return section
