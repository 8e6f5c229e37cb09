"""The bench's table, its JSON and its choice of rows; nothing is measured."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from bench.__main__ import chosen
from bench.errors import BenchError
from bench.figures import Figure, Samples, Target
from bench.report import amount, as_json, table
from bench.rows import ROWS
from bench.session import Record
from bench.stage import Stage


@dataclass(frozen=True)
class Known:
    """A row that never runs."""

    name: str = "known"
    figures: tuple[Figure, ...] = (
        Figure("start", "start", "ms", Target(20, of_bare=True)),
        Figure("memory 内存", "memory", "MB", Target(60)),
        Figure("start, slowest", "start", "ms", statistic="p95"),
    )
    runs: int = 3

    def sample(self, stage: Stage) -> Samples:
        raise BenchError("not run")


def _record() -> Record:
    return Record(Known(), {"start": [0.2, 0.25, 0.3], "memory": [61e6]}, [0.01, 0.01], runs=3)


def test_the_table_has_a_line_for_each_figure() -> None:
    lines = table([_record()]).splitlines()
    assert lines[0].startswith("bare Python 10.0 ms; Python ")
    assert lines[2].split() == ["what", "median", "low", "high", "ratio", "target", "met", "n"]
    assert " ".join(lines[3].split()) == "start 250 ms 225 ms 275 ms 25.0 x 20 x no 3"
    assert " ".join(lines[4].split()) == "memory 内存 61.0 MB 61.0 MB 61.0 MB 60 MB no 1"
    assert " ".join(lines[5].split()) == "start, slowest 295 ms 29.5 x 3"


def test_what_broke_stands_below_the_table_and_has_no_result() -> None:
    broken = Record(Known(), broken="exit code 1: no")
    assert table([_record(), broken]).splitlines()[-2:] == ["Broken:", "  known: exit code 1: no"]
    assert broken.results() == []
    assert Record(Known(), {"start": []}, [0.01]).results() == []
    assert table([broken]).startswith("nothing was measured")


def test_the_json_keeps_every_sample() -> None:
    value = json.loads(json.dumps(as_json([_record()])))
    assert value["bare_python"] == 0.01
    [row] = value["rows"]
    assert (row["row"], row["runs"], row["bare"]) == ("known", 3, [0.01, 0.01])
    assert row["figures"][0]["samples"] == [0.2, 0.25, 0.3]
    assert row["figures"][0]["target"] == "20 x"
    assert (row["figures"][1]["unit"], row["figures"][1]["ratio"]) == ("bytes", None)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.00213, "ms", "2.13 ms"),
        (0.0213, "ms", "21.3 ms"),
        (1.2, "ms", "1,200 ms"),
        (0.35, "s", "0.35 s"),
        (61_234_567, "MB", "61.2 MB"),
        (94.4, "bytes", "94 bytes"),
        (1.05, "x", "1.05 x"),
    ],
)
def test_amounts_have_three_digits_or_so(value: float, unit: str, shown: str) -> None:
    assert amount(value, unit) == shown  # type: ignore[arg-type]  # the cases are units


def test_rows_are_chosen_by_name_or_beginning() -> None:
    assert chosen(None) == list(ROWS)
    assert [row.name for row in chosen("memory, echo")] == ["echo", "memory"]
    assert {row.name for row in chosen("start*")} == {
        "start",
        "start-config",
        "start-instructions",
        "start-instructions-new",
        "start-openai",
        "start-notes",
        "start-recall",
    }
    with pytest.raises(ValueError, match="no row 'nothing'"):
        chosen("nothing")


def test_names_are_unique_and_figures_have_a_title_of_their_own() -> None:
    names = [row.name for row in ROWS]
    titles = [figure.title for row in ROWS for figure in row.figures]
    assert len(set(names)) == len(names)
    assert len(set(titles)) == len(titles)
