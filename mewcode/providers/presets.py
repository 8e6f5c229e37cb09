"""Services that are known by name: a data file (`presets.json`) with their address and key variable.

The addresses are those of the services' public documentation for OpenAI-compatible clients, as of November
2026; local servers have the port that each listens on by default.
"""

from __future__ import annotations

from pathlib import Path

import msgspec


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``base_url`` has no trailing slash. ``key_variable`` holds the key, which a service on the user's own
    machine does not need. ``elsewhere``: addresses of the same service for another part of the world, each
    with accounts of its own. ``public_list``: the models are listed to anyone, so that a list says nothing
    about the key."""

    title: str
    base_url: str
    key_variable: str
    needs_key: bool = True
    elsewhere: dict[str, str] = {}
    public_list: bool = False


def presets() -> dict[str, Preset]:
    """All of them by name, in the order in which they are offered."""
    data = Path(__file__).with_name("presets.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, Preset])
