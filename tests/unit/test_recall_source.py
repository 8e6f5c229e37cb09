"""How the index of recall follows the archive and the notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode import recall_turns
from mewcode.infra.paths import Places
from mewcode.memory.changes import Create, Forget, Ref
from mewcode.memory.note import Note
from mewcode.memory.paths import Shelf
from mewcode.memory.recall.engine import Engine
from mewcode.memory.store import NoteStore
from mewcode.recall_source import open_recall, refresh_notes
from mewcode.recall_turns import read_turns, refresh_sessions
from tests.support.archive import add_lines, answered, asked, head, make_session, said


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path / "recall.sqlite")
    yield made
    made.close()


def ids(engine: Engine, question: str) -> list[str]:
    return [hit.id for hit in engine.search(question)]


def test_a_turn_is_what_the_user_said_and_what_came_of_it(tmp_path: Path) -> None:
    folder = make_session(
        tmp_path,
        "s1",
        head("s1"),
        said("m1", "why is zebra red", 5.0),
        asked("m2", "c1", command="cat giraffe.py"),
        answered("m3", "c1", "ImportError: elephant"),
        said("m4", "the import is missing", 8.0, "assistant"),
        said("m5", "mend it", 9.0),
    )
    reading = read_turns(folder, b"")
    assert reading is not None
    first, second = reading.turns
    assert (first.number, first.when, second.number, second.text) == (1, 5.0, 2, "mend it")
    for word in ("zebra", "giraffe.py", "elephant", "missing"):
        assert word in first.text
    data = (folder / "conversation.jsonl").read_bytes()
    assert b"why is zebra red" in data[first.start :].split(b"\n")[0]
    assert b"mend it" in data[second.start :].split(b"\n")[0]


def test_of_long_output_the_beginning_counts(tmp_path: Path) -> None:
    folder = make_session(
        tmp_path, "s1", said("m1", "go"), answered("m2", "c1", "zebra " + "x " * 50_000 + "giraffe")
    )
    reading = read_turns(folder, b"")
    assert reading is not None
    assert "zebra" in reading.turns[0].text
    assert "giraffe" not in reading.turns[0].text
    assert len(reading.turns[0].text) < 1_000


def test_a_session_is_followed_as_it_grows(engine: Engine, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    folder = make_session(sessions, "s1", head("s1"), said("m1", "zebra question"))
    assert refresh_sessions(engine, sessions)
    assert ids(engine, "zebra") == ["s1/1"]
    add_lines(folder, said("m2", "giraffe answer", role="assistant"), said("m3", "elephant question"))
    assert refresh_sessions(engine, sessions)
    assert ids(engine, "giraffe") == ["s1/1", "s1/2"]
    assert ids(engine, "elephant") == ["s1/2"]


def test_half_a_line_is_read_when_the_rest_has_come(engine: Engine, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    line = said("m2", "giraffe question")
    folder = make_session(sessions, "s1", said("m1", "zebra question"), line[:30])
    assert refresh_sessions(engine, sessions)
    assert ids(engine, "giraffe") == []
    add_lines(folder, line[30:])
    assert refresh_sessions(engine, sessions)
    assert ids(engine, "giraffe") == ["s1/2"]


def test_a_file_that_was_replaced_is_read_anew(engine: Engine, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    folder = make_session(sessions, "s1", said("m1", "zebra"), said("m2", "giraffe"))
    assert refresh_sessions(engine, sessions)
    (folder / "conversation.jsonl").write_bytes(said("m9", "elephant, and a good deal more than before" * 9))
    assert refresh_sessions(engine, sessions)
    assert ids(engine, "zebra") == ids(engine, "giraffe") == []
    assert ids(engine, "elephant") == ["s1/1"]


def test_a_record_that_was_written_twice_and_a_broken_line_change_nothing(tmp_path: Path) -> None:
    once = make_session(tmp_path, "s1", said("m1", "zebra"), said("m2", "giraffe", role="assistant"))
    twice = make_session(
        tmp_path,
        "s2",
        said("m1", "zebra"),
        said("m1", "zebra"),
        b"no record\n",
        said("m2", "giraffe", role="assistant"),
    )
    one, other = read_turns(once, b""), read_turns(twice, b"")
    assert one is not None
    assert other is not None
    assert one.turns == other.turns


def test_sessions_that_are_gone_are_forgotten(engine: Engine, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    folder = make_session(sessions, "s1", said("m1", "zebra"))
    make_session(sessions, "s2", said("m1", "zebra"))
    assert refresh_sessions(engine, sessions)
    (folder / "conversation.jsonl").unlink()
    folder.rmdir()
    assert refresh_sessions(engine, sessions)
    assert ids(engine, "zebra") == ["s2/1"]


_LINES = st.lists(
    st.sampled_from(
        [
            said("m1", "zebra question"),
            said("m2", "giraffe answer", role="assistant"),
            said("m3", "elephant question"),
            said("m4", "数据库迁移", role="assistant"),
            answered("m5", "c1", "output"),
            b"broken\n",
            b'{"type":"title","title":"t"}\n',
        ]
    ),
    max_size=10,
)


@settings(max_examples=40)
@given(parts=st.lists(_LINES, min_size=1, max_size=4), step=st.sampled_from([1, 100, 1 << 20]))
def test_reading_in_pieces_gives_the_same_answers_as_reading_at_once(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[bytes]], step: int
) -> None:
    sessions = tmp_path_factory.mktemp("sessions")
    grown = Engine(sessions / "grown.sqlite")
    anew = Engine(sessions / "anew.sqlite")
    folder = make_session(sessions, "s1")
    try:
        for part in parts:
            add_lines(folder, *part)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(recall_turns, "_STEP_BYTES", step)
                assert refresh_sessions(grown, sessions)
        assert refresh_sessions(anew, sessions)
        for question in ("zebra", "giraffe", "elephant question", "数据库", "output"):
            assert grown.search(question, limit=100) == anew.search(question, limit=100)
    finally:
        grown.close()
        anew.close()


def test_notes_in_force_are_found_and_forgotten_ones_are_not(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    store = NoteStore([Shelf("user", folder, lambda: folder.mkdir(exist_ok=True))])
    note = Note(name="Shell", type="user_preference", level="user", aliases=("终端",), body="uses fish")
    gone = Note(name="Old shell", type="user_preference", level="user", valid_to="2001-01-01", body="zorb")
    outcomes = store.apply([Create(note), Create(gone)], by="user").outcomes
    assert refresh_notes(engine, store)
    wanted = f"user/{outcomes[0].file}"
    assert ids(engine, "用什么终端") == ids(engine, "fish") == [wanted]
    assert ids(engine, "zorb") == []
    store.apply([Forget(Ref("user", outcomes[0].file))], by="user")
    assert refresh_notes(engine, store)
    assert ids(engine, "fish") == []


def test_users_and_workspaces_have_indexes_of_their_own(tmp_path: Path) -> None:
    def places(name: str) -> Places:
        root = tmp_path / name
        return Places(root, root, tmp_path / "home", root / ".mewcode")

    engines = [
        open_recall(places(folder), {"MEWCODE_USER": user})
        for folder in ("one", "other")
        for user in ("", "ann", "bob")
    ]
    assert len({engine.path for engine in engines}) == 6
    assert open_recall(places("one"), {}).path == engines[0].path
