"""Forks: nothing is copied, and what one of the two does is nothing to the other."""

from __future__ import annotations

import errno
import json
import os
import shutil

import pytest
from session_strategies import FailingCalls, assistant, user

from mewcode.core.errors import SessionError
from mewcode.core.message import Message, Text
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.check import examine, repair_file
from mewcode.sessions.forking import fork_session
from mewcode.sessions.reader import load_history, load_session
from mewcode.sessions.record import Totals
from mewcode.sessions.space import space_of
from mewcode.sessions.trash import empty_trash, move_to_trash, restore_session

ABOUT = {"cwd": "/w", "provider": "p", "model": "m0", "mode": "default"}


@pytest.fixture
def source(tmp_path):
    writer = SessionWriter.create(tmp_path, **ABOUT)
    for message in (user("u1"), assistant("a1"), user("u2"), assistant("a2")):
        writer.append(message)
    writer.keep_result("c1", "a long result")
    yield writer
    writer.close()


def fork(writer, folder, **options) -> SessionWriter:
    return fork_session(writer.folder, folder, **ABOUT, **options)


def header(folder) -> dict:
    with (folder / "conversation.jsonl").open(encoding="utf-8") as stream:
        return json.loads(stream.readline())


def ids(folder) -> list[str]:
    return [message.id for message in load_session(folder).messages]


def contents(folder) -> dict:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("conversation.lock", "restored")
    }


def test_one_record_is_written_and_the_rest_is_linked(source, tmp_path):
    size = (source.folder / "conversation.jsonl").stat().st_size
    made = fork(source, tmp_path, at="a1")
    record = header(made.folder)
    assert (record["id"], record["parent_session"], record["message"]) == (made.id, source.id, "a1")
    assert record["bases"] == [{"file": "base-1.jsonl", "bytes": size}]
    assert (made.folder / "base-1.jsonl").samefile(source.folder / "conversation.jsonl")
    assert (made.folder / "tool-results" / "c1").samefile(source.folder / "tool-results" / "c1")
    assert made.head == "a1"
    made.append(user("v2"))
    source.append(user("u3"))
    made.close()
    assert ids(made.folder) == ["u1", "a1", "v2"]
    assert ids(source.folder) == ["u1", "a1", "u2", "a2", "u3"]
    assert len((made.folder / "conversation.jsonl").read_bytes().splitlines()) == 2
    loaded = load_session(made.folder)
    assert loaded.parent_session == source.id


def test_a_fork_at_the_head_and_one_before_the_first_message(source, tmp_path):
    last = fork(source, tmp_path)
    none = fork(source, tmp_path, at=None)
    assert (last.head, none.head) == ("a2", None)
    assert header(none.folder)["bases"] == []
    none.append(user("w1"))
    for writer in (last, none):
        writer.close()
    assert ids(last.folder) == ["u1", "a1", "u2", "a2"]
    assert ids(none.folder) == ["w1"]


def test_a_fork_of_a_fork_of_a_fork(source, tmp_path):
    writer, wanted = source, ["u1", "a1"]
    made = [writer]
    at = "a1"
    for number in range(3):
        writer = fork(writer, tmp_path, at=at)
        at = f"f{number}"
        writer.append(user(at))
        writer.append(user(f"left{number}"))
        wanted.append(at)
        made.append(writer)
    bases = header(writer.folder)["bases"]
    assert [base["file"] for base in bases] == ["base-1.jsonl", "base-2.jsonl", "base-3.jsonl"]
    assert (writer.folder / "base-1.jsonl").samefile(source.folder / "conversation.jsonl")
    assert ids(writer.folder) == [*wanted, "left2"]
    for each in made[1:]:
        each.close()
    assert [message.id for message in load_history(writer.folder).messages] == [*wanted, "left2"]


