"""JSON as it crosses our borders: strict out, forgiving in.

msgspec is fast and strict. What models and old files hold is not: lone surrogates, NaN, duplicate keys. The
standard library reads those, so it is the second try.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder()
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text with lone surrogates (which no encoding can write) replaced by U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def clean_value(value: Any) -> Any:
    """`clean_text` through a JSON value; NaN and infinities become None, keys become strings."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list | tuple):
        return [clean_value(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(str(key)): clean_value(item) for key, item in value.items()}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def encode_json(value: Any) -> bytes:
    """Compact UTF-8 JSON of one line, for values, dicts and msgspec structs."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(clean_value(msgspec.to_builtins(value)))


def decode_json(data: bytes | str) -> Any:
    """The value of JSON text; raises ValueError where it is none.

    A second, forgiving reader takes what the strict one refuses: lone surrogates, NaN.
    """
    try:
        try:
            return _DECODER.decode(data)
        except (msgspec.DecodeError, UnicodeError):
            import json

            return clean_value(json.loads(data))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
