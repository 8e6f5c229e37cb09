"""What is read of a model's answer: all that is valid, and a word on the rest."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.memory.extract.cutting import cut_lines, cut_middle
from mewcode.memory.extract.reply import MOST_BODY, MOST_PROPOSALS, find_objects, read_reply


def entry(name: str = "Tests use pytest", **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "action": "create",
        "level": "project",
        "type": "correction_feedback",
        "name": name,
        "description": "pytest, not unittest",
        "body": "Tests use pytest.\n**Why:** CI.\n**How to apply:** in new tests.",
        "aliases": ["unittest", "测试框架"],
        "reason": "the user said so",
        "rests_on": ["m1"],
        "file": "",
        "confidence": 0.9,
    }
    return {**made, **more}


def answer(*entries: Any) -> str:
    return json.dumps({"notes": list(entries)}, ensure_ascii=False)


def names(text: str) -> list[str]:
    return [proposal.name for proposal in read_reply(text).proposals]


def test_a_plain_answer_is_read_whole() -> None:
    reply = read_reply(answer(entry()))
    assert reply.is_usable
    assert reply.problems == ()
    [proposal] = reply.proposals
    assert proposal.action == "create"
    assert (proposal.type, proposal.level) == ("correction_feedback", "project")
    assert proposal.body.splitlines()[1] == "**Why:** CI."
    assert proposal.aliases == ("unittest", "测试框架")
    assert (proposal.rests_on, proposal.confidence) == (("m1",), 0.9)


@pytest.mark.parametrize(
    "text", ['{"notes": []}', "[]", "```json\n[]\n```", 'None to note.\n{"notes": []}', "[ ]"]
)
def test_an_empty_list_is_an_answer(text: str) -> None:
    reply = read_reply(text)
    assert reply == type(reply)((), (), True)


@pytest.mark.parametrize("text", ["", "There is nothing to note.", "{", "null", '{"ok": true}', "<think>[]"])
def test_what_is_no_list_is_asked_for_again(text: str) -> None:
    reply = read_reply(text)
    assert not reply.is_usable
    assert reply.problems


@pytest.mark.parametrize(
    "text",
    [
        f"Here is what I found: {answer(entry())} That is all {{for now}}.",
        f"```json\n{answer(entry())}\n```",
        f"<think>perhaps {answer(entry('Wrong'))}</think>\n{answer(entry())}",
        json.dumps([entry()]),
        json.dumps(entry()),
        json.dumps({"notes": entry()}),
        json.dumps({"changes": [entry()]}),
        answer(entry()).replace('"m1"]', '"m1",]').replace("}]}", "},]}"),
        answer(entry()).replace("0.9", "NaN"),
        answer(entry()).replace(r"\n", "\n"),
        answer(entry()).replace('"level"', '"level": "user", "level"'),
        answer(entry(type="feedback")),
        answer(entry(type=" Correction-Feedback ", action="ADD")),
        answer(entry(action="update")),
        answer(entry(rests_on="m1", aliases="unittest, 测试框架")),
        answer(entry(unknown={"a": [1, 2]})),
    ],
    ids=[
        "prose", "fence", "thought", "bare-list", "bare-object", "one-object-in-notes", "other-name",
        "trailing-commas", "nan", "raw-newlines", "duplicate-keys", "alias-of-type", "spelling",
        "update-without-file", "texts-for-lists", "unknown-key",
    ],
)  # fmt: skip
def test_what_models_make_of_the_form_is_read(text: str) -> None:
    reply = read_reply(text)
    assert reply.is_usable
    [proposal] = reply.proposals
    assert (proposal.name, proposal.type, proposal.level) == (
        "Tests use pytest",
        "correction_feedback",
        "project",
    )
    assert proposal.action == "create"
    assert proposal.aliases[0] == "unittest"
    assert proposal.rests_on == ("m1",)


def test_all_blocks_count_and_each_entry_once() -> None:
    text = f"First:\n```json\n{answer(entry('A'))}\n```\nand\n```json\n{answer(entry('A'), entry('B'))}\n```"
    assert names(text) == ["A", "B"]


def test_of_an_answer_that_was_cut_off_the_whole_entries_count() -> None:
    text = answer(entry("A"), entry("B"), entry("C"))
    cut = text[: text.index('"C"') + 30]
    reply = read_reply(cut)
    assert [proposal.name for proposal in reply.proposals] == ["A", "B"]
    assert reply.is_usable
    assert len(reply.problems) == 2
    assert "no whole JSON" in reply.problems[0]


def test_what_is_wrong_is_told_and_the_rest_counts() -> None:
    reply = read_reply(
        answer(
            entry("A"),
            entry(action="explode"),
            entry(type="gossip"),
            entry(level="galaxy"),
            entry(name=""),
            entry(body="", description=""),
            entry(action="delete"),
            entry(action="supersede", file="../../etc/passwd"),
            "text",
            entry("B", type=None),
        )
    )
    assert [proposal.name for proposal in reply.proposals] == ["A"]
    assert reply.is_usable
    assert reply.problems == (
        "entry 2: there is no action 'explode'",
        "entry 3: there is no type 'gossip'",
        "entry 4: there is no level 'galaxy'",
        "entry 5: create needs a name",
        "entry 6: create needs a body",
        "entry 7: delete needs a file",
        "entry 8: '../../etc/passwd' is no name of a note's file",
        "entry 9: it is no object",
        "entry 10: create needs a type",
    )


@pytest.mark.parametrize(
    "file",
    ["../x.md", "/etc/x.md", "a/b.md", "C:\\x.md", "..", ".hidden.md", "~/x.md", "inbox/x.md", "x" * 300],
)
def test_a_path_is_never_taken_for_a_file(file: str) -> None:
    reply = read_reply(answer(entry("New", file=file), entry(action="update", file=file)))
    assert [(proposal.name, proposal.file) for proposal in reply.proposals] == [("New", "")]
    assert len(reply.problems) == 2


def test_a_note_that_is_changed_is_named_by_its_file() -> None:
    file = "project_knowledge_部署.md"
    actions = ("update", "replace", "forget")
    text = answer(*(entry(action=action, file=file, type=None, level=None) for action in actions))
    found = [(proposal.action, proposal.file, proposal.type) for proposal in read_reply(text).proposals]
    assert found == [("update", file, None), ("supersede", file, None), ("delete", file, None)]


def test_texts_are_as_long_as_a_note_may_have_them() -> None:
    body = "\n".join(["数据" * 30] * 200)
    text = answer(
        entry("名" * 900, body=body, description="描述" * 300, aliases=[f"a{n}" for n in range(90)])
    )
    [proposal] = read_reply(text).proposals
    assert len(proposal.name) <= 120
    assert len(proposal.description.encode()) <= 200
    assert len(proposal.body.encode()) <= MOST_BODY
    assert proposal.body.endswith("数据…")
    assert len(proposal.body.splitlines()[-1]) == 61, "cut on a line"
    assert len(proposal.aliases) == 12
    assert "\ufffd" not in proposal.body + proposal.description


def test_a_note_keeps_to_text_that_can_be_shown_and_written() -> None:
    text = r'{"action":"create","type":"user","name":"a\u001b[31m\ud800 b","body":"x\u0000\u202e\ny"}'
    [proposal] = read_reply(text).proposals
    assert proposal.name == "a\ufffd b"
    assert proposal.body == "x\ny"
    proposal.body.encode()


@pytest.mark.parametrize(
    ("given_as", "read"),
    [
        (["m3", "m3", "M12"], ("m3", "m12")),
        ("[m3], [m4]", ("m3", "m4")),
        ([3, "4", "m05 (user)"], ("m3", "m4", "m5")),
        (["the user"], ("the user",)),
        ([True, None, {}, -1], ("?",)),
        (None, ()),
        ([], ()),
    ],
)
def test_labels_are_read_in_any_spelling(given_as: Any, read: tuple[str, ...]) -> None:
    [proposal] = read_reply(answer(entry(rests_on=given_as))).proposals
    assert proposal.rests_on == read


@pytest.mark.parametrize(
    ("given_as", "read"),
    [(1, 1.0), ("0.5", 0.5), (2, None), (-1, None), (True, None), ("high", None), (10**400, None)],
)
def test_confidence_is_a_share(given_as: Any, read: float | None) -> None:
    [proposal] = read_reply(answer(entry(confidence=given_as))).proposals
    assert proposal.confidence == read


def test_json_within_a_text_is_text() -> None:
    inner = answer(entry("Inner", action="delete", file="a.md"))
    assert names(answer(entry("Outer", body=inner))) == ["Outer"]


def test_the_number_of_entries_and_of_problems_is_bounded() -> None:
    reply = read_reply(answer(*(entry(f"N{number}") for number in range(100))))
    assert len(reply.proposals) == MOST_PROPOSALS
    reply = read_reply(answer(*(entry(action="x") for _ in range(100))))
    assert len(reply.problems) == 21
    assert reply.problems[-1] == "and 80 more"


def test_problems_hold_no_secret_and_no_control_character() -> None:
    key = "sk-" + "a" * 30
    [problem] = read_reply(answer(entry(action=f"{key}\x1b[2J"))).problems
    assert key[:12] not in problem
    assert "\x1b" not in problem


PIECES = [
    "{", "[", '{"notes": [', '{"action": "create", ',
    '{"a":', '{"a":[', '[{"a":', '"', "\\", '\\"', "}", "]", ",", " ",
    '{"notes": []}', "x", "</think>", "<think>", ",]", '{"action": 1}', "1", '{"a":"', "\n", "```json\n",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_ten_megabytes_of_junk_take_bounded_time(piece: str) -> None:
    text = piece * (10_000_000 // len(piece))
    begin = time.process_time()
    reply = read_reply(text)
    # Seconds; the slowest takes some tenths. What grows with the square of the length takes hours.
    assert time.process_time() - begin < 8
    assert len(reply.problems) <= 21


def test_an_answer_nested_too_deeply_is_no_answer() -> None:
    assert not read_reply('{"notes":' + "[" * 100_000).is_usable
    deep = '{"action":"create","type":"user","name":"a","body":"b","x":' + "[" * 500 + "]" * 500 + "}"
    assert len(read_reply(deep).proposals) <= 1


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*entry(), "notes"]), inner, max_size=6)
    ),
    max_leaves=20,
)


@given(
    st.one_of(
        st.text(max_size=400),
        st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
        JSON.map(json.dumps),
    )
)
def test_any_answer_is_read(text: str) -> None:
    reply = read_reply(text)
    assert isinstance(reply.is_usable, bool)
    for proposal in reply.proposals:
        assert not set(proposal.file) & set("/\\\0\n")
        assert len(proposal.body.encode()) <= MOST_BODY
        assert len(proposal.description.encode()) <= 200
        assert "\n" not in proposal.name + proposal.description


@given(JSON)
def test_an_entry_with_any_value_is_read(value: Any) -> None:
    for key in entry():
        reply = read_reply(answer(entry(**{key: value}), entry("B")))
        assert "B" in [proposal.name for proposal in reply.proposals]


@given(st.integers(0, 2_000))
def test_wherever_an_answer_is_cut_the_whole_entries_count(cut: int) -> None:
    text = answer(entry("A"), entry("B", body='"} ] {"'), entry("C"))
    found = names(text[:cut])
    assert found == ["A", "B", "C"][: len(found)]
    whole = sum(cut > text.index(f'"{name}"') + 320 for name in "ABC")
    assert len(found) >= min(whole, 3)


@given(st.text(alphabet="ab 中é\n", max_size=400), st.integers(4, 300))
def test_a_text_is_cut_by_bytes_on_a_line_or_a_character(text: str, limit: int) -> None:
    cut = cut_lines(text, limit)
    assert len(cut.encode()) <= limit
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))


@given(st.text(max_size=400), st.integers(0, 300))
def test_both_ends_of_a_text_are_kept(text: str, limit: int) -> None:
    cut = cut_middle(text, limit)
    assert len(cut) <= max(limit, 40)
    assert cut == text or (text.startswith(cut.split(" [...] ")[0]) and text.endswith(cut[-5:]))


def test_entries_of_another_kind_are_found_by_their_keys() -> None:
    found = find_objects('{"changes": [{"do": "merge", "notes": ["n1"]}]}', ("do", "notes"))
    assert found.items == ({"do": "merge", "notes": ["n1"]},)
    assert not found.is_empty_list
