"""The bench's command line; see `scripts/bench`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.errors import BenchError
from bench.report import as_json, table
from bench.rows import ON_REQUEST, ROWS
from bench.rows.base import Row
from bench.session import run_rows, warm_up
from bench.stage import Stage

_RUNS, _SECONDS = 9, 140.0
_QUICK_RUNS, _QUICK_SECONDS = 3, 28.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; the exit code is 1 where something broke, 2 for wrong usage, else 0."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures MewCode against a model on the loopback address, as ratios to a bare Python.",
        epilog=f"rows: {_names(ROWS)}; only where named: {_names(ON_REQUEST)}",
    )
    parser.add_argument("--rows", metavar="NAME,...", help="only these; `start*` takes all that begin so")
    parser.add_argument("--runs", type=int, metavar="N", help=f"runs of each row (default {_RUNS})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to FILE as well")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{_QUICK_RUNS} runs, and none begun after {_QUICK_SECONDS:.0f} s",
    )
    options = parser.parse_args(arguments)
    try:
        rows = chosen(options.rows)
    except ValueError as error:
        parser.error(str(error))
    if options.runs is not None and options.runs < 1:
        parser.error("--runs must be at least 1")
    runs = options.runs or (_QUICK_RUNS if options.quick else _RUNS)
    seconds = _QUICK_SECONDS if options.quick else _SECONDS
    with Stage() as stage:
        try:
            warm_up(stage)
        except BenchError as error:
            sys.stderr.write(f"bench: the program does not run: {error}\n")
            return 1
        records = run_rows(rows, stage, runs, seconds, _tell)
    _tell("")
    sys.stdout.write(table(records) + "\n")
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(records), indent=1) + "\n", encoding="utf-8")
    return 1 if any(record.broken for record in records) else 0


def chosen(names: str | None) -> list[Row]:
    """The rows of that list of names, in the table's order. Raises ValueError on an unknown one."""
    if names is None:
        return list(ROWS)
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if not any(_fits(row, name) for row in (*ROWS, *ON_REQUEST)):
            raise ValueError(f"no row {name!r}; there are {_names((*ROWS, *ON_REQUEST))}")
    return [row for row in (*ROWS, *ON_REQUEST) if any(_fits(row, name) for name in wanted)]


def _names(rows: Sequence[Row]) -> str:
    return ", ".join(row.name for row in rows)


def _fits(row: Row, name: str) -> bool:
    return row.name.startswith(name[:-1]) if name.endswith("*") else row.name == name


def _tell(what: str) -> None:
    """What goes on, on one line of a terminal; elsewhere nobody watches."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{what}")
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
