"""The tables of vectors, beside those of the rows. A vector is kept under the digest of its text, so that
what is read again, or stands in several places, is not worked out again. Statements alone, as in `tables`.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Connection
from typing import Any

from mewcode.core.codec import clean_text
from mewcode.memory.recall.values import COLLECTIONS, Collection, Damaged

NO_DIGEST = b""
"""Of a row that has no vector and is to have none."""
_MOST_TURNS = 20_000
"""Turns that have vectors: the newest."""
_MOST_OF_TEXT = 4_000
"""Characters of a text that are kept until it has a vector: more than the model reads."""
_BETWEEN = "\0"
_PARTS = ("description", "body", "aliases")
"""Of a note, what is made a vector by itself as well."""
_FIRST = {"notes": 0, "documents": 1, "exchanges": 2}
"""In which order texts are given their vectors."""


def statements() -> list[str]:
    """Those that make the tables."""
    return [
        "CREATE TABLE vectors (digest BLOB PRIMARY KEY, script TEXT NOT NULL, vector BLOB NOT NULL)",
        "CREATE TABLE texts (number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE,"
        " urgency INTEGER NOT NULL, text BLOB NOT NULL)",
        "CREATE INDEX texts_urgency ON texts (urgency, number)",
        *(f"CREATE INDEX {name}_digest ON {name} (ts, digest) WHERE digest != x''" for name in COLLECTIONS),
    ]


def oldest_turn(connection: Connection) -> float:
    """When the oldest turn took place that is to have a vector."""
    found = connection.execute(
        "SELECT ts FROM exchanges WHERE digest != x'' ORDER BY ts DESC LIMIT 1 OFFSET ?", (_MOST_TURNS - 1,)
    ).fetchone()
    return float(found[0]) if found else 0.0


def ask_for_vector(connection: Connection, collection: Collection, fields: Mapping[str, str]) -> bytes:
    """Puts a text among those that wait for a vector, where it has none; its digest."""
    texts = [_text(field for name, field in fields.items() if name != "aliases")]
    if collection == "notes":
        texts += (_text([fields[name]]) for name in _PARTS)
    parts = _BETWEEN.join(texts).encode()
    digest = hashlib.blake2b(parts, digest_size=16).digest()
    connection.execute(
        "INSERT OR IGNORE INTO texts (digest, urgency, text)"
        " SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE digest = ?)",
        (digest, _FIRST[collection], zlib.compress(parts, 1), digest),
    )
    return digest


def _text(fields: Iterable[str]) -> str:
    """As UTF-8 can hold it, and without what stands between the parts."""
    return clean_text("\n".join(filter(None, fields))).replace("\0", " ")[:_MOST_OF_TEXT]


def tidy(connection: Connection) -> int:
    """Takes their vectors from turns that are too old, and forgets what no row needs; how much that was."""
    before = connection.total_changes
    oldest = oldest_turn(connection)
    connection.execute("UPDATE exchanges SET digest = x'' WHERE digest != x'' AND ts < ?", (oldest,))
    needed = " UNION ALL ".join(
        f"SELECT digest FROM {name} WHERE digest != x''"  # noqa: S608 - one of three names
        for name in COLLECTIONS
    )
    for table in ("texts", "vectors"):
        connection.execute(f"DELETE FROM {table} WHERE digest NOT IN ({needed})")  # noqa: S608
    return connection.total_changes - before


def waiting(connection: Connection, most: int) -> list[tuple[bytes, list[str]]]:
    """The first texts that wait for a vector: the digest, the text and what of it is made one by itself."""
    found = connection.execute(
        "SELECT digest, text FROM texts ORDER BY urgency, number LIMIT ?", (most,)
    ).fetchall()
    return [(digest, _unpacked(parts)) for digest, parts in found]


def _unpacked(parts: bytes) -> list[str]:
    try:
        return zlib.decompress(parts).decode().split(_BETWEEN)
    except (zlib.error, UnicodeDecodeError) as error:
        raise Damaged(f"the index is damaged: {error}") from error


def keep(connection: Connection, vectors: Sequence[tuple[bytes, str, bytes]]) -> int:
    """Keeps vectors: digest, script of the text, the vector's bytes; how many these are."""
    for digest, script, vector in vectors:
        connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", (digest, script, vector))
        connection.execute("DELETE FROM texts WHERE digest = ?", (digest,))
    return len(vectors)


def version(connection: Connection) -> int:
    """A number that is another one once somebody else has changed anything."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def rows_with_vectors(connection: Connection, collection: Collection) -> list[Any]:
    """Row, id, source, place, script, vector of all that have one, in an order that does not depend on how
    they came."""
    return connection.execute(
        f"SELECT r.row, r.id, r.source, r.place, v.script, v.vector FROM {collection} r"  # noqa: S608
        " JOIN vectors v USING (digest) JOIN sources s ON s.num = r.source"
        " WHERE r.digest != x'' ORDER BY s.name, r.place"
    ).fetchall()
