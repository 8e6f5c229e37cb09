from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.core.codec import decode_json, encode_json
from mewcode.core.errors import ToolError
from mewcode.tools.read_table import ReadTable


@pytest.fixture
def known(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"text")
    table = ReadTable()
    table.note(path, path.stat(), b"text")
    return path, table


def check(table, path):
    table.check_data(path, path.stat(), path.read_bytes())


def test_unread_unchanged_touched_changed(known, tmp_path):
    path, table = known
    with pytest.raises(ToolError, match="Read it first"):
        table.check_data(tmp_path / "other", path.stat(), b"text")
    check(table, path)
    os.utime(path, (5, 5))
    check(table, path)
    path.write_bytes(b"TEXT")
    with pytest.raises(ToolError, match="changed on disk"):
        check(table, path)


def test_a_file_too_large_to_hash_is_known_by_size_and_time(known):
    path, table = known
    table.note(path, path.stat(), None)
    check(table, path)
    os.utime(path, (5, 5))
    with pytest.raises(ToolError, match="changed on disk"):
        check(table, path)


def test_it_survives_as_plain_data(known):
    path, table = known
    again = ReadTable.restore(decode_json(encode_json(table.export())))
    check(again, path)
    assert path in again
    assert again.export() == table.export()


@given(
    st.dictionaries(st.text(), st.one_of(st.none(), st.integers(), st.dictionaries(st.text(), st.integers())))
)
def test_restore_takes_anything(data):
    assert isinstance(ReadTable.restore(data), ReadTable)
