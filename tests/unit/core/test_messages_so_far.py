"""The messages of a conversation as a request holds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.core.message import Message, MessagesSoFar, Text


def said(text: str) -> Message:
    return Message(text, "user", (Text(text),))


_PLACES = st.none() | st.integers(-6, 6)


@given(st.integers(0, 5), st.builds(slice, _PLACES, _PLACES, st.none() | st.sampled_from([-2, -1, 1, 2])))
def test_they_are_what_a_tuple_of_them_would_be(count: int, part: slice) -> None:
    growing = [said(str(number)) for number in range(count)]
    held, plain = MessagesSoFar(growing), tuple(growing)
    growing.append(said("later"))
    assert (len(held), tuple(held), held[part]) == (count, plain, plain[part])
    assert held == plain == held
    assert held != (*plain, said("later"))
    assert tuple(reversed(held)) == plain[::-1]
    assert [held[place] for place in range(-count, count)] == [*plain, *plain]
    for place in (count, -count - 1):
        with pytest.raises(IndexError):
            held[place]


def test_they_go_on_what_the_same_list_held_before() -> None:
    growing = [said("1")]
    first = MessagesSoFar(growing)
    growing.append(said("2"))
    second = MessagesSoFar(growing)
    assert second.goes_on(first)
    assert second.goes_on(second)
    assert not first.goes_on(second)
    assert not second.goes_on(MessagesSoFar(list(growing)))
    assert not second.goes_on(tuple(first))
