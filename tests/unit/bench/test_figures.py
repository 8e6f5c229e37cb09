"""The bench's statistics."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.figures import Figure, Target, measured, median, percentile

_VALUES = st.lists(st.floats(0, 1e6), min_size=1, max_size=50)


@given(_VALUES)
def test_the_median_is_the_known_one(values: list[float]) -> None:
    assert median(values) == pytest.approx(statistics.median(values))


@given(_VALUES, st.floats(0, 1), st.floats(0, 1))
def test_percentiles_rise_and_stay_within_the_values(values: list[float], one: float, two: float) -> None:
    low, high = sorted((one, two))
    assert min(values) <= percentile(values, low) <= percentile(values, high) * (1 + 1e-9)
    assert percentile(values, high) <= max(values)
    assert percentile(values, 0) == min(values)
    assert percentile(values, 1) == max(values)


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        median([])


def test_a_target_of_bare_python_is_compared_with_the_ratio() -> None:
    figure = Figure("start", "request", "ms", Target(20, of_bare=True))
    slow = measured(figure, [0.3, 0.2, 0.4], [0.01, 0.02, 0.01])
    assert (slow.value, slow.count, slow.met) == (0.3, 3, False)
    assert slow.ratio == pytest.approx(30)
    assert measured(figure, [0.3], [0.015]).met is True


@pytest.mark.parametrize(
    ("unit", "target", "value", "met"),
    [
        ("ms", 2, 0.002, True),
        ("ms", 2, 0.0021, False),
        ("s", 0.5, 0.5, True),
        ("MB", 60, 60_000_001, False),
        ("bytes", 250, 250, True),
        ("x", 1.5, 1.6, False),
    ],
)
def test_an_amount_is_compared_in_its_unit(unit: str, target: float, value: float, met: bool) -> None:
    result = measured(Figure("x", "x", unit, Target(target)), [value], [0.01])  # type: ignore[arg-type]  # cases
    assert result.met is met


def test_what_is_no_time_has_no_ratio_and_without_a_target_nothing_is_met() -> None:
    result = measured(Figure("memory", "m", "MB"), [1.0], [0.01])
    assert (result.ratio, result.met) == (None, None)


def test_the_95th_percentile_stands_in_for_the_median() -> None:
    figure = Figure("echo", "echo", "ms", statistic="p95")
    assert measured(figure, [float(value) for value in range(101)], [1.0]).value == pytest.approx(95)
