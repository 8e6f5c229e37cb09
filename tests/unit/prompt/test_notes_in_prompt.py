"""Notes in the prompt: there or not, and data only."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.prompt.notes import framed


def test_its_words() -> None:
    text = framed("## Notes of the user\n- [user_preference] [部署](x.md) — 周五\n")
    assert text.startswith("# Your notes")
    assert "wins over them" in text
    assert text.endswith("\n<notes>\n## Notes of the user\n- [user_preference] [部署](x.md) — 周五\n</notes>")


def test_nothing_where_there_is_none() -> None:
    assert framed("") == framed(" \n") == ""


@settings(max_examples=200)
@given(st.lists(st.sampled_from(["<", "/", " ", "notes", "NOTES", ">", "\n", "x", "行"]), max_size=14))
def test_it_cannot_close_its_tags(parts: list[str]) -> None:
    text = framed("".join(["x", *parts]))
    assert len(re.findall(r"<\s*/?\s*notes\b", text, re.IGNORECASE)) == 2
