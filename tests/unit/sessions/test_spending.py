"""What was used by day, from the ends of session files."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.message import Message, Text, Usage
from mewcode.sessions import spending
from mewcode.sessions.record import Totals, encode_message, encode_record, usage_record
from mewcode.sessions.spending import spending_since

DAY = 86_400.0
NOON = time.mktime((2026, 11, 25, 12, 0, 0, 0, 0, -1))


def used(tokens: int) -> Usage:
    return Usage(input_tokens=tokens, output_tokens=tokens // 10)


def total(ts: float, tokens: int, model: str = "m") -> bytes:
    return encode_record(usage_record(Totals({model: used(tokens)}, 0.0), ts=ts))


def message(ts: float, tokens: int, model: str | None = "m") -> bytes:
    item = Message("x", "assistant", (Text("hi"),), "model", model or "", used(tokens))
    return encode_message(item, ts=ts, model=model)


def session(sessions: Path, name: str, *lines: bytes, mtime: float = NOON) -> None:
    (sessions / name).mkdir(parents=True)
    path = sessions / name / "conversation.jsonl"
    path.write_bytes(b"".join(lines))
    os.utime(path, (mtime, mtime))


def inputs(found: spending.Spending) -> dict[str, dict[str, int]]:
    return {
        day: {name: usage.input_tokens for name, usage in models.items()}
        for day, models in found.days.items()
    }


def test_running_totals_count_on_the_day_on_which_they_grew(tmp_path: Path) -> None:
    session(tmp_path, "a", total(NOON - 2 * DAY, 100), total(NOON - DAY, 150), total(NOON, 350))
    session(tmp_path, "b", total(NOON, 7, "other"))
    assert inputs(spending_since(tmp_path, NOON - 1.5 * DAY)) == {
        "2026-11-24": {"m": 50},
        "2026-11-25": {"m": 200, "other": 7},
    }


def test_what_no_total_covers_counts_by_its_messages(tmp_path: Path) -> None:
    session(
        tmp_path,
        "a",
        message(NOON, 10),
        total(NOON, 10),
        message(NOON, 5),
        message(NOON, 6, None),
        b'{"usage',
    )
    assert inputs(spending_since(tmp_path, NOON - DAY)) == {"2026-11-25": {"m": 21}}


def test_the_session_that_runs_counts_up_to_now(tmp_path: Path) -> None:
    now = time.time()
    today = time.strftime("%Y-%m-%d")
    session(tmp_path, "a", total(now, 10), message(now, 90), mtime=now)
    current = ("a", Totals({"m": used(100)}, None))
    assert inputs(spending_since(tmp_path, now - 60, current=current)) == {today: {"m": 100}}
    unsaved = ("not there yet", Totals({"m": used(1000)}, None))
    assert inputs(spending_since(tmp_path, now - 60, current=unsaved)) == {today: {"m": 1100}}


def test_what_is_said_to_be_used_in_the_future_was_used_by_now(tmp_path: Path) -> None:
    session(tmp_path, "a", message(1e300, 10), total(1e300, 30), mtime=time.time())
    today = time.strftime("%Y-%m-%d")
    assert inputs(spending_since(tmp_path, NOON - DAY)) == {today: {"m": 30}}


def test_what_a_fork_brought_along_was_used_elsewhere(tmp_path: Path) -> None:
    carried = encode_record(usage_record(Totals({"m": used(500)}, 0.0), ts=NOON) | {"carried": True})
    session(tmp_path, "fork", message(NOON, 500), carried, message(NOON, 20), total(NOON, 520))
    assert inputs(spending_since(tmp_path, NOON - DAY)) == {"2026-11-25": {"m": 20}}


def test_old_sessions_and_broken_files_count_nothing(tmp_path: Path) -> None:
    session(tmp_path, "old", total(NOON, 10), mtime=NOON - 9 * DAY)
    session(tmp_path, "odd", b'\xff\xfe"usage"\n[]\n{"type":"usage","models":3,"ts":"x"}\n')
    assert spending_since(tmp_path, NOON - DAY).days == {}
    assert spending_since(tmp_path / "nowhere", NOON).days == {}


def test_of_a_long_file_only_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "_TAIL", 700)
    lines = [total(NOON, 1_000_000 + number) for number in range(50)]
    session(tmp_path, "long", *lines)
    [models] = spending_since(tmp_path, NOON - DAY).days.values()
    assert models["m"].input_tokens < 50, "what the first total in sight grew from is not known"


def test_too_many_sessions_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spending, "_SESSIONS", 2)
    for number in range(5):
        session(tmp_path, f"s{number}", total(NOON, 1), mtime=NOON + number)
    found = spending_since(tmp_path, NOON - DAY)
    assert found.unread == 3
    assert inputs(found) == {"2026-11-25": {"m": 2}}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1000)), max_size=8))
@settings(max_examples=40)
def test_days_add_up_to_the_last_total(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("sessions")
    lines, ts, tokens = [], NOON - 30 * DAY, 0
    for days, more in steps:
        ts, tokens = ts + days * DAY, tokens + more * 10
        lines.append(total(ts, tokens))
    session(folder, "a", *lines, message(ts, 0))
    found = spending_since(folder, 0.0)
    assert sum(usage.input_tokens for models in found.days.values() for usage in models.values()) == tokens
