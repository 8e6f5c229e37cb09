"""The tables of a recall index, and how rows come and go. Statements alone: no transaction, no lock.

A source (a note, a session, a document) has rows in the order in which it was read. The text itself is not
kept: what a row's words were is, packed, since FTS5 must be told them to forget a row. FTS5 keeps the places
of words (``detail=full``): without them it can rank only by reading each row that holds a word.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from sqlite3 import Connection
from typing import Any

import msgspec

from mewcode.memory.recall import semantic_tables
from mewcode.memory.recall.values import COLLECTIONS, Collection, Damaged
from mewcode.memory.recall.words import TOKENIZER, prepared

VERSION = 3
FIELDS: dict[Collection, dict[str, float]] = {
    "notes": {"name": 3.0, "aliases": 3.0, "description": 2.0, "body": 1.0},
    "exchanges": {"own": 1.0, "before": 0.5},
    "documents": {"title": 2.0, "heading": 2.0, "body": 1.0},
}
"""How much a word counts where it stands there. Those of notes were chosen on one half of
``evals/recall-notes.json``."""
_BEFORE = 200
"""Words of a turn that the next one is found by as well."""


class Row(msgspec.Struct, frozen=True):
    """``fields``: the texts of the collection's `FIELDS`, but for ``before``, which the row before says.
    ``shown``: what is given back with a hit."""

    id: str
    fields: tuple[str, ...]
    number: int = 0
    start: int = 0
    when: float = 0.0
    shown: bytes = b""


def schema() -> str:
    """The statements that make the tables, for `open_cache`."""
    statements = [
        "CREATE TABLE sources (num INTEGER PRIMARY KEY, collection TEXT NOT NULL, name TEXT NOT NULL,"
        " sign TEXT NOT NULL, state BLOB NOT NULL, has_meaning INTEGER NOT NULL, UNIQUE (collection, name))",
        "CREATE TABLE totals (collection TEXT PRIMARY KEY, rows INTEGER NOT NULL, length INTEGER NOT NULL)",
    ]
    for collection in COLLECTIONS:
        fields = FIELDS[collection]
        weights = ", ".join(map(str, fields.values()))
        statements += [
            f"CREATE TABLE {collection} (row INTEGER PRIMARY KEY, source INTEGER NOT NULL,"
            " place INTEGER NOT NULL, id TEXT NOT NULL, number INTEGER NOT NULL, start INTEGER NOT NULL,"
            " ts REAL NOT NULL, words BLOB NOT NULL, shown BLOB NOT NULL, digest BLOB NOT NULL)",
            f"CREATE UNIQUE INDEX {collection}_place ON {collection} (source, place)",
            f"CREATE VIRTUAL TABLE {collection}_words USING fts5"
            f"({', '.join(fields)}, content='', tokenize=\"{TOKENIZER}\")",
            f"INSERT INTO {collection}_words ({collection}_words, rank) VALUES ('rank', 'bm25({weights})')",  # noqa: S608
            f"CREATE VIRTUAL TABLE {collection}_terms USING fts5vocab ({collection}_words, 'row')",
            f"INSERT INTO totals VALUES ('{collection}', 0, 0)",  # noqa: S608
        ]
    return ";\n".join([*statements, *semantic_tables.statements()])


def totals(connection: Connection, collection: Collection) -> tuple[int, int]:
    """How many rows there are, and how many words of their own they have together."""
    rows, length = connection.execute(
        "SELECT rows, length FROM totals WHERE collection = ?", (collection,)
    ).fetchone()
    return rows, length


def signs(connection: Connection, collection: Collection, *, with_meaning: bool = False) -> dict[str, str]:
    """The sign of each source as it was last taken in; "" where meaning is wanted and was not."""
    found = connection.execute(
        "SELECT name, CASE WHEN has_meaning >= ? THEN sign ELSE '' END FROM sources WHERE collection = ?",
        (with_meaning, collection),
    )
    return dict(found.fetchall())


def state(connection: Connection, collection: Collection, name: str, *, with_meaning: bool = False) -> bytes:
    """Where the last reading of a source ended; empty where it is new, or is read anew, as in `signs`."""
    found = connection.execute(
        "SELECT state FROM sources WHERE collection = ? AND name = ? AND has_meaning >= ?",
        (collection, name, with_meaning),
    ).fetchone()
    return bytes(found[0]) if found else b""


def put(
    connection: Connection,
    collection: Collection,
    name: str,
    sign: str,
    rows: Iterable[Row],
    *,
    kept: int = 0,
    state: bytes = b"",
    with_meaning: bool = False,
) -> None:
    """Gives a source these rows, after the first ``kept`` of those it has. ``with_meaning``: they are to get
    vectors."""
    connection.execute(
        "INSERT INTO sources (collection, name, sign, state, has_meaning) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET"
        " sign = excluded.sign, state = excluded.state, has_meaning = excluded.has_meaning",
        (collection, name, sign, state, with_meaning),
    )
    source = _source(connection, collection, name)
    _remove_rows(connection, collection, source, kept)
    last = _words_before(connection, source, kept) if collection == "exchanges" else ""
    oldest = semantic_tables.oldest_turn(connection) if collection == "exchanges" else 0.0
    added = length = 0
    for place, row in enumerate(rows, kept):
        fields = [prepared(text) for text in row.fields]
        columns = [*fields, last] if collection == "exchanges" else fields
        packed = _pack(fields)
        digest = semantic_tables.NO_DIGEST
        if with_meaning and row.when >= oldest:
            named = dict(zip(FIELDS[collection], row.fields, strict=False))
            digest = semantic_tables.ask_for_vector(connection, collection, named)
        number = connection.execute(
            f"INSERT INTO {collection} (source, place, id, number, start, ts, words, shown, digest)"  # noqa: S608
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (source, place, row.id, row.number, row.start, row.when, packed, row.shown, digest),
        ).lastrowid
        _tell_words(connection, collection, number, columns)
        last = _for_the_next(fields[0])
        added += 1
        length += length_of(fields)
    _add_up(connection, collection, added, length)


def remove(connection: Connection, collection: Collection, name: str) -> None:
    """Forgets a source that is known."""
    source = _source(connection, collection, name)
    _remove_rows(connection, collection, source, 0)
    connection.execute("DELETE FROM sources WHERE num = ?", (source,))


def unpacked(words: bytes) -> list[str]:
    """The prepared fields of a row. Raises Damaged."""
    try:
        return zlib.decompress(words).decode().split("\n")
    except (zlib.error, UnicodeDecodeError) as error:
        raise Damaged(f"the index is damaged: {error}") from error


def _source(connection: Connection, collection: Collection, name: str) -> int:
    found = connection.execute(
        "SELECT num FROM sources WHERE collection = ? AND name = ?", (collection, name)
    ).fetchone()
    return int(found[0])


def _remove_rows(connection: Connection, collection: Collection, source: int, kept: int) -> None:
    rows = connection.execute(
        f"SELECT row, words FROM {collection}"  # noqa: S608 - one of three names
        " WHERE source = ? AND place >= ? ORDER BY place",
        (source, kept),
    ).fetchall()
    if not rows:
        return
    last = _words_before(connection, source, kept) if collection == "exchanges" else ""
    length = 0
    for row, words in rows:
        fields = unpacked(words)
        length += length_of(fields)
        columns = [*fields, last] if collection == "exchanges" else fields
        _tell_words(connection, collection, row, columns, forget=True)
        last = _for_the_next(fields[0])
    connection.execute(
        f"DELETE FROM {collection} WHERE source = ? AND place >= ?",  # noqa: S608
        (source, kept),
    )
    _add_up(connection, collection, -len(rows), -length)


def _tell_words(
    connection: Connection,
    collection: Collection,
    row: int | None,
    columns: Sequence[str],
    *,
    forget: bool = False,
) -> None:
    """Has FTS5 know the words of a row, or forget them."""
    table = f"{collection}_words"
    names = ["rowid", *FIELDS[collection]]
    values = [row, *columns]
    if forget:
        names, values = [table, *names], ["delete", *values]
    marks = ", ".join("?" * len(values))
    connection.execute(
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})",  # noqa: S608
        values,
    )


def length_of(fields: Sequence[str]) -> int:
    """How many words prepared fields have."""
    return sum(field.count(" ") + 1 for field in fields if field)


def weighed_rows(connection: Connection, collection: Collection, rows: Sequence[int]) -> list[Any]:
    """Source, id, number, start, when, words, shown of these rows, and of exchanges the words of the row
    before."""
    marks = ",".join("?" * len(rows))
    before, join = "NULL", ""
    if collection == "exchanges":
        before = "b.words"
        join = "LEFT JOIN exchanges b ON b.source = r.source AND b.place = r.place - 1"
    return connection.execute(
        f"SELECT name, r.id, r.number, r.start, r.ts, r.words, r.shown, {before}"  # noqa: S608
        f" FROM {collection} r JOIN sources ON num = r.source {join} WHERE r.row IN ({marks})",
        rows,
    ).fetchall()


def beginning(words: bytes) -> list[str]:
    """The words of a row that the one behind it is found by as well. Raises Damaged."""
    return unpacked(words)[0].split(" ", _BEFORE)[:_BEFORE]


def _for_the_next(words: str) -> str:
    return " ".join(words.split(" ", _BEFORE)[:_BEFORE])


def _words_before(connection: Connection, source: int, place: int) -> str:
    found = connection.execute(
        "SELECT words FROM exchanges WHERE source = ? AND place = ?", (source, place - 1)
    ).fetchone()
    return " ".join(beginning(found[0])) if found else ""


def _pack(fields: Sequence[str]) -> bytes:
    return zlib.compress("\n".join(fields).encode(), 1)


def _add_up(connection: Connection, collection: Collection, rows: int, length: int) -> None:
    connection.execute(
        "UPDATE totals SET rows = rows + ?, length = length + ? WHERE collection = ?",
        (rows, length, collection),
    )
