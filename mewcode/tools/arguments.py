"""What a model sends as arguments, made into the struct of the tool, or an error it can learn from.

Forgiving where nothing can be misread: a number as a string, JSON text for a list or an object, null for what
may be left out, one object for a list of one. Everything else is named, with what would have been right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from mewcode.core.codec import decode_json
from mewcode.core.errors import ToolError
from mewcode.tools.base import Tool
from mewcode.tools.schema import schema_of

ArgsT = TypeVar("ArgsT", bound=msgspec.Struct)
_MOST_PROBLEMS = 5
_WORDS = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
          "array": "a list", "object": "an object"}  # fmt: skip


def decode_args(tool: Tool[ArgsT], args: Mapping[str, Any]) -> ArgsT:
    """The arguments as the tool's struct. Raises `ToolError`: each wrong field by name, and the form."""
    schema = schema_of(tool.args_type)
    problems: list[str] = []
    fitted = _fit_object(dict(args), schema, "", problems)
    if not problems:
        try:
            return msgspec.convert(fitted, tool.args_type)
        except msgspec.ValidationError as error:
            problems.append(str(error))
    listed = "".join(f"\n- {problem}" for problem in problems[:_MOST_PROBLEMS])
    raise ToolError(f"The arguments of {tool.name} are wrong:{listed}\nExpected: {tool.name}{_form(schema)}")


def _fit(value: Any, schema: Mapping[str, Any], where: str, problems: list[str]) -> Any:
    if "anyOf" in schema:
        return value  # no tool of ours has a choice of forms; msgspec has the last word
    wanted = schema.get("type", "")
    value = _coerce(value, wanted)
    if wanted and not _is(value, wanted):
        problems.append(
            f"{where}: expected {_WORDS.get(wanted, wanted)}, got {_got(value)}{_advice(value, wanted)}"
        )
        return value
    if wanted == "object" and "properties" in schema:
        return _fit_object(value, schema, where, problems)
    if wanted == "array":
        value = [
            _fit(item, schema.get("items", {}), f"{where}[{index}]", problems)
            for index, item in enumerate(value)
        ]
    problem = _out_of_bounds(value, schema)
    if problem:
        problems.append(f"{where}: {problem}")
    return value


def _fit_object(
    value: dict[str, Any], schema: Mapping[str, Any], where: str, problems: list[str]
) -> dict[str, Any]:
    fields = schema["properties"]
    required = schema.get("required", ())
    prefix = f"{where}." if where else ""
    fitted = {}
    for name, item in value.items():
        if name not in fields:
            if item is not None:
                problems.append(f"{prefix}{name}: no such field{_nearest(name, fields)}")
        elif item is not None or name in required:
            fitted[name] = _fit(item, fields[name], prefix + name, problems)
    problems += [f"{prefix}{name}: missing" for name in required if name not in value]
    return fitted


def _coerce(value: Any, wanted: str) -> Any:
    if wanted == "array" and isinstance(value, dict):
        return [value]
    if wanted == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if wanted == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str) or wanted not in ("array", "object", "integer", "number", "boolean"):
        return value
    if wanted == "boolean":
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    try:
        parsed = decode_json(value.strip())
    except ValueError:
        return value
    if wanted in ("array", "integer"):
        parsed = _coerce(parsed, wanted) if not isinstance(parsed, str) else parsed
    return parsed if _is(parsed, wanted) else value


def _is(value: Any, wanted: str) -> bool:
    match wanted:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return True


def _got(value: Any) -> str:
    if value is None:
        return "null"
    kind = next((kind for kind in ("boolean", "string", "number", "array", "object") if _is(value, kind)), "")
    return _WORDS.get(kind, type(value).__name__)


def _advice(value: Any, wanted: str) -> str:
    if wanted == "string" and isinstance(value, dict | list):
        return "; write it as text, in one JSON string"
    return ""


def _out_of_bounds(value: Any, schema: Mapping[str, Any]) -> str:
    if "enum" in schema and value not in schema["enum"]:
        return f"expected one of {', '.join(map(str, schema['enum']))}, got {str(value)[:80]}"
    if isinstance(value, int | float):
        if value < schema.get("minimum", value):
            return f"must be at least {schema['minimum']}, got {value}"
        if value > schema.get("maximum", value):
            return f"must be at most {schema['maximum']}, got {value}"
    if isinstance(value, str | list):
        unit, suffix = ("characters", "Length") if isinstance(value, str) else ("items", "Items")
        least, most = schema.get(f"min{suffix}", 0), schema.get(f"max{suffix}")
        if len(value) < least:
            return "must not be empty" if least == 1 else f"needs at least {least} {unit}, got {len(value)}"
        if most is not None and len(value) > most:
            return f"may hold at most {most:,} {unit}, got {len(value):,}"
    return ""


def _nearest(name: str, fields: Mapping[str, Any]) -> str:
    import difflib  # only on a mistake

    near = difflib.get_close_matches(name.lower(), fields, 1, 0.5)
    near = near or [field for field in fields if field in name.lower() or name.lower() in field][:1]
    known = ", ".join(fields) or "none"
    return f"; did you mean {near[0]}? The fields are: {known}" if near else f". The fields are: {known}"


def _form(schema: Mapping[str, Any]) -> str:
    """The schema in short: ``(path: string, offset?: integer)``."""
    return "(" + ", ".join(_fields(schema)) + ")"


def _fields(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required", ())
    return [
        f"{name}{'' if name in required else '?'}: {_shape(field)}"
        for name, field in schema["properties"].items()
    ]


def _shape(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(str(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"[{_shape(schema.get('items', {}))}]"
    if "properties" in schema:
        return "{" + ", ".join(_fields(schema)) + "}"
    return str(schema.get("type", "any"))
