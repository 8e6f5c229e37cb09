"""The picker's rows."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl.cell_width import cell_width
from mewcode.repl.picker_list import ShownHit
from mewcode.repl.picker_rows import (
    Marks,
    columns_for,
    details,
    header_row,
    hit_row,
    session_row,
    short_age,
    short_size,
    value,
)
from mewcode.repl.theme import THEMES, ThemeName
from tests.support.session_source import entry

BARE = THEMES["no-color"]
SGR = re.compile(r"\x1b\[[0-9;]*m")


def plain(line: str) -> str:
    return SGR.sub("", line)


def names(width: int, *, wide: bool = False, branches: bool = True) -> str:
    return " ".join(name for name, _ in columns_for(width, wide=wide, branches=branches).names)


def test_columns_by_width() -> None:
    assert names(20) == ""
    assert names(30) == "age"
    assert names(60) == "age messages"
    assert names(80) == "age messages size"
    assert names(100) == "age messages size branch"
    assert names(100, branches=False) == "age messages size folder"
    assert names(80, wide=True) == "age folder"
    assert names(100, wide=True) == "age folder messages size"
    assert names(200) == "age messages size branch folder model"
    assert names(200, wide=True) == "age folder messages size branch model"


def test_a_row_says_what_is_known() -> None:
    session = entry(
        "20260102-030405-abcd", "Fix it", updated=1000.0, messages=1234, size=2_500_000, cwd="/home/ann/api",
        model="m-1", branch="main", pinned=True, damaged=2,
    )  # fmt: skip
    columns = columns_for(200, wide=False, branches=True)
    row = session_row(session, columns, Marks(open=True), BARE, 1000.0 + 7200, selected=False)
    assert row.split() == ["*●!", "Fix", "it", "2", "h", "1,234", "2.5", "MB", "main", "ann/api", "m-1"]
    assert header_row(columns, BARE).split() == ["title", "age", "msgs", "size", "branch", "folder", "model"]
    unknown = entry("20260102-030405-abcd", "", messages=0, size=0)
    row = session_row(
        unknown, columns_for(79, wide=False, branches=False), Marks(), BARE, 1000.0, selected=False
    )
    assert row.split() == ["20260102-030405-abcd", "now"]


def test_the_selected_row_differs_without_colours() -> None:
    columns = columns_for(79, wide=False, branches=False)
    row = session_row(entry("a", "Fix it"), columns, Marks(current=True), BARE, 1000.0, selected=True)
    assert row.startswith("\x1b[7m❯  ▸  Fix it")
    assert row.endswith("\x1b[0m")


def test_a_fork_bears_a_sign_and_its_parent() -> None:
    fork = entry("b", "again", parent_session="a", tags=["urgent"], branch="main")
    columns = columns_for(79, wide=False, branches=False)
    assert "↳ again" in session_row(fork, columns, Marks(), BARE, 0.0, selected=False)
    words = details(fork, is_current=False, holder="process 7", parent="Fix it", more_hits=3)
    assert words == (
        "3 more hits · ● open in another window (process 7) · ↳ fork of Fix it · #urgent · main · /work · b"
    )


@pytest.mark.parametrize(("messages", "shown"), [(0, "fork"), (4, "+4"), (1234, "+1,234")])
def test_a_forks_own_messages_are_not_taken_for_all_of_them(messages: int, shown: str) -> None:
    fork = entry("b", "again", parent_session="a", messages=messages)
    assert value(fork, "messages", 0.0) == shown
    assert value(entry("b", "again", messages=4), "messages", 0.0) == "4"


_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)


@settings(max_examples=150, deadline=None)
@given(
    _TEXT, _TEXT, _TEXT, st.integers(10, 220), st.booleans(), st.booleans(),
    st.sampled_from(sorted(THEMES)), st.integers(0, 10**13), st.floats(-1e9, 1e12),
)  # fmt: skip
def test_whatever_a_session_says_a_row_is_as_wide_as_the_list(
    title: str,
    branch: str,
    cwd: str,
    width: int,
    wide: bool,
    selected: bool,
    theme: ThemeName,
    size: int,
    age: float,
) -> None:
    session = entry("id", title, branch=branch, cwd=cwd, model=title, size=size, messages=size, tags=[title])
    columns = columns_for(width, wide=wide, branches=True)
    row = session_row(session, columns, Marks(), THEMES[theme], 1000.0 + age, selected=selected)
    assert cell_width(plain(row)) == width
    assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]", plain(row))
    said = details(session, is_current=False, holder="", parent=title, more_hits=0)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", said)


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(exclude_categories=("C",)), max_size=120), st.data(), st.integers(14, 150))
def test_a_hit_fits_and_shows_its_match(snippet: str, data: st.DataObject, width: int) -> None:
    start = data.draw(st.integers(0, len(snippet)))
    end = data.draw(st.integers(start, len(snippet)))
    spans = ((start, end),) if end > start else ()
    row = hit_row(ShownHit(3, snippet, spans), width, BARE)
    assert cell_width(plain(row)) <= width + 1
    if spans and cell_width(snippet) <= width - 11:
        assert f"\x1b[1;4m{snippet[start:end]}\x1b[0m" in row


def test_a_match_far_in_a_snippet_is_seen() -> None:
    snippet = "before " * 30 + "needle" + " after" * 30
    start = snippet.index("needle")
    row = hit_row(ShownHit(3, snippet, ((start, start + 6),)), 60, BARE)
    assert "\x1b[1;4mneedle\x1b[0m" in row
    assert plain(row).startswith("         3 …")
    assert plain(row).endswith("…")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "now"), (59, "now"), (60, "1 min"), (3599, "59 min"), (3600, "1 h"), (47 * 3600, "47 h"),
     (49 * 3600, "2 d"), (59 * 86400, "59 d"), (60 * 86400, "2 mon"), (800 * 86400, "2 y")],
)  # fmt: skip
def test_ages(seconds: float, words: str) -> None:
    assert short_age(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (999_949, "999.9 KB"), (999_950, "1.0 MB"),
     (2_345_678_901, "2.3 GB"), (10**15, "1000.0 TB")],
)  # fmt: skip
def test_sizes(count: int, words: str) -> None:
    assert short_size(count) == words
