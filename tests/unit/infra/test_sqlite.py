"""A cache in SQLite: made, thrown away, made again, whatever stands in its place."""

from __future__ import annotations

import sqlite3

import pytest

from mewcode.core.errors import MewCodeError
from mewcode.infra.sqlite import discard_cache, is_damage, open_cache, open_in_memory

SCHEMA = "CREATE TABLE a (x);\nCREATE TABLE b (y)"


def put_and_close(path, version=1):
    connection, notice = open_cache(path, version, SCHEMA)
    connection.execute("INSERT INTO a VALUES (1)")
    [count] = connection.execute("SELECT count(*) FROM a").fetchone()
    connection.close()
    return count, notice


def test_it_keeps_what_is_put_in(tmp_path):
    path = tmp_path / "new" / "c.sqlite"
    assert [put_and_close(path) for _ in range(3)] == [(1, ""), (2, ""), (3, "")]
    assert path.stat().st_mode & 0o777 == 0o600
    discard_cache(path)
    assert list(path.parent.iterdir()) == []
    discard_cache(path)


def test_another_version_or_damage_begins_anew(tmp_path):
    path = tmp_path / "c.sqlite"
    put_and_close(path)
    count, notice = put_and_close(path, version=2)
    assert count == 1
    assert "anew" in notice
    path.write_bytes(b"no database" * 500)
    assert put_and_close(path, version=2)[0] == 1
    assert put_and_close(path, version=2) == (2, "")


@pytest.mark.parametrize("place", ["folder", "link"])
def test_what_cannot_be_kept_is_in_memory(tmp_path, place):
    path = tmp_path / "c.sqlite"
    if place == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "elsewhere")
    for _ in range(2):
        count, notice = put_and_close(path)
        assert count == 1
        assert "for this once" in notice
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_where_others_may_write_nothing_is_kept(tmp_path, mode):
    path = tmp_path / "shared" / "c.sqlite"
    path.parent.mkdir()
    path.parent.chmod(mode)
    count, notice = put_and_close(path)
    assert count == 1
    assert "others may write" in notice
    assert list(path.parent.iterdir()) == []


def test_a_sqlite_without_what_is_needed_says_so(tmp_path):
    with pytest.raises(MewCodeError, match="cannot hold the index"):
        open_in_memory(tmp_path, 1, "CREATE VIRTUAL TABLE t USING no_such_module(x)", OSError("x"))


def test_damage_is_told_from_the_rest(tmp_path):
    path = tmp_path / "c.sqlite"
    path.write_bytes(b"no database" * 500)
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.DatabaseError) as damaged:
        connection.execute("SELECT * FROM a")
    with pytest.raises(sqlite3.Error) as wrong:
        connection.execute("SELEKT")
    connection.close()
    assert is_damage(damaged.value)
    assert not is_damage(wrong.value)
