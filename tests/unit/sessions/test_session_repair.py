"""Any list of messages becomes one that both protocols accept."""

from __future__ import annotations

import copy

from hypothesis import given, settings
from hypothesis import strategies as st
from session_strategies import SAFE_IDS, WRITABLE, assistant, messages, tool, user

from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult
from mewcode.sessions.repair import BEGINNING_LOST, INTERRUPTED, is_sound, repair_messages

FEW_IDS = st.one_of(st.sampled_from(["c1", "c2", "c3", "", "../x"]), SAFE_IDS)
LISTS = st.lists(messages(WRITABLE, FEW_IDS), max_size=8)


def breaches(conversation) -> list[str]:
    """What a service would refuse, found on its own: not by the code under test."""
    found = []
    if conversation and conversation[0].role != "user":
        found.append("does not begin with the user")
    called: list[str] = []
    for place, message in enumerate(conversation):
        results = [block for block in message.content if isinstance(block, ToolResult)]
        calls = [block for block in message.content if isinstance(block, ToolCall)]
        if not message.content:
            found.append("an empty message")
        if any(isinstance(block, Text) and not block.text.strip() for block in message.content):
            found.append("an empty text")
        if results and (message.role != "tool" or len(results) > 1 or message.content[0] is not results[0]):
            found.append("a result in the wrong message")
        if message.role == "tool" and not results:
            found.append("a tool message without a result")
        if calls and message.role != "assistant":
            found.append("a call that is not the assistant's")
        if message.role != "assistant" and any(isinstance(block, Thinking) for block in message.content):
            found.append("a thought that is not the assistant's")
        if message.role == "assistant" and any(isinstance(block, Thinking) for block in message.content[-1:]):
            found.append("thinking at the end")
        if any(isinstance(block, Image) for block in message.content) and message.role == "assistant":
            found.append("a picture of the assistant's")
        answers = conversation[place + 1 : place + 1 + len(calls)]
        if [call.id for call in calls] != [
            each.tool_results[0].call_id for each in answers if each.tool_results
        ]:
            found.append("calls and the results behind them differ")
        called += [call.id for call in calls]
    if len(set(called)) != len(called) or "" in called:
        found.append("ids of calls are not unique")
    if len(called) != sum(len(message.tool_results) for message in conversation):
        found.append("not one result for each call")
    return found


def texts(conversation) -> list[str]:
    return [
        block.text
        for message in conversation
        for block in message.content
        if isinstance(block, Text) and block.text.strip()
    ]


@settings(max_examples=400, deadline=None)
@given(LISTS)
def test_the_outcome_is_accepted_keeps_all_text_in_order_and_stays(conversation):
    before = copy.deepcopy(conversation)
    repaired, notes = repair_messages(conversation)
    assert conversation == before
    assert breaches(repaired) == []
    assert is_sound(repaired)
    remaining = iter(texts(repaired))
    assert all(text in remaining for text in texts(conversation))
    assert repair_messages(repaired) == (repaired, [])
    assert is_sound(conversation) == (breaches(conversation) == [] and notes == [])


@settings(max_examples=200, deadline=None)
@given(LISTS)
def test_each_result_is_kept_once_as_a_result_or_as_text(conversation):
    repaired, notes = repair_messages(conversation)
    kept = sum(len(message.tool_results) for message in repaired)
    made = sum(message.id.endswith("-interrupted") for message in repaired)
    orphans = sum(message.text.startswith(("[Result of an earlier", "[Error of an")) for message in repaired)
    dropped = sum(len(message.tool_results) for message in conversation) - (kept - made) - orphans
    assert dropped >= 0
    assert (dropped > 0) == any(note.startswith("a second result") for note in notes)


def test_a_sound_conversation_is_the_same_objects():
    conversation = [
        user("u1"),
        assistant("a1", "c1", "c2"),
        tool("t1", "c1"),
        Message("t2", "tool", (ToolResult("c2", ()), Text("<system-reminder>")), "tool"),
        assistant("a2"),
    ]
    repaired, notes = repair_messages(conversation)
    assert notes == []
    assert all(one is other for one, other in zip(repaired, conversation, strict=True))


