"""The table, and the same as JSON."""

from __future__ import annotations

import os
import platform
import unicodedata
from collections.abc import Sequence

from bench.figures import Measured, Target, Unit, median, shown_amount
from bench.session import Record

_HEADINGS = ("what", "median", "low", "high", "ratio", "target", "met", "n")


def table(records: Sequence[Record]) -> str:
    """All results as lines of equal columns; a row that broke says why."""
    lines: list[tuple[str, ...]] = [_HEADINGS]
    broken = []
    for record in records:
        lines += [_line(result) for result in record.results()]
        if record.broken:
            broken.append(f"{record.row.name}: {record.broken}")
    widths = [max(_width(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    shown = ["  ".join(_fitted(cell, widths[at], at) for at, cell in enumerate(line)) for line in lines]
    return "\n".join(text.rstrip() for text in (_machine(records), "", *shown, *_broken(broken)))


def as_json(records: Sequence[Record]) -> dict[str, object]:
    """Every figure with its statistics and samples, in seconds, bytes or a factor."""
    bare = [value for record in records for value in record.bare]
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "bare_python": median(bare) if bare else None,
        "rows": [
            {
                "row": record.row.name,
                "runs": record.runs,
                "broken": record.broken,
                "bare": record.bare,
                "figures": [_figure(result, record) for result in record.results()],
            }
            for record in records
        ],
    }


def amount(value: float, unit: Unit) -> str:
    """The value with its unit, to three digits or so."""
    shown = shown_amount(value, unit)
    digits = 0 if shown >= 100 or unit == "bytes" else 1 if shown >= 10 else 2
    return f"{shown:,.{digits}f} {unit}"


def _machine(records: Sequence[Record]) -> str:
    bare = [value for record in records for value in record.bare]
    known = f"bare Python {amount(median(bare), 'ms')}" if bare else "nothing was measured"
    return (
        f"{known}; Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )


def _line(result: Measured) -> tuple[str, ...]:
    unit = result.figure.unit
    return (
        result.figure.title,
        amount(result.value, unit),
        *(
            ("", "")
            if result.figure.statistic == "p95"
            else (amount(result.low, unit), amount(result.high, unit))
        ),
        ""
        if result.ratio is None
        else f"{result.ratio:.1f} x"
        if result.ratio >= 1
        else f"{result.ratio:.2f} x",
        _target(result.figure.target, unit),
        {None: "", True: "yes", False: "no"}[result.met],
        str(result.count),
    )


def _target(target: Target | None, unit: Unit) -> str:
    if target is None:
        return ""
    return f"{target.amount:g} {'x' if target.of_bare else unit}"


def _figure(result: Measured, record: Record) -> dict[str, object]:
    target = result.figure.target
    return {
        "title": result.figure.title,
        "unit": {"s": "s", "ms": "s", "MB": "bytes", "bytes": "bytes", "x": "x"}[result.figure.unit],
        "statistic": result.figure.statistic,
        "value": result.value,
        "low": result.low,
        "high": result.high,
        "ratio": result.ratio,
        "target": _target(target, result.figure.unit),
        "met": result.met,
        "samples": record.samples[result.figure.samples],
    }


def _broken(reasons: list[str]) -> list[str]:
    return ["", "Broken:", *(f"  {reason}" for reason in reasons)] if reasons else []


def _fitted(cell: str, width: int, column: int) -> str:
    space = " " * (width - _width(cell))
    return cell + space if column == 0 else space + cell


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
