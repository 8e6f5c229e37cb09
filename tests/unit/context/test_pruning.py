"""Old results that can be had again make room; all else stays."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talk import SIZE, TURNS, call, conversation, model, result, step, user

from mewcode.context.pruning import KEPT_RESULTS, Replacement, apply, as_mapping, choose
from mewcode.context.results import AGAIN, is_replaced, line_for, results_of
from mewcode.core.message import Image, Message, Text, ToolResult, text_of
from mewcode.sessions.repair import is_sound

ALL = 10**9
LATER = [
    *step("z1", "bash", "ok", command="true"),
    *step("z2", "todo", "ok"),
    *step("z3", "bash", "ok", command="false"),
]
LATER.append(model("end", "done"))


def chosen(*steps: list[Message], wanted: int = ALL, least: int = 0) -> list[Replacement]:
    messages = [user("u"), *(message for one in steps for message in one), *LATER]
    return choose(messages, SIZE, wanted, least=least)


def text_in(message: Message) -> str:
    return text_of(message.tool_results[0].content)


@given(TURNS, st.integers(0, 30_000), st.integers(0, 2_000))
@settings(max_examples=80, deadline=None)
def test_what_is_left_out(turns: list, wanted: int, least: int) -> None:
    messages = conversation(turns)
    assert is_sound(messages)
    replacements = choose(messages, SIZE, wanted, least=least)
    pruned = apply(messages, replacements)
    assert is_sound(pruned)
    assert apply(pruned, replacements) == pruned
    texts = as_mapping(replacements)
    assert list(texts) == [message.id for message in messages if message.id in texts]  # in order, none twice
    results = results_of(messages)
    last = {result.message.id for result in results[-KEPT_RESULTS:]}
    for one in results:
        if one.message.id in texts:
            assert one.message.id not in last
            assert not one.content.is_error
            assert one.call.name in AGAIN
            assert not one.failed or one.is_superseded
    for before, after in zip(messages, pruned, strict=True):
        assert after is before if before.id not in texts else is_replaced(after)
    freed = sum(map(SIZE, messages)) - sum(map(SIZE, pruned))
    assert freed == sum(replacement.tokens for replacement in replacements)
    assert not replacements or freed >= least
    if wanted > 0 and freed < wanted and replacements:  # all there is
        assert choose(pruned, SIZE, wanted - freed) == []


@given(TURNS)
@settings(max_examples=40, deadline=None)
def test_pruning_again_takes_only_what_is_new(turns: list) -> None:
    messages = conversation(turns)
    first = choose(messages, SIZE, ALL)
    assert choose(apply(messages, first), SIZE, ALL) == []
    assert choose(messages, SIZE, ALL) == first


def test_the_oldest_go_first_and_no_more_than_wanted() -> None:
    steps = [step(f"c{n}", "read_file", "x" * 4_000, path=f"src/{n}.py") for n in range(6)]
    assert [one.message_id for one in chosen(*steps, wanted=1_500)] == ["r-c0", "r-c1"]
    assert chosen(*steps, wanted=0) == []
    assert chosen(*steps, least=100_000) == []


def test_of_a_file_that_was_read_twice_the_newer_stays() -> None:
    old = step("old", "grep", "x" * 4_000, pattern="first")
    again = [
        step(f"c{n}", "read_file", "x" * 4_000, path=path)
        for n, path in enumerate(["src/a.py", "./src/a.py"])
    ]
    assert [one.message_id for one in chosen(old, *again, wanted=500)] == ["r-c0"]


@pytest.mark.parametrize(
    ("first", "second", "is_covered"),
    [
        ({"offset": 10, "limit": 50}, {"offset": 1, "limit": 100}, True),
        ({"offset": 10, "limit": 50}, {}, True),
        ({}, {"offset": 10, "limit": 50}, False),
        ({"offset": 10, "limit": 50}, {"offset": 40, "limit": 50}, False),
        ({"offset": "x"}, {}, True),
    ],
)
def test_a_page_stands_for_a_page_only_where_it_holds_it(first: dict, second: dict, is_covered: bool) -> None:
    messages = [
        *step("1", "read_file", "x", path="a.py", **first),
        *step("2", "read_file", "x", path="a.py", **second),
    ]
    assert [one.is_superseded for one in results_of([user("u"), *messages])] == [is_covered, False]


def test_what_failed_stays_unless_it_was_run_again() -> None:
    failed = step("f", "bash", "E   assert 1 == 2\n" * 300 + "exit code 1", command="pytest -q")
    refused = step("e", "read_file", "no such file " * 300, path="b.py", is_error=True)
    assert chosen(failed, refused) == []
    passed = step("p", "bash", "3 passed", command="pytest -q", timeout=60)
    found = chosen(failed, refused, passed)
    assert [one.message_id for one in found] == ["r-f"]
    assert "exit code 1" in found[0].text
    assert "assert 1 == 2" in found[0].text


def test_what_was_not_answered_yet_stays() -> None:
    calls = [call(f"c{n}", path=f"{n}.py") for n in range(6)]
    messages = [user("u"), model("a", "", *calls), *(result(one.id, "x" * 4_000) for one in calls)]
    assert choose(messages, SIZE, ALL) == []
    answered = [*messages, model("b", "I see")]
    assert [one.message_id for one in choose(answered, SIZE, ALL)] == ["r-c0", "r-c1", "r-c2"]


@pytest.mark.parametrize(
    "tool", ["edit_file", "write_file", "todo", "ask_user", "mcp__x__search", "bash_stop"]
)
def test_what_cannot_be_had_again_stays(tool: str) -> None:
    assert chosen(step("c", tool, "x" * 9_000, path="a")) == []


@pytest.mark.parametrize(
    ("tool", "args", "text", "said"),
    [
        (
            "read_file",
            {"path": "src/a.py"},
            "x",
            "[read_file src/a.py: left out to save room; read it again if you need it]",
        ),
        (
            "read_file",
            {"path": "src/a.py", "offset": 1, "limit": 200},
            "x",
            "[read_file src/a.py lines 1-200: left out to save room; read it again if you need it]",
        ),
        (
            "grep",
            {"pattern": "def f", "path": "src"},
            "x",
            '[grep "def f" in src: left out to save room; do it again if you need it]',
        ),
        (
            "glob",
            {"pattern": "**/*.py"},
            "x",
            "[glob **/*.py: left out to save room; do it again if you need it]",
        ),
        (
            "list_dir",
            {"path": "文档"},
            "x",
            "[list_dir 文档: left out to save room; do it again if you need it]",
        ),
        (
            "web_fetch",
            {"url": "https://e.org/"},
            "x",
            "[web_fetch https://e.org/: left out to save room; fetch it again if you need it]",
        ),
        (
            "bash",
            {"command": "pytest -q"},
            "....\n12 passed in 3 s\n",
            '[bash "pytest -q": left out to save room (last line: 12 passed in 3 s); run it again only if '
            "you need its output and repeating it does no harm]",
        ),
        (
            "bash",
            {"command": "make"},
            "(no output)",
            '[bash "make": left out to save room (it printed nothing); run it again only if you need '
            "its output and repeating it does no harm]",
        ),
        (
            "bash_output",
            {"id": "bg1"},
            "x",
            "[bash_output bg1: left out to save room; it gives only what is printed from now on]",
        ),
    ],
)
def test_the_line_says_what_it_was_and_how_to_get_it(tool: str, args: dict, text: str, said: str) -> None:
    found = results_of(step("c", tool, text, **args))[0]
    assert line_for(found) == said


def test_a_result_that_is_kept_in_a_file_says_where() -> None:
    where = "The whole text is in /p/a b/c9: read_file with offset and limit pages through it"
    text = f"x\n[... 90 lines, 8,000 bytes left out. {where} ...]\ny"
    found = results_of(step("c", "bash", text, command="make"))[0]
    assert "(all of it is in /p/a b/c9)" in line_for(found)


def test_the_line_is_one_safe_line_of_bounded_length() -> None:
    path = "a\n\x1b[31m" + "目" * 5_000
    found = results_of(step("c", "bash", "o\x1b[2J" * 900, command=path))[0]
    line = line_for(found)
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) < 600
    assert is_replaced(apply([found.message], {found.message.id: line})[0])


def test_only_a_short_line_of_that_form_counts_as_replaced() -> None:
    assert not is_replaced(result("c", "[see: left out to save room"))
    assert not is_replaced(result("c", "[a: left out to save room; b" + "x" * 3_000 + "]"))
    assert not is_replaced(user("u", "[a: left out to save room]"))


def test_what_was_added_behind_a_result_stays_and_pictures_go() -> None:
    message = step("c", "read_file", "x" * 900, path="a.png")[1]
    shown = msgspec.structs.replace(
        message.tool_results[0], content=(Text("a.png"), Image("image/png", "aGk="))
    )
    message = msgspec.structs.replace(
        message, content=(shown, Text("<system-reminder>news</system-reminder>"))
    )
    replaced = apply([message], [Replacement(message.id, "[gone]")])[0]
    assert replaced.content == (
        ToolResult("c", (Text("[gone]"),)),
        Text("<system-reminder>news</system-reminder>"),
    )
    assert text_in(replaced) == "[gone]"


def test_only_a_tool_message_is_replaced() -> None:
    messages = [user("u", "hi")]
    assert apply(messages, {"u": "x", "unknown": "y"}) == messages
