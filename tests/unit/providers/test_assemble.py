"""Blocks that open, grow and close."""

from __future__ import annotations

import pytest

from mewcode.core.message import Text, Thinking, ToolCall
from mewcode.core.stream import BlockDelta, BlockEnd, BlockStart
from mewcode.providers.assemble import BlockAssembly, tool_call


def test_a_text_block() -> None:
    blocks = BlockAssembly("p")
    assert list(blocks.start(0, "text")) == [BlockStart(0, "text")]
    assert [*blocks.add(0, "He"), *blocks.add(0, ""), *blocks.add(0, "y")] == [
        BlockDelta(0, "text", "He"),
        BlockDelta(0, "text", "y"),
    ]
    assert blocks.open_indexes == (0,)
    assert list(blocks.end(0)) == [BlockEnd(0, Text("Hey"))]
    assert blocks.open_indexes == ()


def test_a_thinking_block_is_signed_and_says_whose_it_is() -> None:
    blocks = BlockAssembly("p")
    [*blocks.start(0, "thinking"), *blocks.add(0, "hm")]
    blocks.sign(0, "si")
    blocks.sign(0, "g")
    assert list(blocks.end(0)) == [BlockEnd(0, Thinking("hm", "sig", "p"))]
    list(blocks.start(1, "thinking"))
    blocks.redact(1, "opaque")
    assert list(blocks.end(1)) == [BlockEnd(1, Thinking("", "", "p", "opaque"))]


def test_a_call_gets_an_id_of_ours() -> None:
    blocks = BlockAssembly("p")
    (start,) = blocks.start(0, "tool_call", "bash\ud800")
    assert len(start.call_id) == 9
    assert start.name == "bash\ufffd"
    list(blocks.add(0, '{"command": "ls"}'))
    assert list(blocks.end(0)) == [BlockEnd(0, ToolCall(start.call_id, start.name, {"command": "ls"}))]


def test_what_is_not_open_is_ignored() -> None:
    blocks = BlockAssembly("p")
    blocks.sign(3, "x")
    blocks.redact(3, "x")
    assert [*blocks.add(3, "x"), *blocks.end(3)] == []


def test_lone_surrogates_do_not_get_in() -> None:
    blocks = BlockAssembly("p")
    list(blocks.start(0, "text"))
    assert list(blocks.add(0, "a\ud83d")) == [BlockDelta(0, "text", "a\ufffd")]


@pytest.mark.parametrize(("arguments", "args"), [("", {}), ("  \n", {}), ("{}", {}), ('{"a": 1}', {"a": 1})])
def test_arguments(arguments: str, args: dict) -> None:
    assert tool_call("i", "n", arguments) == ToolCall("i", "n", args)


@pytest.mark.parametrize(
    "arguments", ['{"a": ', "[]", "null", '"x"', "7", '{"a": 1}}', "{'a': 1}", "[" * 100_000]
)
def test_what_is_no_object_is_invalid_and_shown_shortened(arguments: str) -> None:
    call = tool_call("i", "n", arguments)
    assert call.args == {}
    assert call.invalid
    assert arguments.startswith(call.invalid)
    assert len(call.invalid) <= 2_000