def test_a_fork_of_a_compacted_session(source, tmp_path):
    kept = load_session(source.folder).messages[2:]
    begun = source.compact(
        [Message("s1", "user", (Text("short"),), "compaction"), *kept], turns=2, totals=Totals()
    )
    made = fork(source, tmp_path)
    made.append(user("v"))
    made.close()
    assert load_session(made.folder).messages == (*begun, user("v"))


def test_the_size_ends_with_a_line(source, tmp_path):
    path = source.folder / "conversation.jsonl"
    whole = path.stat().st_size
    with path.open("ab") as stream:
        stream.write(b'{"id":"half')
    made = fork(source, tmp_path, at="a2")
    made.close()
    assert header(made.folder)["bases"][0]["bytes"] == whole
    assert ids(made.folder) == ["u1", "a1", "u2", "a2"]


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM, errno.EMLINK])
def test_where_links_cannot_be_it_is_copied(source, tmp_path, number):
    calls = FailingCalls()
    calls.no_links, calls.most = number, 100
    made = fork(source, tmp_path, at="a2", calls=calls)
    made.close()
    assert not (made.folder / "base-1.jsonl").samefile(source.folder / "conversation.jsonl")
    assert ids(made.folder) == ["u1", "a1", "u2", "a2"]
    assert (made.folder / "tool-results" / "c1").read_text() == "a long result"


def test_a_folder_that_is_not_there(tmp_path):
    for given in ({"at": "x"}, {}):
        with pytest.raises(SessionError):
            fork_session(tmp_path / "none", tmp_path / "sessions", **given, **ABOUT)
        assert not list(tmp_path.glob("sessions/*"))


