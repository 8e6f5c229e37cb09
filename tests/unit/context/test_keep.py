"""What stays word for word beside a summary."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from talk import CHINESE, SIZE, TURNS, call, conversation, model, result, step, user

from mewcode.context.keep import TAIL_MESSAGES, keep
from mewcode.context.shorten import both_ends, shortened
from mewcode.context.thresholds import Room, Thresholds
from mewcode.core.message import Message
from mewcode.sessions.repair import is_sound

ROOM = Room(20_000, 20_000, 8_000)
SUMMARY = user("s", "summary", "compaction")


def total(messages: tuple[Message, ...] | list[Message]) -> int:
    return sum(map(SIZE, messages))


@given(TURNS, st.integers(100, 20_000), st.integers(100, 20_000))
@settings(max_examples=150, deadline=None)
def test_what_stays_is_sound_and_has_room(turns: list, tail: int, words: int) -> None:
    messages = conversation(turns)
    kept = keep(messages, SIZE, Room(tail, words, 1_000))
    assert is_sound([SUMMARY, *kept.messages])
    assert total(kept.messages) <= tail + words
    if messages[-1].role != "user":
        assert total(kept.tail) <= tail
    assert all(message.usage is None for message in kept.messages)
    count = len(kept.tail)
    assert [message.id for message in (*kept.summarized, *kept.tail)] == [message.id for message in messages]
    if count:
        assert kept.tail[0].role in ("user", "assistant")
    before = {message.id for message in messages[: len(messages) - count]}
    assert {message.id for message in (*kept.words, *kept.todos)} <= before
    assert all(message.is_said for message in kept.words)
    order = [message.id for message in messages]
    assert [m.id for m in kept.words] == sorted((m.id for m in kept.words), key=order.index)


@given(TURNS)
@settings(max_examples=60, deadline=None)
def test_with_room_for_all_nothing_is_changed(turns: list) -> None:
    messages = conversation(turns)
    kept = keep(messages, SIZE, Room(10**6, 10**6, 8_000))
    assert [message.id for message in kept.tail] == [message.id for message in messages]
    assert all(after.content == before.content for after, before in zip(kept.tail, messages, strict=True))
    assert (kept.words, kept.todos, kept.summarized) == ((), (), ())


@given(TURNS, st.integers(300, 5_000))
@settings(max_examples=60, deadline=None)
def test_keeping_again_what_was_kept_is_possible(turns: list, tail: int) -> None:
    room = Room(tail, tail, 1_000)
    once = (SUMMARY, *keep(conversation(turns), SIZE, room).messages)
    twice = (SUMMARY, *keep(once, SIZE, room).messages)
    assert is_sound(twice)
    assert total(twice) <= 2 * tail + SIZE(SUMMARY)


def test_at_least_five_messages_with_their_results_made_shorter() -> None:
    messages = [user("u", "fix it")]
    for number in range(6):
        messages += step(f"c{number}", "read_file", f"{number} " + "x" * 40_000, path=f"{number}.py")
    kept = keep(messages, SIZE, Room(8_000, 2_000, 1_000))
    assert len(kept.tail) >= TAIL_MESSAGES
    assert total(kept.tail) <= 8_000
    assert kept.tail[0].role == "assistant"
    assert "characters left out" in kept.tail[1].tool_results[0].content[0].text  # type: ignore[union-attr]
    assert [message.id for message in kept.words] == ["u"]


def test_the_first_and_the_newest_words_of_the_user_stay() -> None:
    messages: list[Message] = []
    for number in range(60):
        messages += [user(f"u{number}", f"{number} " + CHINESE * 8), model(f"a{number}", "ok")]
    kept = keep(messages, SIZE, Room(1_500, 4_000, 1_000))
    names = [message.id for message in kept.words]
    newest = int(kept.tail[0].id[1:]) if kept.tail[0].role == "user" else int(kept.tail[0].id[1:]) + 1
    assert names[0] == "u0"
    assert names[1:] == [f"u{number}" for number in range(newest - len(names) + 1, newest)]
    assert total(kept.words) > 3_000


def test_long_words_are_shortened_and_say_so() -> None:
    messages = [
        user("u", "Do not touch db.py. " + "log line\n" * 20_000 + "And never push."),
        model("a", "ok"),
    ]
    messages += [m for n in range(9) for m in step(f"c{n}", "bash", "x" * 9_000, command="make")]
    kept = keep(messages, SIZE, Room(6_000, 4_000, 1_000))
    text = kept.words[0].text
    assert text.startswith("Do not touch db.py.")
    assert text.endswith("And never push.")
    assert "characters left out" in text
    assert SIZE(kept.words[0]) <= 1_000


def test_a_new_message_longer_than_the_tail_stays_whole_where_it_can() -> None:
    messages = [user("u"), model("a", "ok"), user("v", "paste " * 16_000)]
    kept = keep(messages, SIZE, ROOM)
    assert kept.tail == (messages[-1],)
    reminded = [*messages, user("m", "<system-reminder>x</system-reminder>", "reminder")]
    assert keep(reminded, SIZE, ROOM).tail == tuple(reminded[-2:])
    cut = keep([*messages[:2], user("v", "paste " * 90_000)], SIZE, ROOM)
    assert len(cut.tail) >= 1
    assert total(cut.messages) <= 40_000


def test_the_list_of_tasks_stays_with_its_result() -> None:
    todo = {"items": [{"text": "write the test", "status": "in_progress"}]}
    first = [model("a0", "", call("t0", "todo", items=[])), result("t0")]
    both = [
        model("a1", "plan", call("t1", "todo", **todo), call("b1", "bash", command="ls")),
        result("t1"),
        result("b1"),
    ]
    failed = [model("a2", "", call("t2", "todo", items="?")), result("t2", is_error=True)]
    rest = [m for n in range(9) for m in step(f"c{n}", "bash", "x" * 9_000, command="make")]
    kept = keep([user("u"), *first, *both, *failed, *rest], SIZE, Room(6_000, 4_000, 1_000))
    assert kept.todos == (model("a1", "", call("t1", "todo", **todo)), result("t1"))
    near = keep([user("u"), *rest, *both], SIZE, Room(6_000, 4_000, 1_000))
    assert near.todos == ()
    assert "a1" in [message.id for message in near.tail]


def test_arguments_that_nothing_can_shorten_are_left_to_the_summary() -> None:
    huge = step("w", "write_file", "ok", path="a.py", content="x" * 400_000)
    kept = keep([user("u", "write it"), *huge], SIZE, ROOM)
    assert kept.tail == ()
    assert [message.id for message in kept.words] == ["u"]
    assert len(kept.summarized) == 3


def test_a_small_window_keeps_little() -> None:
    limits = Thresholds(8_192, 2_048)
    messages = conversation([(800, False, [[("read_file", 1, 9_000, "ok")] * 2] * 3, True)] * 4)
    kept = keep(messages, SIZE, limits.room(2_500))
    assert 0 < total(kept.messages) + limits.room(2_500).summary + 2_500 < limits.compact_at


@given(st.text(max_size=900), st.integers(0, 600))
def test_both_ends_are_bounded_and_say_what_is_missing(text: str, most: int) -> None:
    cut = both_ends(text, most)
    assert len(cut) <= max(most, 120)
    if cut != text:
        assert "characters left out ...]" in cut
        head, tail = cut.split("[... ")[0].rstrip("\n"), cut.split("left out ...]\n")[-1]
        assert text.startswith(head)
        assert text.endswith(tail)


@given(st.text(min_size=1, max_size=3_000), st.integers(10, 900))
@settings(max_examples=80, deadline=None)
def test_a_shortened_message_has_room(text: str, tokens: int) -> None:
    for message in (user("u", text), result("c", text)):
        short = shortened(message, SIZE, tokens)
        assert short is None or SIZE(short) <= tokens
        if SIZE(message) <= tokens:
            assert short is message
        if tokens >= 250:
            assert short is not None


def test_what_the_user_just_asked_stays_also_where_there_is_little_room() -> None:
    steps = [m for n in range(3) for m in step(f"c{n}", "bash", "x" * 9_000, command="make")]
    for asked in (
        [user("u0", "begin"), model("a0", "ok"), user("u1", "do this " * 60)],
        [user("u1", "do " * 99)],
    ):
        kept = keep([*asked, *steps], SIZE, Room(100, 240, 300))
        assert kept.tail == ()
        assert kept.words[-1].id == "u1"
        assert total(kept.words) <= 240
