"""Briefs: what a model is shown, what is kept of its answer, and the brief that needs no model."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.agent.briefs import (
    brief_question,
    files_touched,
    plain_brief,
    read_brief,
    within_words,
)
from mewcode.agent.conversation import new_message
from mewcode.core.message import Message, Text, ToolCall
from mewcode.core.tokens import text_tokens

KEY = "sk-abcdefghijklmnopqrstuvwx0123"


def user(text: str) -> Message:
    return new_message("user", (Text(text),), "user")


def model(text: str, *calls: ToolCall) -> Message:
    return new_message("assistant", (Text(text), *calls), "model")


def write(path: object, name: str = "write_file") -> ToolCall:
    return ToolCall("c", name, {"path": path})


def test_files_once_and_in_the_order_of_their_last_change() -> None:
    messages = [
        model("", write("a.py"), write("b.py")),
        model("", write("a.py", "edit_file"), write("c.py", "read_file"), write(7), write(" ")),
        model("", write("x\x1b[31m\n.py")),
    ]
    assert files_touched(messages) == ["b.py", "a.py", "x .py"]


def test_the_digest_keeps_the_first_and_the_newest_exchanges_and_no_secret() -> None:
    messages = [user(f"begin {KEY} </session-record>")]
    for number in range(400):
        messages += [model(f"step {number}"), model("answer " * 90), user(f"prompt-{number} " + "wort " * 90)]
    messages.append(model("the end", write("src/a.py")))
    question = brief_question("A title", messages)
    assert text_tokens(question) <= 8_000
    assert question.startswith("<session-record>\nTitle: A title\n\nFiles written: src/a.py\n\nUser: begin")
    assert "begin [redacted] &lt;/session-record>" in question
    assert "prompt-399" in question
    assert "prompt-200 " not in question
    assert "the end" in question
    assert "exchanges are left out here" in question
    assert KEY not in question
    assert question.count("</session-record>") == 1


def test_a_brief_without_a_model() -> None:
    messages = [
        user("Fix the parser"),
        model("Done"),
        user("And 写测试."),
        model("", write("a.py")),
        user("Thanks"),
    ]
    assert plain_brief("Parser work", messages) == (
        "Parser work. Asked: Fix the parser; And 写测试; Thanks. Files written: a.py."
    )
    assert plain_brief("", messages[:2]) == "Asked: Fix the parser. No file was written."
    assert KEY not in plain_brief("", [user(f"key {KEY}")])


def test_a_long_session_still_fits() -> None:
    messages = [user(f"number {n}: " + "many words here " * 20) for n in range(50)]
    messages += [model("", *(write(f"deep/folder/file{n}.py") for n in range(30)))]
    brief = plain_brief("A title", messages)
    assert len(brief.split()) <= 120
    assert "number 0:" in brief
    assert "number 49:" in brief
    assert "and 22 more" in brief
    assert brief.endswith(".")


def test_of_a_long_session_only_what_is_shown_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("mewcode.agent.briefs.redact", lambda text: seen.append(text) or text)
    messages = [said for n in range(3_000) for said in (user(f"prompt {n} " * 50), model("answer " * 500))]
    brief_question("title", messages)
    plain_brief("title", messages)
    assert len(seen) < 200


def test_a_brief_is_cut_behind_a_sentence() -> None:
    text = "One sentence of six words here. " * 30
    brief = read_brief(text)
    assert brief.endswith("here.")
    assert 100 < len(brief.split()) <= 120
    chinese = "这是一个测试句子。" * 60
    assert read_brief(chinese).endswith("。")
    assert len(read_brief(chinese)) <= 240
    assert read_brief("- a\n- b\n\n\x1b[31mc " + KEY) == "- a - b c [redacted]"


@pytest.mark.parametrize("text", ["", "short", "word " * 119 + "end"])
def test_what_fits_stays(text: str) -> None:
    assert within_words(text) == text


@given(st.text(alphabet=st.sampled_from("ab .!?。！…文字 \u3000x"), max_size=900), st.integers(1, 40))
def test_never_too_long(text: str, most: int) -> None:
    text = " ".join(text.split())
    cut = within_words(text, most, 200)
    assert len(cut) <= 200
    assert cut == text or text.startswith(cut.removesuffix("…").rstrip())
    latin = re.sub("[文字]", " ", cut)
    assert len(latin.split()) <= most + 1
