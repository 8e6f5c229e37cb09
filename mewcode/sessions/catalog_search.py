"""Search over every message that the catalogue knows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from sqlite3 import Connection

from mewcode.infra.terminal_text import safe_text
from mewcode.sessions.append_file import CAREFUL, CONVERSATION
from mewcode.sessions.catalog import Catalog
from mewcode.sessions.catalog_entry import Hit
from mewcode.sessions.catalog_fold import message_key, message_text, records_in
from mewcode.sessions.record import WireMessage
from mewcode.sessions.search_text import Term, holds_phrases, read_query, snippet

_COMMON_SHARE = 50
"""A term in more than one row of so many says little: two percent."""
_RANKED = 5_000
"""Rows that are ordered by how well they match. Of more, those of the newest sessions are taken."""
_SESSIONS = 200
"""Sessions that are asked one by one."""
_SPARE = 5

__all__ = ["Hit", "search"]

_FIND = """\
SELECT sessions.id, turn, role, ts, start, length, coalesce(key, 0)
FROM words JOIN messages ON messages.row = words.rowid JOIN sessions ON sessions.num = session
WHERE words MATCH ? """
_BY_MATCH = _FIND + "ORDER BY rank LIMIT ?"
_ANY = _FIND + "ORDER BY words.rowid DESC LIMIT ?"
_IN_SESSION = _FIND + "AND words.rowid BETWEEN ? AND ? AND session = ? ORDER BY words.rowid DESC LIMIT ?"
_NEWEST_SESSIONS = """\
SELECT num, low, high FROM sessions JOIN listed USING (num)
WHERE low IS NOT NULL ORDER BY updated DESC LIMIT ?"""

_Row = tuple[str, int, str, float, int, int, int]


def search(
    catalog: Catalog, query: str, limit: int = 20, stop: Callable[[], bool] | None = None
) -> list[Hit]:
    """The messages that hold all terms of the query (see `read_query`), the best first, until ``stop()``.

    Terms that stand in more than 2 % of all messages are left out where rarer ones are there; phrases never.
    Where nothing holds the words, messages that hold words beginning so are taken.
    """
    for beginnings in (False, True):
        terms = read_query(query, beginnings=beginnings)
        if not terms:
            return []
        # The text itself says whether a phrase stands there: some rows will not do.
        has_phrase = any(term.is_phrase for term in terms)
        hits: list[Hit] = []
        for row in _rows(catalog.connection, terms, limit * _SPARE if has_phrase else limit):
            if len(hits) == limit or (stop is not None and stop()):
                break
            hit = _hit(catalog, row, terms)
            if hit is not None:
                hits.append(hit)
        if hits:
            return hits
    return []


def _rows(connection: Connection, terms: Sequence[Term], limit: int) -> list[_Row]:
    total = connection.execute("SELECT max(row) FROM messages").fetchone()[0] or 0
    most = total // _COMMON_SHARE
    counts = {term: _count(connection, term.match, max(most, _RANKED) + 1) for term in terms}
    if min(counts.values()) == 0:
        return []
    rare = [term for term in terms if counts[term] <= most]
    kept = [term for term in terms if not rare or term in rare or term.is_phrase]
    match = " AND ".join(term.match for term in kept)
    if min(counts[term] for term in kept) <= _RANKED:
        return connection.execute(_BY_MATCH, (match, limit)).fetchall()
    return _newest_rows(connection, match, limit)


def _newest_rows(connection: Connection, match: str, limit: int) -> list[_Row]:
    """The matches of the sessions that were used last, then any others. The order in which sessions came to
    the index says nothing of their age."""
    found: dict[tuple[str, int], _Row] = {}
    for num, low, high in connection.execute(_NEWEST_SESSIONS, (_SESSIONS,)).fetchall():
        rows = connection.execute(_IN_SESSION, (match, low, high, num, limit - len(found))).fetchall()
        found |= {(row[0], row[4]): row for row in rows}
        if len(found) >= limit:
            return list(found.values())
    for row in connection.execute(_ANY, (match, limit)):
        found.setdefault((row[0], row[4]), row)
    return list(found.values())[:limit]


def _count(connection: Connection, match: str, most: int) -> int:
    """Rows that hold a term, counted no further than ``most``."""
    found = connection.execute(
        "SELECT count(*) FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)", (match, most)
    )
    return int(found.fetchone()[0])


def _hit(catalog: Catalog, row: _Row, terms: list[Term]) -> Hit | None:
    session, turn, role, ts, start, length, key = row
    folder = catalog.folder(session)
    text = _text_at(folder / CONVERSATION, start, length, key)
    shown = None if text is None else safe_text(text)
    if shown is not None and not holds_phrases(shown, terms):
        return None
    return Hit(session, turn, role, ts, "" if shown is None else snippet(shown, terms), folder)


def _text_at(path: Path, start: int, length: int, key: int) -> str | None:
    """The words of the message that stands there, None where the file has changed since."""
    try:
        with open(os.open(path, os.O_RDONLY | CAREFUL), "rb") as stream:
            stream.seek(start)
            line = stream.read(length)
    except OSError:  # deleted or locked away meanwhile
        return None
    found = [record for record in records_in(line, is_first=not start)[0] if isinstance(record, WireMessage)]
    exact = [record for record in found if message_key(record) == key]
    return message_text((exact or found)[0]) if found else None
