"""The part of a conversation that fits a window."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.agent.fit import NewestPart, context_tokens
from mewcode.agent.ports import Past
from mewcode.core.message import Message, Text, ToolCall, ToolResult, Usage
from mewcode.core.tokens import message_tokens
from mewcode.sessions.repair import is_sound

PAST = Past((Path("/p/.mewcode/sessions/20261130-101500-abcd/conversation.jsonl"),))


def user(name: str, text: str = "hi", origin: str = "user") -> Message:
    return Message(name, "user", (Text(text),), origin)  # type: ignore[arg-type]  # one of its words


def model(name: str, text: str = "ok", *calls: str, tokens: int = 0) -> Message:
    content = (Text(text), *(ToolCall(call, "bash", {}) for call in calls))
    return Message(name, "assistant", content, "model", usage=Usage(tokens) if tokens else None)


def tool(call: str, text: str = "done") -> Message:
    return Message(f"r-{call}", "tool", (ToolResult(call, (Text(text),)),), "tool")


def fitted(messages: list[Message], budget: int, past: Past = PAST) -> tuple[Message, ...]:
    return tuple(asyncio.run(NewestPart().compact(messages, budget, past)))


TURNS = st.lists(
    st.tuples(
        st.integers(1, 3_000),  # characters of the prompt
        st.booleans(),  # a reminder behind it
        st.lists(st.lists(st.integers(1, 6_000), max_size=3), max_size=4),  # results by step
    ),
    min_size=1,
    max_size=12,
)


def conversation(turns: list[tuple[int, bool, list[list[int]]]]) -> list[Message]:
    messages: list[Message] = []
    for number, (length, reminded, steps) in enumerate(turns):
        messages.append(user(f"u{number}", "看p"[number % 2] * length))
        if reminded:
            messages.append(user(f"m{number}", "<system-reminder>x</system-reminder>", "reminder"))
        for step, results in enumerate(steps):
            calls = [f"c{number}-{step}-{place}" for place in range(len(results))]
            messages.append(model(f"a{number}-{step}", "so", *calls))
            messages += [tool(call, "r" * size) for call, size in zip(calls, results, strict=True)]
        messages.append(model(f"e{number}", "done"))
    return messages


@settings(max_examples=200, deadline=None)
@given(TURNS, st.integers(200, 20_000))
def test_it_is_sound_the_newest_and_the_same_each_time(turns, budget: int) -> None:
    messages = conversation(turns)
    kept = fitted(messages, budget)
    assert kept == fitted(messages, budget)
    assert is_sound(kept)
    assert kept[0].origin == "compaction"
    # In the order in which they were, up to the last.
    places = [next(place for place, it in enumerate(messages) if it.id == one.id) for one in kept[1:]]
    assert places == sorted(places)
    assert kept[-1] == messages[-1]
    newest = max(place for place, it in enumerate(messages) if it.origin == "user")
    assert messages[newest] in kept
    # Half of the budget, but for what cannot be done without: the last prompt and the last step.
    turn = messages[newest:]
    others = [it for it in turn if it.role != "tool"]
    needed = sum(map(message_tokens, turn[:2])) + sum(map(message_tokens, others))
    size = sum(map(message_tokens, kept[1:]))
    assert size <= max(budget // 2, needed + 40 * len(turn))


def test_whole_turns_stay_where_they_fit() -> None:
    messages = [user("u1"), model("a1", "x" * 4_000), user("u2"), model("a2", "y" * 4_000, tokens=3_000)]
    head, *kept = fitted(messages, 2_600)
    assert kept == messages[2:]
    assert head.text == (
        "<system-reminder>\n"
        "This conversation is longer than your window: its 2 oldest messages are left out here (it began on "
        "2026-11-30). All of it stands in /p/.mewcode/sessions/20261130-101500-abcd/conversation.jsonl, one "
        "JSON record a line: grep and read_file can read it.\n"
        "It began with the user's words: hi\n"
        "</system-reminder>"
    )


def test_an_unread_beginning_is_told_without_a_number() -> None:
    past = Past((Path("/p/base-1.jsonl"), Path("/p/s/conversation.jsonl")), False, "the very first words")
    head, *_ = fitted([user("u8"), model("a8")], 1_000, past)
    assert "its older messages are left out here. All of it stands in /p/base-1.jsonl and /p/s/" in head.text
    assert "the user's words: the very first words" in head.text


def test_a_turn_that_is_too_long_loses_its_oldest_results() -> None:
    messages = [user("u1"), model("a1", "so", "c1", "c2"), tool("c1", "x" * 9_000), tool("c2", "y" * 900)]
    _, *kept = fitted([*messages, model("a2")], 1_000)
    assert [message.id for message in kept] == ["u1", "a1", "r-c1", "r-c2", "a2"]
    [first, second] = [message.tool_results[0].content[0] for message in kept if message.role == "tool"]
    assert first == Text("[this result is left out: it was too long]")
    assert second == Text("y" * 900)


def test_and_then_its_oldest_steps() -> None:
    steps = [it for n in range(9) for it in (model(f"a{n}", "t" * 800, f"c{n}"), tool(f"c{n}"))]
    _, *kept = fitted([user("u1"), *steps, model("end")], 1_500)
    assert [message.id for message in kept] == ["u1", "a6", "r-c6", "a7", "r-c7", "a8", "r-c8", "end"]


def test_a_short_summary_of_before_stays() -> None:
    summary = user("s", "what was done", "compaction")
    messages = [summary, user("u1"), model("a1", "x" * 9_000), user("u2"), model("a2")]
    kept = fitted(messages, 2_000)
    assert [message.id for message in kept] == ["s", "left-out", "u2", "a2"]


def test_a_summary_that_takes_most_of_the_room_stays_too() -> None:
    summary = user("s", "what was done " * 120, "compaction")
    messages = [summary, user("u1"), model("a1", "x" * 9_000), user("u2"), model("a2")]
    kept = fitted(messages, 1_600)
    assert [message.id for message in kept] == ["s", "left-out", "u2", "a2"]


def test_the_list_of_tasks_stays() -> None:
    tasks = ToolCall("t1", "todo", {"items": [{"text": "write it", "status": "pending"}]})
    both = [Message("a0", "assistant", (Text("so"), tasks), "model"), tool("t1")]
    messages = [user("u0"), *both, user("u1"), model("a1", "x" * 9_000), user("u2"), model("a2")]
    kept = fitted(messages, 2_000)
    assert [message.id for message in kept] == ["left-out", "a0", "r-t1", "u2", "a2"]
    assert kept[1].content == (tasks,)


# Estimates.


def test_what_the_service_reported_counts_and_what_came_after() -> None:
    messages = [user("u1", "x" * 4_000), model("a1", tokens=1_500), user("u2", "x" * 400)]
    assert context_tokens(messages) == 1_500 + message_tokens(messages[2])
    assert context_tokens(messages[:1]) == message_tokens(messages[0])
    assert context_tokens([]) == 0


def test_a_report_about_a_part_says_nothing_about_the_whole() -> None:
    long = [user("u1", "x" * 40_000), model("a1", tokens=11_000), user("u2", "x" * 40_000)]
    before = sum(map(message_tokens, long))
    assert context_tokens([*long, model("a2", tokens=5_000)]) == before + message_tokens(model("a2"))
    half = model("a2", tokens=9_000)  # less than half of what the texts look like
    assert context_tokens([*long, half]) == before + message_tokens(half)
    assert context_tokens([*long, model("a2", tokens=21_000)]) == 21_000
