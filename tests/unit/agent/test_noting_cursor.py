"""What of a conversation is taken up for notes: each message once, whatever becomes of the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.agent.noted_turns import ask_for_a_look, ended_by_itself, to_look_through
from mewcode.agent.noting_cursor import Cursor
from mewcode.core.message import Message, Text, ToolCall, ToolResult
from mewcode.sessions.reader import LoadedSession
from mewcode.sessions.record import Totals


def user(name: str, text: str = "go on") -> Message:
    return Message(name, "user", (Text(text),), "user")


def model(name: str, *calls: ToolCall) -> Message:
    return Message(name, "assistant", (Text("yes"), *calls), "model")


def result(name: str, call: str, *, failed: bool = False) -> Message:
    return Message(name, "tool", (ToolResult(call, (Text("ok"),), failed),), "tool")


def turn(number: int, text: str = "go on") -> list[Message]:
    return [user(f"u{number}", text), model(f"a{number}")]


def ids(messages: Sequence[Message]) -> str:
    return " ".join(message.id for message in messages)


def loaded(messages: Sequence[Message], noted: str = "", **more: Any) -> LoadedSession:
    whole = LoadedSession("s", tuple(messages), "", "", "", "", Totals(), 0, 0, [], 0.0, None, noted=noted)
    return msgspec.structs.replace(whole, **more)


def collected(cursor: Cursor, messages: Sequence[Message]) -> Cursor:
    cursor.collect(messages)
    return cursor


def test_each_message_is_taken_up_once() -> None:
    cursor, messages = Cursor(), turn(1)
    assert cursor.collect(messages)
    assert not cursor.collect(messages)
    messages += turn(2)
    cursor.collect(messages)
    assert ids(cursor.waiting) == "u1 a1 u2 a2"
    batch = cursor.take("s", messages)
    assert (ids(batch.messages), batch.upto, batch.earlier) == ("u1 a1 u2 a2", "a2", ())
    messages += turn(3)
    batch = collected(cursor, messages).take("s", messages)
    assert (ids(batch.messages), ids(batch.earlier)) == ("u3 a3", "u1 a1 u2 a2")
    assert not cursor.waiting


def test_what_could_not_be_looked_through_waits_before_what_came_since() -> None:
    messages = turn(1)
    cursor = collected(Cursor(), messages)
    batch = cursor.take("s", messages)
    messages += turn(2)
    collected(cursor, messages).give_back(batch)
    assert ids(cursor.waiting) == "u1 a1 u2 a2"
    assert cursor.take("s", messages).upto == "a2"


def test_a_turn_that_kept_its_note_itself_is_left_out() -> None:
    kept = [user("u1"), model("x1", ToolCall("c1", "save_note", {})), result("t1", "c1"), model("a1")]
    failed = [user("u2"), model("x2", ToolCall("c2", "save_note", {})), result("t2", "c2", failed=True)]
    read = [user("u3"), model("x3", ToolCall("c3", "read_note", {})), result("t3", "c3"), model("a3")]
    assert ids(to_look_through([*kept, *failed, *read])) == "u2 x2 t2 u3 x3 t3 a3"
    cursor = collected(Cursor(), kept)
    assert not cursor.waiting
    assert cursor.last == "a1", "it was looked at all the same"


def test_a_note_taken_by_hand_spares_the_turn_that_runs_or_the_last_one() -> None:
    cursor, messages = Cursor(), turn(1)
    cursor.is_by_hand = True
    assert not collected(cursor, messages).waiting
    messages += [*turn(2), *turn(3, "remember that we use uv")]
    collected(cursor, messages)
    cursor.leave_out_last_turn()
    assert ids(cursor.waiting) == "u2 a2"
    assert cursor.hear() == []


def test_only_the_users_own_words_are_heard_and_each_once() -> None:
    said = Message("t1", "tool", (ToolResult("c", (Text("Remember: never use tabs."),)),), "tool")
    told = Message("r1", "user", (Text("Remember: never use tabs."),), "reminder")
    messages = [user("u1", "记住：我们用 uv"), said, told, model("a1")]
    cursor = collected(Cursor(), messages)
    assert cursor.hear() == ["记住：我们用 uv"]
    assert cursor.hear() == []
    collected(cursor, [*messages, *turn(2)]).take("s", ())
    assert cursor.hear() == [], "what is looked through needs no hearing"


@pytest.mark.parametrize(
    ("text", "is_reason"),
    [
        ("记住：我们用 uv", True), ("Remember: we use uv.", True), ("不对，应该用 uv", True),
        ("what is uv?", False), ("Do not remember this: 1234", False), ("不要记住", False), ("不用记", False),
    ],
)  # fmt: skip
def test_which_words_are_a_reason_to_look_at_once(text: str, is_reason: bool) -> None:
    assert ask_for_a_look(["hello", text]) == is_reason


def test_a_way_back_leaves_out_what_is_gone_and_its_undo_brings_it_again() -> None:
    messages = [*turn(1), *turn(2), *turn(3)]
    cursor = collected(Cursor(), messages[:2])
    cursor.take("s", messages)
    collected(cursor, messages)
    cursor.go_back(messages[2:], None)
    assert not cursor.waiting
    other = [*messages[:2], *turn(4)]
    assert ids(collected(cursor, other).waiting) == "u4 a4"
    cursor.go_back(other[2:], None)
    assert ids(collected(cursor, messages).waiting) == "u2 a2 u3 a3"
    cursor.take("s", messages)
    cursor.go_back(messages[2:], None)
    assert not collected(cursor, messages[:2]).waiting, "what was looked through is not again"
    assert not collected(cursor, messages).waiting


def test_a_way_back_to_before_a_summary_knows_what_was_looked_through() -> None:
    old = [*turn(1), *turn(2), *turn(3)]
    cursor = Cursor()
    cursor.take_up(copies := [Message("sum", "user", (Text("in short"),), "compaction"), *turn(9)])
    cursor.go_back(copies, loaded(old, noted="a2"))
    assert ids(collected(cursor, old).waiting) == "u3 a3"


def test_a_compaction_in_between_changes_nothing() -> None:
    before = [*turn(1), *turn(2)]
    cursor = collected(Cursor(), before)
    begun = [Message("sum", "user", (Text("in short"),), "compaction"), *turn(8)]
    cursor.take_up(begun)
    after = [*begun, *turn(3)]
    assert ids(collected(cursor, after).waiting) == "u1 a1 u2 a2 u3 a3"
    assert cursor.take("s", after).upto == "a3"


def test_a_continued_session_goes_on_where_it_was_left() -> None:
    messages = [*turn(1), *turn(2), *turn(3)]
    cursor = Cursor.of(loaded(messages, noted="a1"), False)
    assert (ids(cursor.waiting), cursor.turns, cursor.is_behind) == ("u2 a2 u3 a3", 2, False)
    assert not cursor.collect(messages)
    fork = Cursor.of(loaded(messages, noted="a1"), True)
    assert not fork.waiting
    assert ids(collected(fork, [*messages, *turn(4)]).waiting) == "u4 a4"
    cut = Cursor.of(loaded(messages, start=4_711), False)
    assert cut.is_behind
    cut.catch_up([*turn(0), *messages, *turn(7)])
    assert ids(cut.waiting) == "u0 a0 u1 a1 u2 a2 u3 a3", "no more than what is at hand by now"


def test_only_an_answer_ends_a_turn_by_itself() -> None:
    stopped = Message("r", "user", (Text("The user interrupted the turn here."),), "reminder")
    assert ended_by_itself(turn(1))
    assert not ended_by_itself([*turn(1), stopped])
    assert not ended_by_itself([user("u"), model("a", ToolCall("c", "bash", {}))])
    assert not ended_by_itself([user("u")])
    assert not ended_by_itself([])


@given(st.lists(st.sampled_from(["turn", "look", "fail", "back", "sum up", "resume"])), st.data())
@settings(max_examples=200)
def test_nothing_is_lost_and_nothing_looked_through_twice(steps: list[str], data: st.DataObject) -> None:
    """What is or was in the conversation, and was not taken back, was looked through once in the end."""
    cursor, messages = Cursor(), list[Message]()
    looked: list[str] = []
    summed_up: set[str] = set()
    copies: set[str] = set()
    for number, step in enumerate(steps):
        if step == "turn":
            messages += turn(number)
            cursor.collect(messages)
        elif step in ("look", "fail"):
            batch = cursor.take("s", messages)
            if step == "fail":
                cursor.give_back(batch)
            looked += [message.id for message in batch.messages if step == "look"]
        elif step == "back" and messages and not copies:
            keep = 2 * data.draw(st.integers(0, len(messages) // 2 - 1))
            cursor.go_back(messages[keep:], None)
            messages = messages[:keep]
        elif step == "sum up" and messages:
            begun = [Message(f"s{number}", "user", (Text("in short"),), "compaction"), *turn(-number)]
            cursor.collect(messages)
            cursor.take_up(begun)
            summed_up |= {message.id for message in messages}
            copies |= {message.id for message in begun}
            messages = begun
        elif step == "resume" and not copies:
            done = [message.id for message in messages if message.id in looked]
            cursor = Cursor.of(loaded(messages, noted=done[-1] if done else ""), False)
    cursor.collect(messages)
    looked += [message.id for message in cursor.take("s", messages).messages]
    assert len(looked) == len(set(looked))
    assert {message.id for message in messages} | summed_up <= set(looked) | copies
    assert not copies & set(looked)
