"""JSON across our borders: what is written can be read by anyone, what others write is read if at all."""

from __future__ import annotations

import contextlib
import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.core.codec import clean_text, clean_value, decode_json, encode_json
from mewcode.core.message import Message, Text

ANY_TEXT = st.text(st.characters(), max_size=20)  # lone surrogates among them
ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(ANY_VALUE)
def test_any_value_is_written_and_read_back_clean(value: object) -> None:
    data = encode_json(value)
    data.decode("utf-8")
    assert b"\n" not in data
    assert decode_json(data) == clean_value(value)
    assert json.loads(data) == clean_value(value)


@given(ANY_VALUE)
def test_cleaning_twice_changes_nothing_more(value: object) -> None:
    once = clean_value(value)
    assert clean_value(once) == once


@given(ANY_VALUE)
def test_what_python_writes_is_read(value: object) -> None:
    """Its writer leaves NaN, infinities and surrogates in."""
    assert decode_json(json.dumps(value)) == clean_value(value)


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_what_is_no_json_is_a_value_error(data: bytes | str) -> None:
    with contextlib.suppress(ValueError):
        decode_json(data)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (
            b'{"a": NaN, "b": Infinity, "c": -Infinity, "d": 1e999}',
            {"a": None, "b": None, "c": None, "d": None},
        ),
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\ud83d\ude00"', "😀"),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (' {"k": "\u2028 中"} \r\n', {"k": "\u2028 中"}),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (rb'{"\ud800": 1}', {"\ufffd": 1}),
        (b"null", None),
    ],
)
def test_what_models_write(data: bytes | str, value: object) -> None:
    assert decode_json(data) == value


@pytest.mark.parametrize("data", [b"", b"{", b"{'a': 1}", b"[1,]", b'{"a": 1} x', b"\xff", b'"\xff"', b"nul"])
def test_what_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_json(data)


@pytest.mark.parametrize("data", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_what_is_nested_too_deeply_is_refused_and_harms_nothing(data: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_json(data)


def test_structs_are_written_clean_too() -> None:
    message = Message("m", "user", (Text("half \ud83d"),), provider_meta={"\udc00": "\ud800"})
    value = json.loads(encode_json(message))
    assert value["content"] == [{"type": "text", "text": "half \ufffd"}]
    assert value["provider_meta"] == {"\ufffd": "\ufffd"}


def test_clean_text_leaves_what_is_clean() -> None:
    for text in ("", "plain", "中文 😀 \u2028"):
        assert clean_text(text) is text or clean_text(text) == text
    assert clean_text("\ud83d\ude00") == "\ufffd\ufffd", "two halves are no character"


def test_clean_value_makes_json_of_what_is_nearly_json() -> None:
    assert clean_value({1: (math.nan, "\ud800"), None: [True]}) == {"1": [None, "\ufffd"], "None": [True]}


def test_writing_is_strict_about_types() -> None:
    with pytest.raises((TypeError, msgspec.MsgspecError)):
        encode_json(object())
