"""The JSON schema of a tool's arguments, as every provider takes it.

Inlined (some servers know no ``$ref``), without titles, without ``null`` for what is optional (leave it out
instead), and with the descriptions of the fields kept. A struct's docstring is for who reads the code.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

# Loops in a schema cannot be inlined; arguments nested deeper than this are a mistake in a tool.
_DEEPEST = 12


MADE = Path(__file__).with_name("schemas.json")
"""The schemas of MewCode's own tools, by `name_of`: to make them takes five milliseconds of each start. Made
anew by ``python -m tests.support.tool_schemas``; a test holds that they are up to date."""


@cache
def schema_of(args_type: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of a struct, got once per process; do not change it."""
    return _made().get(name_of(args_type)) or make_schema(args_type)


def name_of(args_type: type[msgspec.Struct]) -> str:
    """What a schema is kept under."""
    return f"{args_type.__module__}.{args_type.__qualname__}"


def make_schema(args_type: type[msgspec.Struct]) -> dict[str, Any]:
    """As `schema_of`, without what is kept."""
    (root,), components = msgspec.json.schema_components([args_type])
    for component in components.values():
        component.pop("description", None)  # the docstring
    schema = _inline(root, components, 0)
    assert isinstance(schema, dict)
    schema.setdefault("properties", {})
    schema["additionalProperties"] = False
    return schema


@cache
def _made() -> dict[str, dict[str, Any]]:
    return msgspec.json.decode(MADE.read_bytes(), type=dict[str, dict[str, Any]])


def _inline(node: Any, components: dict[str, Any], depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("a tool's arguments are nested too deeply")
    if isinstance(node, list):
        return [_inline(item, components, depth + 1) for item in node]
    if not isinstance(node, dict):
        return node
    if "anyOf" in node:
        node = _without_null(node)
    if "$ref" in node:
        named = components[node["$ref"].rsplit("/", 1)[1]]
        node = {**named, **{key: value for key, value in node.items() if key != "$ref"}}
    if "enum" in node and all(isinstance(value, str) for value in node["enum"]):
        node = {"type": "string", **node}  # some servers want a type with each field
    return {
        key: _tidy(key, value, components, depth) for key, value in node.items() if not _noise(key, value)
    }


def _tidy(key: str, value: Any, components: dict[str, Any], depth: int) -> Any:
    if key == "properties":  # a property may be called "title": its name is no keyword
        return {name: _inline(inner, components, depth + 1) for name, inner in value.items()}
    if key in ("enum", "default", "required", "const"):
        return value
    return _inline(value, components, depth + 1)


def _noise(key: str, value: Any) -> bool:
    return key == "title" or (key == "default" and value is None)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in node["anyOf"] if choice != {"type": "null"}]
    if len(choices) != 1:
        return {**node, "anyOf": choices}
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    return {**choices[0], **rest}