def shape(repaired) -> list[tuple[str, str]]:
    return [
        (message.role, message.tool_results[0].call_id if message.tool_results else message.text)
        for message in repaired
    ]


def test_two_calls_of_which_one_has_a_result_at_the_end():
    repaired, notes = repair_messages([user("u"), assistant("a", "c1", "c2"), tool("t", "c2", "done")])
    assert shape(repaired)[2:] == [("tool", "c1"), ("tool", "c2")]
    assert repaired[2].tool_results[0] == ToolResult("c1", (Text(INTERRUPTED),), True)
    assert repaired[3].tool_results[0].content == (Text("done"),)
    assert notes


def test_a_missing_result_in_the_middle():
    repaired, _ = repair_messages(
        [user("u"), assistant("a", "c1", "c2"), tool("t", "c1"), user("v"), assistant("b")]
    )
    assert shape(repaired)[2:] == [
        ("tool", "c1"),
        ("tool", "c2"),
        ("user", "text of v"),
        ("assistant", "answer b"),
    ]


def test_a_result_that_comes_late_or_early_is_put_behind_its_call():
    late, _ = repair_messages([user("u"), assistant("a", "c1"), user("v"), tool("t", "c1")])
    early, _ = repair_messages([user("u"), tool("t", "c1"), assistant("a", "c1"), user("v")])
    assert shape(late) == shape(early)
    assert shape(late)[2:] == [("tool", "c1"), ("user", "text of v")]


def test_a_result_without_its_call_becomes_text():
    repaired, _ = repair_messages([user("u"), tool("t", "gone", "42 files"), assistant("a")])
    assert repaired[1].role == "user"
    assert repaired[1].origin == "tool"
    assert repaired[1].text.startswith("[Result of an earlier tool call")
    assert "42 files" in repaired[1].text


def test_a_second_result_is_dropped_and_the_first_stays():
    repaired, notes = repair_messages(
        [user("u"), assistant("a", "c1"), tool("t", "c1", "first"), tool("t2", "c1", "second")]
    )
    assert len(repaired) == 3
    assert repaired[2].tool_results[0].content == (Text("first"),)
    assert notes == ["a second result of one call: dropped"]


def test_ids_that_begin_anew_each_turn():
    repaired, _ = repair_messages(
        [
            user("u"),
            assistant("a", "call_0"),
            tool("t", "call_0", "one"),
            user("v"),
            assistant("b", "call_0"),
            tool("s", "call_0", "two"),
        ]
    )
    assert breaches(repaired) == []
    assert [message.tool_results[0].content[0].text for message in repaired if message.tool_results] == [
        "one",
        "two",
    ]


def test_a_conversation_whose_beginning_is_lost():
    repaired, _ = repair_messages([assistant("a", "c1"), tool("t", "c1")])
    assert (repaired[0].role, repaired[0].text) == ("user", BEGINNING_LOST)
    assert repair_messages([]) == ((), [])


def test_results_in_a_user_message_in_the_manner_of_the_messages_api():
    answers = Message(
        "r", "user", (ToolResult("c1", (Text("1"),)), ToolResult("c2", (Text("2"),)), Text("go on"))
    )
    repaired, _ = repair_messages([user("u"), assistant("a", "c1", "c2"), answers])
    assert shape(repaired)[2:] == [("tool", "c1"), ("tool", "c2"), ("user", "go on")]


def test_an_answer_that_broke_off_in_its_thinking_is_dropped():
    broken = Message("a", "assistant", (Thinking("hm"), Text(" \n")), "model")
    repaired, notes = repair_messages([user("u"), broken, user("v")])
    assert [message.id for message in repaired] == ["u", "v"]
    assert notes == ["an empty assistant message: dropped"]
