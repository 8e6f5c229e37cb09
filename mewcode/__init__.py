"""MewCode, a coding agent for the terminal that remembers.

Importing this package does nothing else: its names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mewcode._version import __version__

if TYPE_CHECKING:
    from mewcode.core.events import AgentEvent
    from mewcode.core.message import Message
    from mewcode.library import Agent
    from mewcode.tools.base import Tool

__all__ = ["Agent", "AgentEvent", "Message", "Tool", "__version__"]

_HOMES = {
    "Agent": "mewcode.library",
    "AgentEvent": "mewcode.core.events",
    "Message": "mewcode.core.message",
    "Tool": "mewcode.tools.base",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'mewcode' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)
