"""Server-sent events, whatever way the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.providers import sse
from mewcode.providers.base import ServerEvent
from mewcode.providers.sse import SseDecoder


def _decode(*chunks: bytes) -> list[ServerEvent]:
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*events, *decoder.finish()]


def test_events_have_names_and_data() -> None:
    assert _decode(b"event: start\ndata: {}\n\ndata: 1\n\n") == [
        ServerEvent("start", b"{}"),
        ServerEvent("", b"1"),
    ]


def test_data_lines_are_joined_and_one_space_is_not_data() -> None:
    assert _decode(b"data:a\ndata:  b\ndata: c\n\n") == [ServerEvent("", b"a\n b\nc")]


def test_comments_and_other_fields_are_passed_over() -> None:
    assert _decode(b": ping\n\nid: 7\nretry: 3\nnonsense\ndata: a\n:\n\n") == [ServerEvent("", b"a")]


def test_an_event_without_data_is_none() -> None:
    assert _decode(b"event: a\n\ndata:\n\ndata: b\n\n") == [ServerEvent("", b"b")]


def test_what_lacks_its_blank_line_counts_at_the_end() -> None:
    assert _decode(b"data: a\n\ndata: b") == [ServerEvent("", b"a"), ServerEvent("", b"b")]
    assert _decode(b"data: a\r") == [ServerEvent("", b"a")]


def test_a_name_in_no_encoding_does_no_harm() -> None:
    assert _decode(b"event: \xff\ndata: a\n\n")[0].data == b"a"


@pytest.mark.parametrize("flood", [b"data: " + b"x" * 100, b"data:x\n" * 60, b"data:\n" * 120])
def test_an_endless_event_is_not_believed(monkeypatch: pytest.MonkeyPatch, flood: bytes) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 99)
    decoder = SseDecoder()
    with pytest.raises(ValueError, match="endless"):
        list(decoder.feed(flood))


_LINE = st.text("ab: é你\u2028", max_size=8)


@settings(max_examples=150, deadline=None)
@given(
    events=st.lists(st.lists(_LINE, min_size=1, max_size=3), max_size=5),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 200), max_size=12),
)
def test_cuts_and_line_ends_make_no_difference(events: list[list[str]], end: str, cuts: list[int]) -> None:
    body = "".join("".join(f"data: {line}{end}" for line in lines) + end for lines in events).encode()
    places = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    chunks = [body[start:stop] for start, stop in pairwise(places)]
    expected = [ServerEvent("", data) for lines in events if (data := "\n".join(lines).encode())]
    assert _decode(*chunks) == expected == _decode(body)


@settings(max_examples=100)
@given(st.lists(st.binary(max_size=20), max_size=5))
def test_any_bytes_can_be_fed(chunks: list[bytes]) -> None:
    assert _decode(*chunks) == _decode(b"".join(chunks))
