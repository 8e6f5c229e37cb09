"""What the user's rule removes, and the trash that it goes to."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.core.errors import ConfigError, SessionBusy, SessionError
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.find import find_session, list_sessions
from mewcode.sessions.lock import SessionLock
from mewcode.sessions.retention import DAY, Candidate, Retention, choose_expired
from mewcode.sessions.settings import SessionSettings, read_settings
from mewcode.sessions.space import space_of
from mewcode.sessions.trash import empty_trash, list_trash, move_to_trash, restore_session
from tests.support.archive import make_session, said

NOW = 1_000 * DAY


def session(name: str, days: float, size: int = 1_000_000, kept: bool = False) -> Candidate:
    return Candidate(name, NOW - days * DAY, size, kept)


def expired(rule: Retention, *sessions: Candidate) -> list[str]:
    return [name for name, _ in choose_expired(sessions, rule, NOW)]


def test_by_age_but_never_the_newest_ones_nor_what_was_named():
    rule = Retention(keep_days=30, keep_last=2)
    sessions = [
        session("a", 40),
        session("b", 50),
        session("c", 60, kept=True),
        session("d", 70),
        session("e", 20),
    ]
    assert expired(rule, *sessions) == ["d", "b"]
    assert expired(Retention(), *sessions) == []
    assert expired(Retention(keep_days=None, keep_last=0), *sessions) == []
    assert expired(Retention(keep_days=0, keep_last=0), *sessions) == ["d", "b", "a", "e"]


def test_by_size_the_oldest_first_until_it_fits():
    rule = Retention(keep_days=None, keep_last=1, max_total_mb=2.5)
    sessions = [session(name, days) for days, name in enumerate("abcde")]
    assert expired(rule, *sessions) == ["e", "d", "c"]
    assert expired(Retention(None, 1, 0), session("a", 1), session("b", 2, kept=True)) == []


CANDIDATES = st.lists(
    st.tuples(st.floats(0, 100), st.integers(0, 5_000_000), st.booleans()), max_size=12
).map(lambda rows: [session(f"s{i}", *row) for i, row in enumerate(rows)])


@given(
    CANDIDATES,
    st.one_of(st.none(), st.integers(0, 90)),
    st.integers(0, 12),
    st.one_of(st.none(), st.floats(0, 9)),
)
def test_whatever_the_rule(sessions, days, last, total):
    rule = Retention(days, last, total)
    gone = set(expired(rule, *sessions))
    newest = sorted(sessions, key=lambda item: (item.updated, item.id), reverse=True)
    assert not gone & {item.id for item in newest[:last]}
    assert not gone & {item.id for item in sessions if item.is_kept}
    left = [item for item in sessions if item.id not in gone]
    free = [item for item in newest[last:] if item in left and not item.is_kept]
    if days is not None:
        assert all(NOW - item.updated <= days * DAY for item in free)
    if total is not None and free:
        assert sum(item.size for item in left) <= total * 1e6
    assert expired(rule, *left) == []


def test_the_rule_of_the_config():
    def origin(key):
        return f"config.yaml:3 ({key})"

    assert read_settings({}, origin) == SessionSettings(30, 50, None)
    assert read_settings({"keep_days": None, "max_total_mb": 1.5}, origin) == SessionSettings(None, 50, 1.5)
    with pytest.raises(ConfigError, match=r"config\.yaml:3.*keep_days must be a whole number"):
        read_settings({"keep_days": "a month"}, origin)
    with pytest.raises(ConfigError, match="must be a number of megabytes"):
        read_settings({"max_total_mb": -1}, origin)
    with pytest.raises(ConfigError) as error:
        read_settings({"keep_day": 1}, origin)
    assert "keep_days" in error.value.hint


def test_to_the_trash_and_back(tmp_path):
    folder = make_session(tmp_path, "20260101-100000-aaaa", said("u", "x"), mtime=1234)
    (folder / "tool-results").mkdir()
    (folder / "tool-results" / "c1").write_text("large")
    before = space_of(folder)
    target = move_to_trash(tmp_path, folder, now=NOW)
    assert list_sessions(tmp_path) == []
    assert [(item.id, item.path, item.since) for item in list_trash(tmp_path)] == [(folder.name, target, NOW)]
    with pytest.raises(SessionError):
        find_session(tmp_path, "trash")
    assert restore_session(tmp_path, "20260101") == folder
    assert list_trash(tmp_path) == []
    assert [info.updated for info in list_sessions(tmp_path)] == [1234.0]
    after = space_of(folder)
    assert (after.conversation, after.tool_results) == (before.conversation, 5)
    assert sorted(path.name for path in folder.iterdir()) == [
        "conversation.jsonl", "conversation.lock", "tool-results",
    ]  # fmt: skip


def test_what_is_open_stays(tmp_path):
    folder = make_session(tmp_path, "one", said("u", "x"))
    writer = SessionWriter.open(folder)
    try:
        with pytest.raises(SessionBusy, match="in use by process") as error:
            move_to_trash(tmp_path, folder, now=NOW)
        assert "fork" not in error.value.hint
    finally:
        writer.close()
    assert move_to_trash(tmp_path, folder, now=NOW).is_dir()


def test_two_of_one_name_both_keep(tmp_path):
    for text in ("first", "second"):
        folder = make_session(tmp_path, "one", said("u", text))
        move_to_trash(tmp_path, folder, now=NOW)
    assert sorted(item.id for item in list_trash(tmp_path)) == ["one", "one.2"]
    restore_session(tmp_path, "one")
    make_session(tmp_path, "one.2", said("u", "x"))
    with pytest.raises(SessionError, match="already"):
        restore_session(tmp_path, "one.2")


@pytest.mark.parametrize("wanted", ["", "..", "../x", "/etc", "none"])
def test_only_what_lies_there_is_restored(tmp_path, wanted):
    with pytest.raises(SessionError, match="no session in the trash"):
        restore_session(tmp_path, wanted)
    move_to_trash(tmp_path, make_session(tmp_path, "one", said("u", "x")), now=NOW)
    with pytest.raises(SessionError, match="In the trash"):
        restore_session(tmp_path, wanted)


def test_a_trash_that_leads_elsewhere_is_not_used(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    make_session(elsewhere, "foreign", said("u", "x"))
    sessions = tmp_path / "s"
    folder = make_session(sessions, "one", said("u", "x"))
    (sessions / "trash").symlink_to(elsewhere)
    with pytest.raises(SessionError, match="leads elsewhere"):
        move_to_trash(sessions, folder, now=NOW)
    assert empty_trash(sessions, before=NOW * 2) == []
    assert (elsewhere / "foreign" / "conversation.jsonl").exists()
    SessionLock.take(folder, since=1).release()


def test_the_trash_is_emptied_by_the_time_it_was_filled(tmp_path):
    for days, name in ((40, "old"), (10, "new")):
        folder = make_session(tmp_path, name, said("u", "x"), mtime=1)
        move_to_trash(tmp_path, folder, now=NOW - days * DAY)
    assert empty_trash(tmp_path, before=NOW - 30 * DAY) == ["old"]
    assert [item.id for item in list_trash(tmp_path)] == ["new"]


@pytest.mark.parametrize("mark", [b"", b"null", b'{"ts":"x"}', b"\xff"])
def test_without_a_mark_it_counts_from_when_it_came(tmp_path, mark):
    target = move_to_trash(tmp_path, make_session(tmp_path, "one", said("u", "x"), mtime=1), now=NOW)
    (target / "trashed.json").write_bytes(mark)
    [item] = list_trash(tmp_path)
    assert item.since == target.stat().st_ctime


def test_space_counts_what_is_there_and_follows_no_link(tmp_path):
    folder = make_session(tmp_path, "one", b"x" * 10)
    (folder / "checkpoints" / "deep").mkdir(parents=True)
    (folder / "checkpoints" / "deep" / "f").write_bytes(b"y" * 20)
    os.symlink("/", folder / "checkpoints" / "root")
    (folder / "more").write_bytes(b"z" * 5)
    space = space_of(folder)
    assert (space.conversation, space.tool_results, space.other) == (10, 0, 5)
    assert 20 <= space.checkpoints < 200
    assert space_of(tmp_path / "none").total == 0