def test_links_and_odd_files_are_left_where_they_are(source, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    results = source.folder / "tool-results"
    (results / "link").symlink_to(secret)
    os.mkfifo(results / "fifo")
    (results / "folder").mkdir()
    (results / ".tmp").write_text("half")
    made = fork(source, tmp_path)
    made.close()
    assert [path.name for path in (made.folder / "tool-results").iterdir()] == ["c1"]
    path = source.folder / "conversation.jsonl"
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    before = sorted(each.name for each in tmp_path.iterdir())
    with pytest.raises(SessionError, match="no file"):
        fork(source, tmp_path, at="a1")
    assert sorted(each.name for each in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "base",
    [
        {"file": "../secret", "bytes": 5},
        {"file": "/etc/passwd", "bytes": 5},
        {"file": ".", "bytes": 5},
        {"file": "conversation.jsonl", "bytes": 5},
        {"file": "base-1.jsonl", "bytes": -5},
        {"file": 7, "bytes": 5},
        {"bytes": 5},
        "base-1.jsonl",
    ],
)
def test_a_header_cannot_name_files_elsewhere(source, tmp_path, base):
    made = fork(source, tmp_path)
    made.close()
    path = made.folder / "conversation.jsonl"
    record = header(made.folder) | {"bases": [base]}
    path.write_text(json.dumps(record) + "\n")
    again = fork(made, tmp_path, at="x")
    again.close()
    assert [each["file"] for each in header(again.folder)["bases"]] == ["base-1.jsonl"]
    assert (again.folder / "base-1.jsonl").samefile(path)


@pytest.mark.parametrize("links", [0, errno.EXDEV])
def test_a_call_that_fails_leaves_no_folder_or_a_whole_fork(tmp_path, links):
    sessions = tmp_path / "sessions"
    writer = SessionWriter.create(sessions, **ABOUT)
    writer.append(user("u1"))
    writer.keep_result("c1", "long")
    writer.close()
    before = contents(writer.folder)
    done = False
    number = 0
    while not done:
        calls = FailingCalls()
        calls.no_links, calls.most, calls.fail_at = links, 40, number
        try:
            made = fork(writer, sessions, at="u1", calls=calls)
        except SessionError:
            assert [path.name for path in sessions.iterdir()] == [writer.id]
        else:
            made.append(user("v"))
            made.close()
            assert ids(made.folder) == ["u1", "v"]
            done = number >= calls.calls
            shutil.rmtree(made.folder)
        assert contents(writer.folder) == before
        number += 1
    assert number > 4


def test_a_full_disk_at_any_byte(source, tmp_path):
    sessions = tmp_path / "sessions"
    for limit in (*range(0, 200, 7), 600):
        calls = FailingCalls()
        calls.limit = limit
        if limit < 200:
            with pytest.raises(SessionError, match="No space left"):
                fork(source, sessions, at="a1", calls=calls)
            assert list(sessions.iterdir()) == []
            continue
        made = fork(source, sessions, at="a1", calls=calls)
        calls.limit = None
        made.close()
        assert ids(made.folder) == ["u1", "a1"]
        shutil.rmtree(made.folder)


def test_a_repair_of_the_source_leaves_its_fork_whole_and_the_other_way_round(source, tmp_path):
    path = source.folder / "conversation.jsonl"
    made = fork(source, tmp_path, at="a2")
    made.append(user("v1"))
    made.close()
    source.close()
    with path.open("ab") as stream:
        stream.write(b"garbage\n")
    before = contents(made.folder)
    assert repair_file(source.folder, now=1_700_000_000) is not None
    assert contents(made.folder) == before
    assert ids(made.folder) == ["u1", "a1", "u2", "a2", "v1"]
    assert examine(source.folder).is_sound
    assert examine(made.folder).is_sound
    with (made.folder / "conversation.jsonl").open("ab") as stream:
        stream.write(b"garbage\n")
    before = contents(source.folder)
    assert repair_file(made.folder, now=1_700_000_000) is not None
    assert contents(source.folder) == before
    assert ids(made.folder) == ["u1", "a1", "u2", "a2", "v1"]
    assert header(made.folder)["parent_session"] == source.id


def test_the_trash_of_one_is_nothing_to_the_other(source, tmp_path):
    made = fork(source, tmp_path, at="a2")
    made.append(user("v1"))
    made.close()
    source.close()
    one, other = contents(source.folder), contents(made.folder)
    for folder, mine, theirs, kept in (
        (source.folder, one, made.folder, other),
        (made.folder, other, source.folder, one),
    ):
        move_to_trash(tmp_path, folder, now=1.0)
        assert contents(theirs) == kept
        assert ids(theirs)
        assert contents(restore_session(tmp_path, folder.name)) == mine
    move_to_trash(tmp_path, source.folder, now=1.0)
    assert empty_trash(tmp_path, before=2.0) == [source.id]
    assert contents(made.folder) == other
    assert ids(made.folder) == ["u1", "a1", "u2", "a2", "v1"]


def test_what_two_share_takes_its_room_once(source, tmp_path):
    made = fork(source, tmp_path, at="a2")
    made.close()
    alone, other = space_of(source.folder), space_of(made.folder)
    assert other.tool_results == alone.tool_results == len("a long result")
    assert other.conversation > alone.conversation
    seen: set[tuple[int, int]] = set()
    both = [space_of(folder, seen) for folder in (source.folder, made.folder)]
    assert both[0] == alone
    assert both[1].tool_results == 0
    assert both[1].conversation == (made.folder / "conversation.jsonl").stat().st_size


def test_a_fork_that_is_deleted_while_running_begins_anew_without_what_it_continued(source, tmp_path):
    made = fork(source, tmp_path, at="a2")
    shutil.rmtree(made.folder)
    made.append(user("v1"))
    made.close()
    assert "bases" not in header(made.folder)
    assert ids(made.folder) == ["v1"]


def test_another_name_is_taken_where_one_is_used(source, tmp_path, monkeypatch):
    names = iter(["same", "same", "other"])
    for module in ("forking", "session_file"):
        monkeypatch.setattr(f"mewcode.sessions.{module}.new_session_name", lambda _now: next(names))
    (tmp_path / "same").mkdir()
    made = fork(source, tmp_path, at="a1")
    made.close()
    assert made.id == header(made.folder)["id"] == "other"
