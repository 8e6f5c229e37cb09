"""When a conversation is made smaller, in windows of every size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.context.thresholds import Thresholds

WINDOWS = st.builds(Thresholds, st.integers(4_000, 2_000_000), st.integers(512, 200_000))


def test_a_window_of_200k() -> None:
    limits = Thresholds(200_000, 64_000)
    assert limits.compact_at == 200_000 - 20_000 - 13_000
    assert (limits.prune_at(), limits.prune_at(warm=True), limits.prepare_at) == (120_000, 150_000, 140_000)
    assert limits.room(20_000) == limits.room(0)
    assert (limits.room(0).tail, limits.room(0).words, limits.room(0).summary) == (20_000, 20_000, 8_000)


@pytest.mark.parametrize(
    ("window", "most", "compact_at"),
    [
        (8_192, 2_048, 6_009),
        (32_768, 8_192, 17_491),
        (131_072, 8_192, 109_880),
        (1_000_000, 128_000, 967_000),
    ],
)
def test_other_windows(window: int, most: int, compact_at: int) -> None:
    assert Thresholds(window, most).compact_at == compact_at


@given(WINDOWS)
def test_the_steps_come_in_their_order(limits: Thresholds) -> None:
    assert 0 < limits.prune_at() < limits.prepare_at < limits.compact_at < limits.window
    assert limits.prune_at() < limits.prune_at(warm=True) < limits.compact_at
    assert limits.compact_at * 4 >= limits.window  # a quarter of any window can be used
    assert limits.compact_at + limits.output_reserve + limits.margin == limits.window
    assert limits.compact_at // 2 <= limits.resume_budget <= limits.compact_at
    assert limits.prune_wanted(limits.prune_at()) >= limits.window // 10


@given(WINDOWS, st.integers(0, 100_000))
def test_what_is_kept_leaves_room(limits: Thresholds, fixed: int) -> None:
    room = limits.room(fixed)
    left = limits.compact_at - fixed
    assert room.tail + room.words + room.summary <= max(0, left * 2 // 3)


@given(st.integers(4_000, 39_000), st.integers(512, 64_000))
def test_a_larger_window_never_holds_less(window: int, most: int) -> None:
    assert Thresholds(window + 1_000, most).compact_at >= Thresholds(window, most).compact_at


@given(WINDOWS, st.integers(0, 2_000_000))
def test_an_answer_never_exceeds_the_window(limits: Thresholds, used: int) -> None:
    room = limits.output_room(used)
    assert 1 <= room <= limits.max_output
    if used < limits.compact_at:
        assert used + room <= limits.window
        assert room >= min(limits.output_reserve, limits.max_output)


def test_a_fixed_part_that_fills_the_window_is_said_with_figures() -> None:
    limits = Thresholds(8_000, 2_000)
    assert limits.fixed_problem("small", 3_000) == ""
    said = limits.fixed_problem("small", 9_400, (("tools", 6_000), ("instructions", 2_000)))
    for figure in ("9,400", "8,000", "tools 6,000", "instructions 2,000", "small", f"{limits.compact_at:,}"):
        assert figure in said
