"""Tool calls out of deltas, in every form in which servers give them."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.message import ToolCall
from mewcode.providers.openai_assembler import OpenAIChatAssembler
from tests.support.chat_chunks import DONE, chunk, item
from tests.support.stream_order import assembled, blocks_of


def run(*events):
    return assembled(OpenAIChatAssembler(), events)


def calls_of(*deltas: dict, finish: str = "tool_calls") -> list[tuple[str, dict | str]]:
    """The calls that these deltas make: name and arguments, or what was wrong with them."""
    events = run(*(chunk(tool_calls=[delta]) for delta in deltas), chunk(finish), DONE)
    assert events[-1].stop_reason == "tool_use"
    return [
        (call.name, call.invalid or call.args) for call in blocks_of(events) if isinstance(call, ToolCall)
    ]


@pytest.mark.parametrize(
    "deltas",
    [
        [
            item("", index=0, ident="a", name="x"),
            item('{"n":1}', index=0),
            item("", index=1, ident="b", name="y"),
            item('{"n":2}', index=1),
        ],
        [
            item("", index=0, ident="a", name="x"),
            item("", index=1, ident="b", name="y"),
            item('{"n":2}', index=1),
            item('{"n":1}', index=0),
        ],
        [
            item('{"n":', ident="a", name="x"),
            item('{"n":', ident="b", name="y"),
            item("1}", ident="a"),
            item("2}", ident="b"),
        ],
        [item("", ident="a", name="x"), item('{"n":1}'), item("", ident="b", name="y"), item('{"n":2}')],
        [item("", name="x"), item('{"n":1}'), item("", name="y"), item('{"n":2}')],
        [item('{"n":1}', name="x"), item('{"n":2}', name="y")],
        [item('{"n":', name="x"), item("1}", name="x"), item('{"n":', name="y"), item("2}", name="y")],
        [item({"n": 1}, index=0, ident="a", name="x"), item({"n": 2}, index=1, ident="b", name="y")],
        [item('{"n":1}', index=0, ident="a", name="x"), item('{"n":2}', index=0, ident="b", name="y")],
        [item('{"n":1}', index=0, ident="", name="x"), item('{"n":2}', index=0, ident="", name="y")],
        [
            item('{"n":', index=0, ident="a"),
            item("1}", index=0, name="x"),
            item('{"n":2}', index=1, ident="b", name="y"),
        ],
        [
            item('{"n":', index=0, ident="a", name="x"),
            item("1}", index=0, ident="r4nd0m"),
            item('{"n":2}', index=1, ident="b", name="y"),
        ],
        [
            item('{"n":1}', index=0, ident="a", name="x"),
            item(None, index=0, name="x"),
            item('{"n":2}', index=1, name="y"),
        ],
        [item('{"n":1}', index=7, ident="a", name="x"), item('{"n":2}', index=3, ident="b", name="y")],
    ],
    ids=[  # in the order of the list above
        "as OpenAI",
        "both open",
        "woven by id",
        "id first",
        "names alone",
        "whole by name",
        "name each time",
        "objects",
        "all index 0",
        "all index 0, no ids",
        "name late",
        "random ids",
        "name again at the end",
        "odd numbers",
    ],
)
def test_calls_in_every_form(deltas: list[dict]) -> None:
    assert calls_of(*deltas) == [("x", {"n": 1}), ("y", {"n": 2})]


@pytest.mark.parametrize(
    "deltas",
    [
        [item("{}", name="x"), item("{}", name="x")],
        [item("", ident="a", name="x"), item("{}"), item("", ident="b", name="x"), item("{}")],
        [item("", index=0, ident="a", name="x"), item("", index=1, ident="b", name="x")],
        [item(None, index=0, ident="a", name="x"), item(None, index=0, ident="b", name="x")],
        [item("{}", index=0, name="x"), item("{}", index=0, name="x")],
    ],
)
def test_the_same_call_twice_is_two_calls(deltas: list[dict]) -> None:
    assert calls_of(*deltas) == [("x", {}), ("x", {})]


def test_a_call_that_nobody_named_is_not_lost() -> None:
    assert calls_of(item('{"n":1}', index=0)) == [("", {"n": 1})]


def test_calls_may_be_null_or_one_object_or_hold_nulls() -> None:
    events = run(
        chunk(tool_calls=None),
        chunk(tool_calls=[None]),
        chunk(tool_calls=item("{}", name="x")),
        chunk(tool_calls=[{"index": None, "id": None, "type": None, "function": None}]),
        chunk("tool_calls", content=None, role=None, reasoning_content=None),
        DONE,
    )
    assert [block.name for block in blocks_of(events)] == ["x"]


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "eos"])
def test_where_there_are_calls_the_reason_is_their_use(finish: str) -> None:
    assert calls_of(item("{}", name="x"), finish=finish) == [("x", {})]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["x", "y"]), st.dictionaries(st.text(max_size=3), st.text(max_size=8), max_size=3)
        ),
        min_size=1,
        max_size=4,
    ),
    st.data(),
)
def test_woven_calls_come_out_as_they_went_in(calls: list[tuple[str, dict]], data: st.DataObject) -> None:
    """By index or by id, the pieces of each in their order, those of different calls in any."""
    by_index = data.draw(st.booleans())
    waiting = []
    for place, (name, args) in enumerate(calls):
        text = json.dumps(args, ensure_ascii=False)
        cuts = sorted({0, len(text), *data.draw(st.lists(st.integers(0, len(text)), max_size=3))})
        key = {"index": place} if by_index else {"ident": f"id{place}"}
        pieces = [item(text[a:b], **key) for a, b in pairwise(cuts)]
        waiting.append([item("", **key, name=name), *pieces])
    # Calls begin in order; whose turn it is then is up to the draw.
    deltas = [pieces.pop(0) for pieces in waiting]
    while any(waiting):
        pieces = data.draw(st.sampled_from([pieces for pieces in waiting if pieces]))
        deltas.append(pieces.pop(0))
    assert calls_of(*deltas) == calls
