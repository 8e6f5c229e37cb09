"""A tool as a model is told of it."""

from __future__ import annotations

from typing import Any

import msgspec


class ToolSpec(msgspec.Struct, frozen=True):
    """``input_schema`` is a JSON schema with an object at its root and no ``$ref``; treat it as read-only."""

    name: str
    description: str
    input_schema: dict[str, Any]
