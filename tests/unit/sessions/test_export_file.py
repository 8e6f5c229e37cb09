"""The file of an export: its form, its name, and that none is replaced."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import SessionError
from mewcode.infra.redact import redact
from mewcode.sessions.export import SUFFIXES, check_target, exported, free_name, kind_of, write_export
from mewcode.sessions.export_facts import SessionFacts, facts_of
from mewcode.sessions.record import encode_record, title_record
from tests.support.archive import answered, asked, head, make_session, said

NAME = "20260101-100000-aaaa"
NOON = time.mktime((2026, 2, 2, 12, 0, 0, 0, 0, -1))


def facts(title: str) -> SessionFacts:
    return SessionFacts(NAME, Path("/s") / NAME, title, NOON, "m", [], False)


def test_facts_come_from_the_file(tmp_path: Path) -> None:
    lines = (
        head(NAME),
        said("u", "first words", 2),
        asked("a", "c"),
        answered("t", "c", "out", 9),
        b"junk\n",
    )
    plain = facts_of(make_session(tmp_path, "one", *lines))
    assert (plain.id, plain.title, plain.updated, plain.model) == ("one", "first words", 9.0, "m1")
    named = facts_of(make_session(tmp_path, "two", *lines, encode_record(title_record("My work", ts=99.0))))
    assert (named.title, named.updated) == ("My work", 9.0)
    with pytest.raises(SessionError, match="cannot be read"):
        facts_of(tmp_path / "none")


@pytest.mark.parametrize("ts", [1e300, -1e300, 1e17])
def test_a_moment_in_no_calendar_stops_no_export(tmp_path: Path, ts: float) -> None:
    found = facts_of(make_session(tmp_path, NAME, head(NAME), said("u", "words", ts)))
    assert "words" in exported(found, "markdown", str)
    assert "words" in exported(found, "html", str)
    assert free_name(tmp_path, found, str).name == "unknown-words.md"


def test_the_suffix_says_the_form() -> None:
    for suffix, kind in SUFFIXES.items():
        assert kind_of(Path(f"a{suffix}")) == kind
        assert kind_of(Path(f"a{suffix.upper()}")) == kind
    assert kind_of(Path("notes")) == "markdown"
    with pytest.raises(SessionError, match=r"no export as \.pdf"):
        kind_of(Path("a.pdf"))


def test_a_file_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    target = tmp_path / "a.md"
    assert write_export(target, "你好\ud800") == 12
    assert target.read_bytes() == "你好\\ud800".encode()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(SessionError, match="exists"):
        write_export(target, "other")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(SessionError, match="exists"):
        write_export(tmp_path / "dangling", "other")
    with pytest.raises(SessionError, match="cannot be written"):
        write_export(tmp_path / "none" / "a.md", "other")
    assert sorted(os.listdir(tmp_path)) == ["a.md", "dangling"]


def test_where_nothing_can_be_written_is_known_before_the_work(tmp_path: Path) -> None:
    check_target(tmp_path / "a.md")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(SessionError, match="exists"):
        check_target(tmp_path / "dangling")
    with pytest.raises(SessionError, match="there is no folder"):
        check_target(tmp_path / "none" / "a.md")
    assert os.listdir(tmp_path) == ["dangling"]


def test_a_file_system_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert write_export(tmp_path / "a.md", "x") == 1
    with pytest.raises(SessionError, match="exists"):
        write_export(tmp_path / "a.md", "y")
    assert os.listdir(tmp_path) == ["a.md"]


def test_a_name_is_made_of_day_and_title(tmp_path: Path) -> None:
    first = free_name(tmp_path, facts("Fix the  parser: 修复!"), str)
    assert first.name == "2026-02-02-fix-the-parser-修复.md"
    first.touch()
    assert free_name(tmp_path, facts("Fix the  parser: 修复!"), str).name == f"{first.stem}-2.md"
    assert free_name(tmp_path, facts(""), str).name == f"2026-02-02-{NAME}.md"
    key = "sk-abcdefghijklmnop1234567890"
    assert key not in free_name(tmp_path, facts(f"use {key}"), redact).name


@settings(max_examples=100, deadline=None)
@given(title=st.text(max_size=200))
def test_any_title_gives_a_name_that_a_folder_takes(
    title: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = free_name(folder, facts(title), str)
    assert path.parent == folder
    assert len(path.name.encode()) <= 255
    assert path.name.isprintable()
    assert path.suffix == ".md"
    assert kind_of(path) == "markdown"
