"""JSON and CSV: a piece a row."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from mewcode.memory.knowledge.pieces import MOST_TEXT, MOST_TITLE, Piece, cut

_MOST_ROWS = 20_000
"""Of one file."""
_MOST_DEPTH = 6
_MOST_ITEM = 2_000_000
"""Characters of what one item says: each of its lines repeats the names above it."""


def csv_pieces(text: str, *, delimiter: str = ",") -> Iterator[Piece]:
    """A piece a row, each value with the name of its column. A row that cannot be read ends the file."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    names: list[str] = []
    line, count = 1, 0
    try:
        for row in reader:
            start, line = line, reader.line_num + 1
            if not names:
                names = [name.strip()[:MOST_TITLE] for name in row]
                continue
            said = [
                f"{names[index] if index < len(names) else index + 1}: {value.strip()}"
                for index, value in enumerate(row)
                if value.strip()
            ]
            count += 1
            if count > _MOST_ROWS:
                return
            for piece in cut("", 1, "\n".join(said)):
                yield Piece(f"row {count}", start, piece.text)
    except csv.Error:  # a value longer than the reader takes, or a NUL: what came before stays
        return


def json_pieces(text: str) -> Iterator[Piece]:
    """A piece for each item of a list or member of an object; of a JSON-lines file, for each line. What is no
    JSON is taken as text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        yield from _json_lines(text)
        return
    for name, item in _items(value):
        yield from _said(name, 1, item)


def _json_lines(text: str) -> Iterator[Piece]:
    for number, line in enumerate(text.split("\n")[:_MOST_ROWS], 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            yield from cut("", number, line)
        else:
            yield from _said(f"row {number}", number, item)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for index, item in enumerate(value[:_MOST_ROWS], 1):
            yield f"row {index}", item
    elif isinstance(value, dict):
        for name, item in list(value.items())[:_MOST_ROWS]:
            # An object that holds a table is its rows.
            if isinstance(item, list) and item and isinstance(item[0], dict):
                for index, row in enumerate(item[:_MOST_ROWS], 1):
                    yield f"{name[:MOST_TITLE]} > row {index}", row
            else:
                yield str(name)[:MOST_TITLE], item
    else:
        yield "", value


def _said(heading: str, line: int, value: Any) -> Iterator[Piece]:
    said, left = list[str](), _MOST_ITEM
    for each in _lines(value, "", 0):
        said.append(each)
        left -= len(each)
        if left < 0:
            break
    for piece in cut(heading, 1, "\n".join(said)):
        yield Piece(heading, line, piece.text[:MOST_TEXT])


def _lines(value: Any, name: str, depth: int) -> Iterator[str]:
    prefix = f"{name}: " if name else ""
    if isinstance(value, dict) and value and depth < _MOST_DEPTH:
        for key, item in value.items():
            yield from _lines(item, (f"{name}.{key}" if name else str(key))[:MOST_TITLE], depth + 1)
    elif isinstance(value, list) and value and depth < _MOST_DEPTH:
        if all(not isinstance(item, dict | list) for item in value):
            yield prefix + ", ".join(_plain(item) for item in value)
        else:
            for item in value:
                yield from _lines(item, name, depth + 1)
    elif value not in (None, "", [], {}):
        yield prefix + _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "…"
