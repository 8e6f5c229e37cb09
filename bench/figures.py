"""What a row promises, and the statistics of its samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Unit = Literal["s", "ms", "MB", "bytes", "x"]
"""``s`` and ``ms`` are both measured in seconds and only shown differently. ``MB`` is 1,000,000 bytes."""

Samples = Mapping[str, Sequence[float]]
"""What one run of a row measured: for each figure's ``samples`` the values, in seconds, bytes or a factor."""


@dataclass(frozen=True, slots=True)
class Target:
    """At most ``amount``; with ``of_bare`` that many times a bare Python's run, else in the figure's unit."""

    amount: float
    of_bare: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: the statistic of the samples of that name. ``target`` None: only shown."""

    title: str
    samples: str
    unit: Unit
    target: Target | None = None
    statistic: Literal["median", "p95"] = "median"


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure with its result. ``value`` and the quartiles are in seconds, bytes or a factor; ``ratio`` is
    to ``bare`` (seconds) and None for what is no time; ``met`` is None without a target."""

    figure: Figure
    value: float
    low: float
    high: float
    count: int
    bare: float
    ratio: float | None
    met: bool | None


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which ``part`` (0 to 1) of the values lie, interpolated. Raises ValueError on none."""
    if not values:
        raise ValueError("there are no values")
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def median(values: Sequence[float]) -> float:
    """The middle value. Raises ValueError on none."""
    return percentile(values, 0.5)


def measured(figure: Figure, values: Sequence[float], bare: Sequence[float]) -> Measured:
    """The figure's result over all runs. Raises ValueError where nothing was measured."""
    value = percentile(values, 0.95 if figure.statistic == "p95" else 0.5)
    bare_median = median(bare)
    ratio = value / bare_median if figure.unit in ("s", "ms") else None
    return Measured(
        figure=figure,
        value=value,
        low=percentile(values, 0.25),
        high=percentile(values, 0.75),
        count=len(values),
        bare=bare_median,
        ratio=ratio,
        met=_is_met(figure, value, ratio),
    )


def _is_met(figure: Figure, value: float, ratio: float | None) -> bool | None:
    target = figure.target
    if target is None:
        return None
    if target.of_bare:
        return ratio is not None and ratio <= target.amount
    return shown_amount(value, figure.unit) <= target.amount


def shown_amount(value: float, unit: Unit) -> float:
    """The value in the unit in which it is shown and in which targets are given."""
    scale: dict[Unit, float] = {"s": 1.0, "ms": 1e3, "MB": 1e-6, "bytes": 1.0, "x": 1.0}
    return value * scale[unit]
