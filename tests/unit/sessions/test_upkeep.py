"""The daily upkeep: the rule once a day, by one process, and its report."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mewcode.sessions import upkeep
from mewcode.sessions.lock import SessionLock
from mewcode.sessions.record import encode_record, pin_record, title_record
from mewcode.sessions.retention import DAY, Retention
from mewcode.sessions.trash import list_trash, restore_session
from mewcode.sessions.upkeep import STAMP_FILE, Report, daily_upkeep, last_report, report_text
from tests.support.archive import head, make_session, said

NOW = time.time()
RULE = Retention(keep_days=30, keep_last=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".mewcode" / "sessions"


def old(folder: Path, name: str, days: float = 40.0, *more: bytes) -> Path:
    ts = NOW - days * DAY
    return make_session(folder, name, head(name, ts=ts), said("a", "hi", ts=ts), *more, mtime=ts)


def run(folder: Path, now: float = NOW, rule: Retention = RULE, spare: str = "", stop: bool = False):
    return daily_upkeep(folder, rule, spare=spare, stop=lambda: stop, clock=lambda: now)


def left(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("*/conversation.jsonl")}


def test_what_goes_and_what_stays(folder: Path) -> None:
    old(folder, "20260101-120000-aaaa")
    old(folder, "a foreign name")
    old(folder, "newest", days=1)
    old(folder, "current")
    old(folder, "named", 40, encode_record(title_record("Mine", ts=NOW)))
    old(folder, "pinned", 40, encode_record(pin_record(True, ts=NOW)))
    old(folder, "titled by a model", 40, encode_record(title_record("Auto", ts=NOW, auto=True)))
    lock = SessionLock.take(old(folder, "open"), since=NOW)
    try:
        report = run(folder, spare="current")
    finally:
        lock.release()
    assert left(folder) == {"newest", "current", "named", "pinned", "open"}
    assert report == Report(NOW, trashed=3, kept=5)
    assert last_report(folder, NOW) == report
    assert {item.id for item in list_trash(folder)} == {
        "20260101-120000-aaaa", "a foreign name", "titled by a model"
    }  # fmt: skip


def test_once_a_day(folder: Path) -> None:
    old(folder, "newest", days=1)
    old(folder, "one")
    assert run(folder) is not None
    old(folder, "two")
    assert run(folder, NOW + DAY - 60) is None
    assert left(folder) == {"newest", "two"}
    assert run(folder, NOW + DAY) == Report(NOW + DAY, trashed=1, kept=1)


def test_what_came_back_stays(folder: Path) -> None:
    old(folder, "newest", days=1)
    old(folder, "one")
    run(folder)
    restore_session(folder, "one")
    assert run(folder, NOW + 2 * DAY) == Report(NOW + 2 * DAY, kept=2)
    assert run(folder, NOW + 40 * DAY, Retention(keep_last=0)) == Report(NOW + 40 * DAY, trashed=2)


def test_the_trash_is_emptied(folder: Path) -> None:
    old(folder, "newest", days=1)
    old(folder, "one")
    run(folder)
    report = run(folder, NOW + 31 * DAY, Retention(keep_days=None))
    assert report == Report(NOW + 31 * DAY, emptied=1, kept=1)
    assert list_trash(folder) == []


def test_a_mark_in_the_trash_that_is_no_file_is_not_waited_for(folder: Path) -> None:
    for name, make in (("20260101-000000-000a", os.mkfifo), ("20260101-000000-000b", nested)):
        make(old(folder / "trash", name) / "trashed.json")
    old(folder, "20260101-000000-0001", 1.0)
    report = run(folder, NOW + 31 * DAY)
    assert report is not None
    assert report.emptied == 2


def nested(path: Path) -> None:
    path.write_bytes(b"[" * 4_000)


def test_one_process_does_it(folder: Path) -> None:
    old(folder, "newest", days=1)
    old(folder, "one")
    claim = upkeep._claim(folder)
    assert claim is not None
    try:
        assert run(folder) is None
    finally:
        os.close(claim)
    assert run(folder) is not None


def test_it_stops_when_told_and_is_due_again(folder: Path) -> None:
    old(folder, "newest", days=1)
    old(folder, "one")
    assert run(folder, stop=True) is None
    assert left(folder) == {"newest", "one"}
    assert last_report(folder, NOW) is None
    assert run(folder) is not None


def test_nothing_is_opened_where_nothing_can_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old(folder, "one")
    old(folder, "two", days=1)
    monkeypatch.setattr(upkeep, "prune", lambda *args, **more: pytest.fail("looked"))
    assert run(folder, rule=Retention()) == Report(NOW, kept=2)
    assert run(folder, NOW + DAY, Retention(keep_days=None, keep_last=0)) == Report(NOW + DAY, kept=2)


def test_the_total_size(folder: Path) -> None:
    old(folder, "newest", 1, said("b", "x" * 2_000_000))
    old(folder, "older", 2, said("b", "x" * 500_000))
    report = run(folder, rule=Retention(keep_days=None, keep_last=1, max_total_mb=2.2))
    assert report == Report(NOW, trashed=1, kept=1)


def test_no_sessions_no_stamp(folder: Path) -> None:
    assert run(folder) is None
    assert not folder.parent.exists()


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"ts": "x"}', '{"ts": 1e99}', '{"ts": -1}', '{"ts": 1, "kept": -2}', "[" * 5000]
)
def test_a_stamp_of_nonsense_is_none(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder.parent / STAMP_FILE).write_text(text)
    assert last_report(folder, NOW) is None
    assert run(folder) == Report(NOW)


def test_the_report_in_words() -> None:
    now = time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1))
    assert report_text(Report(now - 60, trashed=3, kept=61), now) == (
        "3 moved to the trash today, kept 61; mewcode sessions restore brings them back"
    )
    assert report_text(Report(now - 3 * DAY, emptied=2, kept=5), now) == (
        "none moved to the trash on 2026-11-27, kept 5, 2 left the trash for good"
    )
