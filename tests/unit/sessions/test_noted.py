"""How far a session was looked through for notes, and which sessions were left before all of them was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mewcode.core.message import Message, Text
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.labels import add_label
from mewcode.sessions.lock import SessionLock
from mewcode.sessions.noted import Unlooked, left_over, only_one, read_unlooked
from mewcode.sessions.reader import load_history, load_session
from mewcode.sessions.record import Totals, encode_record, noted_record
from tests.support.archive import add_lines, head, make_session, said

NAME = "20260304-120000-ab12"
NOW = 1_780_000_000.0


def noted(upto: str | None, left: int = 0) -> bytes:
    return encode_record(noted_record(upto, ts=2.0, left=left))


def turns(count: int, first: int = 1) -> list[bytes]:
    lines = []
    for number in range(first, first + count):
        lines += [said(f"u{number}", f"prompt {number}"), said(f"a{number}", "yes", role="assistant")]
    return lines


def texts(found: Unlooked) -> list[str]:
    return [message.text for message in found.messages if message.role == "user"]


def session(tmp_path: Path, *lines: bytes, name: str = NAME) -> Path:
    return make_session(tmp_path / "sessions", name, head(name), *lines, mtime=NOW)


def left(
    tmp_path: Path, *, since: float = 0.0, tried: tuple[str, ...] = (), ours: bool = True
) -> list[Unlooked]:
    return list(
        left_over(
            tmp_path / "sessions",
            lambda name, seal: ours,
            lambda unlooked: bool(unlooked.messages),
            tried=tried,
            since=since,
            stop=lambda: False,
        )
    )


@pytest.mark.parametrize("tokens", [None, 100_000])
def test_a_load_says_how_far_it_was_looked_through(tmp_path: Path, tokens: int | None) -> None:
    folder = session(tmp_path, *turns(2), noted("a2"), *turns(1, 3))
    loaded = load_session(folder, tokens=tokens)
    assert loaded.noted == "a2"
    assert loaded.last_ts == 1.0, "to look through it was no activity"
    assert loaded.skipped == 0
    add_lines(folder, noted("a3"), noted("a2"))
    assert load_session(folder, tokens=tokens).noted == "a3", "an older word takes nothing back"


@pytest.mark.parametrize("upto", [None, "nobody", 7, ["a1"], ""])
def test_a_word_of_a_message_that_is_not_there_says_nothing(tmp_path: Path, upto: object) -> None:
    record = noted_record(None, ts=2.0) | {"upto": upto}
    folder = session(tmp_path, *turns(2), encode_record(record))
    loaded = load_session(folder)
    assert (loaded.noted, loaded.skipped) == ("", 0)
    assert texts(read_unlooked(folder)) == ["prompt 1", "prompt 2"]


def writer(folder: Path) -> SessionWriter:
    return SessionWriter.create(folder, cwd="/work", provider="p", model="m", mode="default")


def add(writer: SessionWriter, *names: str) -> None:
    for name in names:
        role, origin = ("user", "user") if name.startswith("u") else ("assistant", "model")
        writer.append(Message(name, role, (Text(f"text {name}"),), origin))  # type: ignore[arg-type]


def test_after_a_way_back_what_was_never_looked_at_still_waits(tmp_path: Path) -> None:
    archive = writer(tmp_path / "sessions")
    add(archive, "u1", "a1", "u2", "a2")
    archive.rewind("a1")
    add(archive, "u3", "a3")
    archive.append_record(noted_record("a3", ts=1.0))
    assert archive.flush()
    assert load_session(archive.folder).noted == "a3"
    archive.rewind("a2")
    assert archive.flush()
    loaded = load_session(archive.folder)
    assert loaded.noted == "a1", "of this branch only what both share was looked at"
    assert [message.text for message in read_unlooked(archive.folder).messages] == ["text u2", "text a2"]
    archive.rewind("a3")
    archive.close()
    assert load_session(archive.folder).noted == "a3"


def test_across_a_compaction_nothing_is_lost_and_nothing_looked_at_twice(tmp_path: Path) -> None:
    archive = writer(tmp_path / "sessions")
    add(archive, "u1", "a1", "u2", "a2", "u3", "a3")
    archive.append_record(noted_record("a1", ts=1.0))
    assert archive.flush()
    messages = load_session(archive.folder).messages
    summary = Message("", "user", (Text("in short"),), "compaction")
    begun = archive.compact((summary, *messages[-2:]), turns=3, totals=Totals())
    add(archive, "u4", "a4")
    assert archive.flush()
    assert load_session(archive.folder).noted == ""
    found = [message.text for message in read_unlooked(archive.folder).messages]
    assert [text for text in found if text.startswith("text")] == [
        f"text {name}" for name in ("u2", "a2", "u3", "a3", "u4", "a4")
    ]
    archive.append_record(noted_record("a3", ts=1.0))
    assert archive.flush()
    assert load_session(archive.folder).noted == begun[-1].id, "the copy of what was looked at"
    archive.append_record(noted_record("a4", ts=1.0))
    archive.close()
    assert read_unlooked(archive.folder).messages == ()
    assert load_history(archive.folder).noted == "a4"


def test_what_a_fork_continues_is_not_its_own_to_look_through(tmp_path: Path) -> None:
    from mewcode.sessions.forking import fork_session

    old = session(tmp_path, *turns(3), noted("a1"))
    fork = fork_session(
        old, tmp_path / "sessions", at="a3", cwd=tmp_path, provider="p", model="m", mode="default"
    )
    add(fork, "u9", "a9")
    fork.close()
    assert load_session(fork.folder).noted == "a3"
    assert texts(read_unlooked(fork.folder)) == ["text u9"]
    assert texts(read_unlooked(old)) == ["prompt 2", "prompt 3"]


def test_a_record_of_this_kind_is_no_tag_and_no_title(tmp_path: Path) -> None:
    from mewcode.sessions.catalog_fold import SessionState, fold_line

    state = SessionState()
    for line in (*turns(1), noted("a1", left=2)):
        list(fold_line(state, line, lambda key: True))
    assert (state.tags, state.title, state.last_ts) == ([], "", 1.0)


# --- what was left ------------------------------------------------------------------------------------------


def test_sessions_with_something_left_are_found_the_newest_first(tmp_path: Path) -> None:
    session(tmp_path, *turns(1), name="20260301-120000-aaaa")
    session(tmp_path, *turns(2), noted("a2"), name="20260302-120000-bbbb")
    session(tmp_path, *turns(2), noted("a1", left=1), name="20260303-120000-cccc")
    found = left(tmp_path)
    assert [(one.session_id[:8], texts(one), one.left) for one in found] == [
        ("20260303", ["prompt 2"], 1),
        ("20260301", ["prompt 1"], 0),
    ]
    assert [one.session_id[:8] for one in left(tmp_path, tried=("20260303-120000-cccc",))] == ["20260301"]


def test_a_word_that_came_after_newer_messages_does_not_hide_them(tmp_path: Path) -> None:
    session(tmp_path, *turns(2), noted("a1"))
    assert [texts(one) for one in left(tmp_path)] == [["prompt 2"]]


def test_sessions_of_others_old_ones_and_those_in_use_are_left_alone(tmp_path: Path) -> None:
    folder = session(tmp_path, *turns(1))
    assert len(left(tmp_path)) == 1
    assert left(tmp_path, ours=False) == []
    assert left(tmp_path, since=NOW + 1) == []
    lock = SessionLock.take(folder, since=NOW)
    try:
        assert left(tmp_path) == []
    finally:
        lock.release()
    assert len(left(tmp_path)) == 1


def test_what_was_imported_is_left_alone(tmp_path: Path) -> None:
    import json

    first = json.loads(head(NAME)) | {"imported": {"from": "another", "id": "x", "ts": 1.0}}
    make_session(tmp_path / "sessions", NAME, encode_record(first), *turns(6))
    assert left(tmp_path) == []


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"{}\nnull\n[]\n", b'{"type":"noted","upto":"x"}\n'])
def test_a_file_with_nothing_in_it_is_passed_over(tmp_path: Path, data: bytes) -> None:
    make_session(tmp_path / "sessions", NAME, data)
    assert left(tmp_path) == []


def test_a_large_session_is_read_from_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = session(tmp_path, *turns(3), noted("a1"))
    monkeypatch.setattr("mewcode.sessions.noted._MOST_READ", 10)
    assert texts(read_unlooked(folder)) == ["prompt 2", "prompt 3"]


def test_only_one_process_looks_at_what_was_left(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    with only_one(tmp_path / "sessions") as first:
        assert first
        with only_one(tmp_path / "sessions") as second:
            assert not second
    with only_one(tmp_path / "sessions") as again:
        assert again


def test_to_record_it_leaves_the_age_of_a_session(tmp_path: Path) -> None:
    folder = session(tmp_path, *turns(1))
    add_label(folder, noted_record("a1", ts=NOW + 5))
    assert os.stat(folder / "conversation.jsonl").st_mtime == NOW
    assert left(tmp_path) == []
