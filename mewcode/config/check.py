"""Values of one layer checked against the schema, with errors that say where, what and what instead."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from mewcode.config.key_path import KeyPath, dotted
from mewcode.config.schema import Settings
from mewcode.core.errors import ConfigError

_WORDS: dict[Any, str] = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


def check_values(values: dict[str, Any], where: Callable[[KeyPath], str]) -> dict[str, Any]:
    """The values with empty keys (``model:`` and nothing more) left out; raises ConfigError.

    ``where`` gives ``file:line``, or the flag's or variable's name, of a path.
    """
    checked: dict[str, Any] = _check(values, Settings, (), where)
    return checked


def _check(value: Any, kind: Any, path: KeyPath, where: Callable[[KeyPath], str]) -> Any:
    kind = _without_none(kind)
    origin = get_origin(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if not isinstance(value, dict):
            raise _wrong_type(value, "a mapping of keys", path, where)
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        for key in value:
            if key not in fields:
                raise _unknown(key, list(fields), path, where)
        return {
            key: _check(item, fields[key], (*path, key), where)
            for key, item in value.items()
            if item is not None
        }
    if origin is dict:
        if not isinstance(value, dict):
            raise _wrong_type(value, "a mapping of keys", path, where)
        item_kind = get_args(kind)[1]
        return {
            key: _check(item, item_kind, (*path, key), where)
            for key, item in value.items()
            if item is not None or item_kind is Any
        }
    if origin is list:
        if not isinstance(value, list | tuple):
            raise _wrong_type(value, "a list", path, where)
        item_kind = get_args(kind)[0]
        return [_check(item, item_kind, (*path, str(place)), where) for place, item in enumerate(value)]
    return _check_leaf(value, kind, path, where)


def _check_leaf(value: Any, kind: Any, path: KeyPath, where: Callable[[KeyPath], str]) -> Any:
    if kind is Any:
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise _wrong_type(value, _expected(kind), path, where)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _wrong_type(value, _expected(kind), path, where, _choices(kind)) from error


def _without_none(kind: Any) -> Any:
    others = [part for part in get_args(kind) if part is not type(None)]
    return others[0] if len(others) == 1 and type(None) in get_args(kind) else kind


def _choices(kind: Any) -> tuple[str, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def _expected(kind: Any) -> str:
    if choices := _choices(kind):
        return "one of " + ", ".join(choices)
    if get_origin(kind) is Annotated:
        for note in get_args(kind)[1:]:
            if isinstance(note, msgspec.Meta) and note.description:
                return note.description
    return _WORDS.get(kind, str(kind))


def _found(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int | float):
        short = isinstance(value, float) or abs(value) < 10**12
        return f"the number {value:.12g}" if short else "a number"
    if value is None:
        return "nothing"
    # Text is never repeated: somebody may have put a key in the wrong place.
    return "other text" if value else "empty text"


def _wrong_type(
    value: Any, expected: str, path: KeyPath, where: Callable[[KeyPath], str], choices: tuple[str, ...] = ()
) -> ConfigError:
    hint = ""
    if choices and isinstance(value, str):
        near = _nearest(value, list(choices))
        hint = f"Did you mean {near}?" if near else ""
    elif expected == "a list" and isinstance(value, str):
        hint = "Write it as a list, one `- item` a line."
    elif expected == "text" and isinstance(value, int | float):
        hint = "Put it in quotes."
    name = dotted(path) or "the configuration"
    return ConfigError(f"{name}: expected {expected}, found {_found(value)}", hint, where(path))


def _unknown(key: object, known: list[str], path: KeyPath, where: Callable[[KeyPath], str]) -> ConfigError:
    here = (*path, str(key))
    near = _nearest(str(key), known)
    hint = f"Did you mean {dotted((*path, near))}?" if near else "Known here: " + ", ".join(known) + "."
    elsewhere = _elsewhere(str(key)) if not path else ""
    if elsewhere:
        hint = f"{hint} There is also {elsewhere}."
    return ConfigError(f"unknown key {dotted(here)}", hint, where(here))


def _nearest(word: str, known: list[str]) -> str:
    from difflib import get_close_matches

    matches = get_close_matches(word.lower().replace("-", "_")[:80], known, 1, 0.6)
    matches = matches or get_close_matches(word.lower()[:80], known, 1, 0.6)
    return matches[0] if matches else ""


def _elsewhere(key: str) -> str:
    """A key written at the top that stands in a section, such as ``mode`` in ``permissions``."""
    for field in msgspec.structs.fields(Settings):
        is_section = isinstance(field.type, type) and issubclass(field.type, msgspec.Struct)
        if is_section and key in field.type.__struct_fields__:
            return f"{field.encode_name}.{key}"
    return ""
