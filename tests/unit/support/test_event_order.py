"""The checker of event orders: it passes what is right and finds what is not."""

from __future__ import annotations

import asyncio

import pytest

from mewcode.core.access import Verdict
from mewcode.core.errors import StreamBroken
from mewcode.core.events import (
    ApprovalAnswer,
    ApprovalRequested,
    ApprovalResolved,
    MessageAdded,
    RetryScheduled,
    StepEnded,
    StepStarted,
    StreamWithdrawn,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from mewcode.core.stream import BlockDelta, BlockEnd, BlockStart
from tests.support.event_order import check_order
from tests.support.sample_agent import SamplePerson, SamplePolicy, run_turn, sample_agent, sample_tool
from tests.support.scripted_provider import ScriptedProvider, answer, call, failure


@pytest.fixture(scope="module")
def events() -> list:
    """Those of a turn with all that a turn can have."""
    provider = ScriptedProvider(
        failure(StreamBroken("cut"), "Hel"), answer("Hello", call("work"), call("work")), answer("Done")
    )
    policy = SamplePolicy({"work": Verdict("ask")})
    person = SamplePerson(ApprovalAnswer("once"), ApprovalAnswer("once"))
    agent = sample_agent(provider, sample_tool("work"), policy=policy, person=person)
    return asyncio.run(run_turn(agent))[0]


def test_a_good_order_passes(events: list) -> None:
    check_order(events)


# A block's start, its end and the message with it belong together: each without the others is an error.
@pytest.mark.parametrize(
    "kind",
    [
        TurnStarted, StepStarted, BlockStart, BlockDelta, BlockEnd, StreamWithdrawn, ToolStarted, ToolEnded,
        ApprovalRequested, ApprovalResolved, StepEnded, TurnEnded,
    ],
)  # fmt: skip
def test_what_is_missing_or_doubled_is_found(events: list, kind: type) -> None:
    place = max(place for place, event in enumerate(events) if isinstance(event, kind))
    with pytest.raises(AssertionError):
        check_order(events[:place] + events[place + 1 :])
    with pytest.raises(AssertionError):
        check_order([*events[: place + 1], *events[place:]])


def test_what_stands_in_the_wrong_place_is_found(events: list) -> None:
    places = {type(event): place for place, event in enumerate(events)}
    for kind in (MessageAdded, RetryScheduled, ToolEnded, BlockStart, StepEnded):
        moved = [*events]
        event = moved.pop(places[kind])
        moved.insert(0, event)
        with pytest.raises(AssertionError):
            check_order(moved)


def test_nothing_is_no_turn() -> None:
    with pytest.raises(AssertionError):
        check_order([])
