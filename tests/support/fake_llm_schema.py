"""What the services refuse of the form that an answer is to have: its schema, and the rest of the Messages
API's ``output_config``."""

from __future__ import annotations

from collections.abc import Iterator

_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_LIMITS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
)


def output_violation(config: object) -> str:
    """Why the Messages API would refuse an ``output_config``; empty where it would take it."""
    if config is None:
        return ""
    if not isinstance(config, dict):
        return "output_config: Input should be an object"
    if unknown := sorted(set(config) - {"effort", "format", "task_budget"}):
        return f"output_config.{unknown[0]}: Extra inputs are not permitted"
    if config.get("effort") not in (None, *_EFFORTS):
        return f"output_config.effort: Input should be {' or '.join(_EFFORTS)}"
    form = config.get("format")
    if form is None:
        return ""
    if not isinstance(form, dict) or form.get("type") != "json_schema":
        return "output_config.format.type: Input should be 'json_schema'"
    if unknown := sorted(set(form) - {"type", "schema"}):
        return f"output_config.format.{unknown[0]}: Extra inputs are not permitted"
    problem = schema_violation(form.get("schema"), is_openai=False)
    return f"output_config.format.schema: {problem}" if problem else ""


def schema_violation(schema: object, *, is_openai: bool) -> str:
    """Why a service would refuse the schema; empty where it would take it. OpenAI wants an object in which
    all properties are required, Anthropic knows no limits of numbers and lengths."""
    if not isinstance(schema, dict):
        return "a schema is an object"
    if is_openai and schema.get("type") != "object":
        return "the root must be of type 'object'"
    for part in _parts(schema):
        if "$ref" in part and str(part["$ref"]) == "#":
            return "recursive schemas are not supported"
        if not is_openai and (limits := [name for name in _LIMITS if name in part]):
            return f"property '{limits[0]}' is not supported"
        if part.get("type") != "object":
            continue
        if part.get("additionalProperties") is not False:
            return "'additionalProperties' must be explicitly set to false"
        properties, required = part.get("properties"), part.get("required")
        if is_openai and isinstance(properties, dict):
            missing = sorted(set(properties) - set(required if isinstance(required, list) else ()))
            if missing:
                return f"'required' must include every key in properties: {missing[0]!r} is missing"
    return ""


def _parts(schema: dict[str, object]) -> Iterator[dict[str, object]]:
    """The schema and those within it."""
    yield schema
    within: list[object] = [schema.get("items")]
    for name in ("properties", "$defs"):
        named = schema.get(name)
        within += named.values() if isinstance(named, dict) else ()
    for name in ("anyOf", "oneOf", "allOf"):
        listed = schema.get(name)
        within += listed if isinstance(listed, list) else ()
    for part in within:
        if isinstance(part, dict):
            yield from _parts(part)
