"""A record found again by its id: the line it is, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.core.codec import encode_json
from mewcode.sessions.cited import Cited, find_cited, is_id
from tests.support.archive import add_lines, answered, asked, head, make_session, said


def test_a_message_is_found_with_its_line(tmp_path: Path) -> None:
    lines = (head("s1"), said("m1", "first"), said("m2", "部署在周五\n中午", 7.5), said("m3", "m1 and m2"))
    folder = make_session(tmp_path, "s1", *lines)
    assert find_cited(folder, "m2") == Cited(3, "部署在周五\n中午", 7.5)
    assert find_cited(folder, "m4") is None
    assert find_cited(folder, "s1") is None, "the record of the session says nothing"


def test_a_call_is_found_by_its_own_id_and_not_by_its_result(tmp_path: Path) -> None:
    folder = make_session(
        tmp_path, "s1", head("s1"), said("m1", "go"), asked("m2", "c1", "save_note", body="x"),
        answered("m3", "c1", "Noted"),
    )  # fmt: skip
    found = find_cited(folder, "c1")
    assert found is not None
    assert (found.line, found.text) == (3, '[save_note {"body":"x"}]')


def test_who_only_speaks_of_an_id_is_not_it(tmp_path: Path) -> None:
    folder = make_session(tmp_path, "s1", head("s1"), said("m1", 'it says "m9"'), b"half a line\n")
    add_lines(folder, encode_json({"id": "m8", "parent": "m9", "role": "user", "content": "x"}) + b"\n")
    assert find_cited(folder, "m9") is None


def test_the_file_that_a_fork_continues_has_lines_of_its_own(tmp_path: Path) -> None:
    old = make_session(tmp_path, "s1", head("s1"), said("m1", "before"), said("m2", "not taken along"))
    kept = (old / "conversation.jsonl").read_bytes().index(b'{"id":"m2"')
    bases = [{"file": "base.jsonl", "bytes": kept}]
    line = encode_json({"type": "session", "id": "s2", "version": 1, "ts": 1.0, "bases": bases}) + b"\n"
    fork = make_session(tmp_path, "s2", line, said("m3", "behind"))
    (fork / "base.jsonl").hardlink_to(old / "conversation.jsonl")
    assert find_cited(fork, "m1") == Cited(2, "before", 1.0, "base.jsonl")
    assert find_cited(fork, "m3") == Cited(2, "behind", 1.0)
    assert find_cited(fork, "m2") is None


@pytest.mark.parametrize("record", ["", "../m1", "a b", 'm1"', "x" * 65, "记录"])
def test_what_is_no_id_names_nothing(tmp_path: Path, record: str) -> None:
    assert not is_id(record)
    assert find_cited(make_session(tmp_path, "s1", said("m1", "x")), record) is None


@given(st.lists(st.text(max_size=30), min_size=1, max_size=20), st.data())
def test_each_message_is_on_the_line_that_it_was_written_to(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], data: st.DataObject
) -> None:
    lines = [said(f"m{number}", text) for number, text in enumerate(texts)]
    folder = make_session(tmp_path_factory.mktemp("s"), "s1", *lines)
    wanted = data.draw(st.integers(0, len(texts) - 1))
    found = find_cited(folder, f"m{wanted}")
    assert found is not None
    assert found.line == wanted + 1
    assert find_cited(folder, f"m{len(texts)}") is None
