"""Markers of pastes and pictures are one thing, whatever moves or deletes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from mewcode.repl.pasted import markers_in
from mewcode.repl.whole_markers import WholeMarkers, mended, outside

PASTE, IMAGE = "[paste 1: 1,200 lines]", "[image 2: PNG, 3 KB]"
TEXTS = st.lists(st.sampled_from([PASTE, IMAGE, "a", " ", "[", "]", "\n", "值", "[paste"]), max_size=8).map(
    "".join
)


@pytest.mark.parametrize(
    ("before", "start", "end", "left", "cursor"),
    [
        (f"a {PASTE} b", 18, 24, "a  b", 2),
        (f"a {PASTE}", 18, 24, "a ", 2),
        (f"{PASTE}{IMAGE}", 10, 30, "", 0),
        (f"x{PASTE}y", 22, 24, "x", 1),
    ],
)
def test_a_deletion_takes_all_of_a_marker(before: str, start: int, end: int, left: str, cursor: int) -> None:
    assert mended(before, before[:start] + before[end:], start) == Document(left, cursor)


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        (f"a {PASTE} b", f"a {PASTE} ", 25),
        (f"a {PASTE} b", "a  b", 2),
        (f"a {PASTE}", f"a {PASTE}c", 25),
        (f"a {PASTE}", "an earlier input", 16),
        (f"[{PASTE}", PASTE, 0),
        (PASTE, "", 0),
    ],
)
def test_what_cuts_no_marker_stays(before: str, after: str, place: int) -> None:
    assert mended(before, after, place) is None


@settings(max_examples=200)
@given(TEXTS, st.data())
def test_no_deletion_leaves_part_of_a_marker(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    buffer = Buffer(multiline=True, document=Document(text, len(text)))
    WholeMarkers(buffer)
    buffer.document = Document(text[:start] + text[end:], start)
    rest = buffer.text
    assert len(rest) <= len(text) - (end - start)
    kept = [text[left:right] for left, right in markers_in(text) if right <= start or left >= end]
    for marker in (PASTE, IMAGE):
        assert rest.count(marker) >= kept.count(marker)


@settings(max_examples=200)
@given(TEXTS, st.data())
def test_a_cursor_is_never_within_a_marker(text: str, data: st.DataObject) -> None:
    came, place = (data.draw(st.integers(0, len(text))) for _ in range(2))
    there = outside(text, came, place)
    assert not any(left < there < right for left, right in markers_in(text))
    assert there == place or (there < place) == (place < came)


def test_what_is_typed_at_a_marker_stands_beside_it() -> None:
    buffer = Buffer(multiline=True, document=Document(f"a {PASTE} b", 3))
    WholeMarkers(buffer)
    buffer.cursor_position = 7
    buffer.insert_text("X")
    assert buffer.text == f"a {PASTE}X b"
    buffer.cursor_position = 12
    buffer.insert_text("Y")
    assert buffer.text == f"a Y{PASTE}X b"
