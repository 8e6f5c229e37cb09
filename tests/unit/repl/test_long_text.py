"""Texts too long to be shown whole, in what is shown of a resumed session and of its transcript."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.message import Message, Text
from mewcode.repl.long_text import end_of
from mewcode.repl.replay import replay, replay_plain
from mewcode.repl.theme import THEMES
from mewcode.repl.transcript import newest_first

PLAIN = THEMES["no-color"]


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="a好\n`", max_size=120), st.integers(1, 60))
def test_the_end_stays_and_what_is_left_out_is_counted(text: str, most: int) -> None:
    shown = end_of(text, most)
    if len(text) <= most:
        assert shown == text
        return
    said, _, kept = shown.partition("\n\n")
    kept = kept.removeprefix("```\n") if not text.endswith(kept) else kept
    assert text.endswith(kept)
    assert 0 < len(kept) <= most
    assert said.startswith(f"… {len(text) - len(kept):,} characters before this")


def test_it_begins_with_a_line_and_code_stays_code() -> None:
    assert end_of("one\ntwo\nthree\n", 8).endswith("\n\nthree\n")
    assert end_of("```python\nx = 1\ny = 2\n```\n", 10).endswith("\n\n```\ny = 2\n```\n")
    assert end_of("```\nx\n```\nwords and more\nwords\n", 12).endswith(
        "shown; the session's file has them\n\nwords\n"
    )


def test_messages_of_many_megabytes_are_shown_at_their_end() -> None:
    asked, answer = "ask " * 2_000_000 + "QUESTION", "word " * 2_000_000 + "ANSWER"
    messages = (
        Message("1", "user", (Text(asked),)),
        Message("2", "assistant", (Text(answer),), "model"),
    )
    transcript = "\n".join(line for part in newest_first(messages, PLAIN, 80) for line in part)
    drawn, plain = replay(messages, PLAIN, 80), replay_plain(messages)
    for text, cut, most in ((drawn, 1, 300_000), (plain, 2, 300_000), (transcript, 2, 3_000_000)):
        assert text.count("characters before this are not shown") == cut
        assert "ANSWER" in text
        assert len(text) < most
    assert "QUESTION" in plain
    assert "QUESTION" in transcript
