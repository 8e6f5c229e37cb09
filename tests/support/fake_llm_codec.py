"""The JSON form of the frozen values a script is made of.

A value is an object of its fields, those at their default left out. A field marked `OPAQUE` holds the
script's own JSON and is passed through; a field marked `nested(kind)` holds that kind; anywhere else an
object names its kind by its `type`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import TypeVar, cast

OPAQUE = {"opaque": True}
_T = TypeVar("_T")


def nested(kind: type) -> dict[str, object]:
    """The mark of a field that holds this kind and needs no `type`."""
    return {"nested": kind}


class Codec:
    """Encodes and decodes values; `kinds` are those that an object names by its `type`."""

    def __init__(self, kinds: Mapping[str, type]) -> None:
        self._kinds = dict(kinds)
        self._tags = {kind: tag for tag, kind in kinds.items()}

    def encode(self, value: object) -> dict[str, object]:
        """The fields of a dataclass value as JSON."""
        encoded: dict[str, object] = {}
        for each in _fields_of(type(value)).values():
            current: object = getattr(value, each.name)
            if current == _default(each):
                continue
            if each.metadata.get("opaque"):
                encoded[each.name] = dict(current) if isinstance(current, Mapping) else current
            else:
                encoded[each.name] = self._encode_any(current)
        return encoded

    def decode(self, kind: type[_T], value: object) -> _T:
        """The value of this kind. Raises ValueError for what does not fit."""
        if not isinstance(value, dict):
            raise ValueError(f"script: {kind.__name__} must be an object, not {type(value).__name__}")
        known = _fields_of(kind)
        decoded: dict[str, object] = {}
        for name, item in value.items():
            each = known.get(name)
            if each is None:
                raise ValueError(f"script: {kind.__name__} has no field {name!r}; it has {', '.join(known)}")
            inner = each.metadata.get("nested")
            if each.metadata.get("opaque") or item is None:
                decoded[name] = item
            elif inner is not None:
                decoded[name] = self.decode(inner, item)
            else:
                decoded[name] = self._decode_any(item)
        try:
            return kind(**decoded)
        except TypeError as error:
            raise ValueError(f"script: {kind.__name__}: {error}") from error

    def _encode_any(self, value: object) -> object:
        if isinstance(value, tuple):
            return [self._encode_any(item) for item in value]
        if not is_dataclass(value):
            return value
        tag = self._tags.get(type(value))
        return {**({"type": tag} if tag else {}), **self.encode(value)}

    def _decode_any(self, value: object) -> object:
        if isinstance(value, list):
            return tuple(self._decode_any(item) for item in value)
        if not isinstance(value, dict):
            return value
        kind = self._kinds.get(str(value.get("type")))
        if kind is None:
            raise ValueError(f"script: the type {value.get('type')!r} is none of {', '.join(self._kinds)}")
        return self.decode(kind, {name: item for name, item in value.items() if name != "type"})


def _fields_of(kind: type) -> dict[str, Field[object]]:
    return {each.name: cast("Field[object]", each) for each in fields(kind)}


def _default(each: Field[object]) -> object:
    if each.default is not MISSING:
        return each.default
    return each.default_factory() if each.default_factory is not MISSING else MISSING
