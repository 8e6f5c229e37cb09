"""Search over every message that the catalogue knows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from sqlite3 import Connection

import msgspec

from mewcode.infra.terminal_text import safe_text
from mewcode.sessions.append_file import CONVERSATION
from mewcode.sessions.catalog import Catalog
from mewcode.sessions.catalog_fold import message_key, message_text, records_in
from mewcode.sessions.record import WireMessage
from mewcode.sessions.search_text import Term, read_query, snippet

_COMMON_SHARE = 50
"""A term in more than one row of so many says little: two percent."""
_RANKED = 20_000
"""Rows that are ordered by how well they match. Of more, the newest are taken."""

_FIND = """\
SELECT sessions.id, turn, role, ts, start, length, coalesce(key, 0)
FROM words JOIN messages ON messages.row = words.rowid JOIN sessions ON sessions.num = session
WHERE words MATCH ? """
_BY_MATCH = _FIND + "ORDER BY rank LIMIT ?"
_BY_AGE = _FIND + "ORDER BY words.rowid DESC LIMIT ?"

_Row = tuple[str, int, str, float, int, int, int]


class Hit(msgspec.Struct, frozen=True):
    """A message that holds what was looked for. ``turn``: as in the transcript; ``ts``: Unix time, 0 where
    unknown; ``snippet``: one line, safe to show."""

    session: str
    turn: int
    role: str
    ts: float
    snippet: str


def search(catalog: Catalog, query: str, limit: int = 20) -> list[Hit]:
    """The messages that hold all terms of the query (see `read_query`), the best first.

    Terms that stand in more than 2 % of all messages are left out where rarer ones are there. Where nothing
    holds the words, messages that hold words beginning so are taken.
    """
    for beginnings in (False, True):
        terms = read_query(query, beginnings=beginnings)
        if not terms:
            return []
        rows = _rows(catalog.connection, terms, limit)
        if rows:
            return [_hit(catalog, row, terms) for row in rows]
    return []


def _rows(connection: Connection, terms: Sequence[Term], limit: int) -> list[_Row]:
    total = connection.execute("SELECT max(row) FROM messages").fetchone()[0] or 0
    most = total // _COMMON_SHARE
    counts = {term: _count(connection, term.match, max(most, _RANKED) + 1) for term in terms}
    if min(counts.values()) == 0:
        return []
    rare = [term for term in terms if counts[term] <= most]
    kept = rare or list(terms)
    find = _BY_MATCH if min(counts[term] for term in kept) <= _RANKED else _BY_AGE
    return connection.execute(find, (" AND ".join(term.match for term in kept), limit)).fetchall()


def _count(connection: Connection, match: str, most: int) -> int:
    """Rows that hold a term, counted no further than ``most``."""
    found = connection.execute(
        "SELECT count(*) FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)", (match, most)
    )
    return int(found.fetchone()[0])


def _hit(catalog: Catalog, row: _Row, terms: list[Term]) -> Hit:
    session, turn, role, ts, start, length, key = row
    text = _text_at(catalog.folder(session) / CONVERSATION, start, length, key)
    return Hit(session, turn, role, ts, snippet(safe_text(text), terms))


def _text_at(path: Path, start: int, length: int, key: int) -> str:
    """The words of the message that stands there, "" where the file has changed since."""
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as stream:
            stream.seek(start)
            line = stream.read(length)
    except OSError:
        return ""
    found = [record for record in records_in(line, is_first=not start)[0] if isinstance(record, WireMessage)]
    exact = [record for record in found if message_key(record) == key]
    return message_text((exact or found)[0]) if found else ""
