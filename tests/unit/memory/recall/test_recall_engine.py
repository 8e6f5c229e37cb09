"""The index of recall: what is found, how it is kept up to date, and what becomes of damage."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.memory.entry import Entry
from mewcode.memory.recall import ranking
from mewcode.memory.recall.engine import Engine, index_path, note_row
from mewcode.memory.recall.ranking import clears
from mewcode.memory.recall.tables import Row
from mewcode.memory.recall.values import Hit, NoteText, Passage, Reading, Turn

DEPLOY = NoteText(
    "user/deploy.md", "Deploys", ("部署流程", "release"), "when we ship", "make release, Tuesday"
)
MONEY = NoteText("user/money.md", "金额不能用浮点数", ("money type", "cents"), "", "所有金额以分为单位存整数")
CHECK = NoteText("user/check.md", "Checks", (), "", "run read_file and ruff over src/billing/invoice.py")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path / "recall.sqlite")
    yield made
    made.close()


def put(engine: Engine, *notes: NoteText) -> bool:
    by_id = {note.id: [note_row(note)] for note in notes}
    return engine.update("notes", {note.id: repr(note) for note in notes}, by_id.get)


def talk(engine: Engine, sessions: Mapping[str, list[str]]) -> bool:
    def read(name: str, _state: bytes) -> Reading:
        turns = tuple(Turn(number, text) for number, text in enumerate(sessions[name], 1))
        return Reading(turns, 0, b"read", True)

    return engine.update_exchanges({name: repr(turns) for name, turns in sessions.items()}, read)


def ids(hits: list[Hit]) -> list[str]:
    return [hit.id for hit in hits]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("how do we deploy?", DEPLOY),
        ("怎么部署", DEPLOY),
        ("下次上线是哪天", DEPLOY),
        ("release on tuesdays", DEPLOY),
        ("金额", MONEY),
        ("is money a float?", MONEY),
        ("readFile", CHECK),
        ("invoice.py", CHECK),
        ("src/billing", CHECK),
        ("invoices", CHECK),
    ],
)
def test_a_note_is_found_in_either_language_by_any_of_its_words(
    engine: Engine, question: str, wanted: NoteText
) -> None:
    assert put(engine, DEPLOY, MONEY, CHECK)
    assert ids(engine.search(question))[:1] == [wanted.id]


def test_nothing_is_found_where_nothing_is_said_or_known(engine: Engine) -> None:
    assert engine.search("deploy") == []
    assert put(engine, DEPLOY)
    assert engine.search("") == engine.search("?!") == engine.search("zebra") == []
    assert engine.search('"deploy OR NEAR( *') != []


def test_a_name_or_an_alias_counts_more_than_a_body(engine: Engine) -> None:
    filler = "one two three four five six seven"
    named = NoteText("a", "zebra", (), "", filler)
    aliased = NoteText("b", "horse", ("zebra",), "", filler)
    told = NoteText("c", "horse", (), "", f"zebra {filler}")
    assert put(engine, told, aliased, named)
    by_id = {hit.id: hit.score for hit in engine.search("zebra")}
    assert by_id["a"] == pytest.approx(by_id["b"], rel=0.05)
    assert by_id["b"] > by_id["c"]


def test_what_answers_well_clears_the_bar_and_what_shares_a_word_does_not(engine: Engine) -> None:
    filler = [NoteText(f"n{number}", f"topic{number} matter", (), "", "words of it") for number in range(30)]
    assert put(engine, DEPLOY, *filler)
    assert clears(engine.search("when is the next deploy?")[0])
    (hit,) = [hit for hit in engine.search("tuesday quantum chess opening theory") if hit.id == DEPLOY.id]
    assert not clears(hit)
    assert hit.score < engine.search("tuesday")[0].score


def test_only_what_changed_is_read_again(engine: Engine) -> None:
    asked: list[str] = []

    def read(note: str) -> list[Row]:
        asked.append(note)
        return [note_row(NoteText(note, f"{note} zebra"))]

    assert engine.update("notes", {"a": "1", "b": "1"}, read)
    assert engine.update("notes", {"a": "1", "b": "2", "c": "1"}, read)
    assert asked == ["a", "b", "b", "c"]
    assert engine.update("notes", {"c": "1"}, read)
    assert ids(engine.search("zebra")) == ["c"]
    assert len(asked) == 4


def test_what_cannot_be_read_is_found_as_it_was(engine: Engine) -> None:
    assert put(engine, DEPLOY)
    assert engine.update("notes", {DEPLOY.id: "changed"}, lambda _: None)
    assert ids(engine.search("deploy")) == [DEPLOY.id]


def test_notes_of_the_store_are_found_by_name_aliases_tags_and_body(engine: Engine) -> None:
    entry = Entry(
        "x.md",
        (1, 1, 1),
        "d1",
        "project",
        "Runner",
        "project_knowledge",
        "",
        "",
        ("linux",),
        ("build agent",),
    )
    assert engine.update_notes([entry], lambda _: "twenty minutes")
    for question in ("runner", "linux", "build agents", "minutes"):
        assert ids(engine.search(question)) == ["project/x.md"]


def test_a_name_that_sqlite_cannot_hold_is_left_out(engine: Engine) -> None:
    assert engine.update("notes", {"\ud800": "1", "a": "1"}, lambda note: [note_row(NoteText(note, "zebra"))])
    assert ids(engine.search("zebra")) == ["a"]


def test_a_turn_is_found_by_the_one_before_it_and_less_so(engine: Engine) -> None:
    assert talk(engine, {"s1": ["where did you put the zebra", "behind the barn", "thanks a lot then"]})
    assert ids(engine.search("zebra")) == ["s1/1", "s1/2"]


def test_a_turn_counts_the_more_the_more_else_of_its_session_answers(engine: Engine) -> None:
    said = ["the zebra is fed", "hay it is", "and water", "a zebra drinks a lot", "sand"]
    assert talk(engine, {"s1": ["the zebra is fed", "hay it is"], "s2": said})
    found = {hit.id: hit.score for hit in engine.search("zebra")}
    assert found["s2/1"] > found["s1/1"]


def test_a_note_counts_for_itself(engine: Engine) -> None:
    assert put(engine, NoteText("a", "zebra"), NoteText("b", "zebra"))
    one, other = engine.search("zebra")
    assert one.score == other.score


def test_words_of_one_topic_find_each_other_and_count_less_than_those_of_one_meaning(engine: Engine) -> None:
    assert put(engine, NoteText("a", "tuesday"), NoteText("b", "friday"), NoteText("c", "zebra"))
    hits = engine.search("周二")
    assert ids(hits) == ["a", "b"]
    assert hits[0].score > hits[1].score


def test_two_words_are_found_as_the_one_that_they_are(engine: Engine) -> None:
    assert put(engine, NoteText("a", "how to roll back"), NoteText("b", "back to the roll"))
    assert ids(engine.search("rollback")) == ["a"]
    assert ids(engine.search("rolled back")) == ["a", "b"]


def test_a_turn_does_not_reach_into_another_session(engine: Engine) -> None:
    assert talk(engine, {"s1": ["where is the zebra"], "s2": ["behind the barn"]})
    assert ids(engine.search("zebra")) == ["s1/1"]


def test_a_session_goes_on_where_the_last_reading_ended(engine: Engine) -> None:
    states: list[bytes] = []

    def read(_name: str, state: bytes) -> Reading:
        states.append(state)
        if not state:
            return Reading((Turn(1, "zorb"), Turn(2, "glim")), 0, b"two", False)
        return Reading((Turn(2, "glim quux", 40, 9.0), Turn(3, "fnord")), 1, b"three", True)

    assert engine.update_exchanges({"s": "1"}, read)
    assert states == [b"", b"two"]
    assert ids(engine.search("zorb")) == ["s/1", "s/2"]
    assert ids(engine.search("quux")) == ["s/2", "s/3"]
    first = engine.search("quux")[0]
    assert (first.source, first.number, first.start, first.when) == ("s", 2, 40, 9.0)
    assert engine.update_exchanges({"s": "1"}, read)
    assert len(states) == 2


def test_a_session_that_is_gone_is_forgotten(engine: Engine) -> None:
    assert talk(engine, {"s1": ["zebra"], "s2": ["zebra"]})
    assert talk(engine, {"s2": ["zebra"]})
    assert ids(engine.search("zebra")) == ["s2/1"]


def test_a_passage_comes_back_as_it_was_given(engine: Engine) -> None:
    passage = Passage("guide#2", "Guide", "docs/guide.md", "Install", 12, "Run the *installer* twice.\n")
    assert engine.update_documents({"docs/guide.md": "1"}, lambda _: [passage])
    (hit,) = engine.search("installer")
    assert (hit.collection, hit.id, hit.source, hit.number) == ("documents", "guide#2", "docs/guide.md", 12)
    assert hit.passage == passage
    assert engine.search("guide.md")[0].passage == passage


def test_all_collections_are_asked_or_those_that_are_named(engine: Engine) -> None:
    assert put(engine, NoteText("n", "zebra"))
    assert talk(engine, {"s": ["zebra"]})
    assert engine.update_documents({"d": "1"}, lambda _: [Passage("p", "zebra", "d", "", 1, "")])
    assert {hit.collection for hit in engine.search("zebra")} == {"notes", "exchanges", "documents"}
    assert ids(engine.search("zebra", ("exchanges",))) == ["s/1"]
    assert len(engine.search("zebra", limit=2)) == 2


def test_a_common_word_is_left_out_where_a_rarer_one_is_there(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "_FEW", 5)
    notes = [NoteText(f"n{number:03}", f"common word{number}") for number in range(100)]
    assert put(engine, *notes)
    assert ids(engine.search("common word7")) == ["n007"]
    assert len(engine.search("common", limit=200)) == 100


def test_a_word_that_is_too_common_to_be_ranked_finds_what_came_last(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "_FEW", 5)
    monkeypatch.setattr(ranking, "_MOST_RANKED", 10)
    monkeypatch.setattr(ranking, "_CANDIDATES", 3)
    assert put(engine, *[NoteText(f"n{number:03}", f"common other{number}") for number in range(100)])
    assert ids(engine.search("common", limit=3)) == ["n097", "n098", "n099"]


def test_equal_answers_are_ordered_by_their_ids(engine: Engine) -> None:
    assert put(engine, *[NoteText(note, "zebra") for note in "dbaec"])
    assert ids(engine.search("zebra")) == list("abcde")


_WORDS = st.sampled_from(["zebra", "deploy", "ship", "read_file", "数据库", "部署", "the", "minutes"])
_TEXTS = st.lists(_WORDS, max_size=5).map(" ".join)
_NOTES = st.dictionaries(st.sampled_from("abcdef"), st.tuples(_TEXTS, _TEXTS, _TEXTS), max_size=6)
_SESSIONS = st.dictionaries(st.sampled_from(["s1", "s2", "s3"]), st.lists(_TEXTS, max_size=4), max_size=3)


@settings(max_examples=40)
@given(st.lists(st.tuples(_NOTES, _SESSIONS), min_size=1, max_size=4))
def test_updates_give_the_same_answers_as_an_index_made_anew(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[dict[str, tuple[str, str, str]], dict[str, list[str]]]],
) -> None:
    folder = tmp_path_factory.mktemp("index")
    grown, anew = Engine(folder / "grown.sqlite"), Engine(folder / "anew.sqlite")
    try:
        for notes, sessions in steps:
            assert put(grown, *_notes(notes))
            assert _grow(grown, sessions)
        notes, sessions = steps[-1]
        assert put(anew, *reversed(_notes(notes)))
        assert talk(anew, dict(reversed(sessions.items())))
        for question in ("zebra", "deploy the database", "部署", "read_file minutes", "the"):
            assert grown.search(question) == anew.search(question)
    finally:
        grown.close()
        anew.close()


def _notes(notes: dict[str, tuple[str, str, str]]) -> list[NoteText]:
    return [NoteText(name, texts[0], (texts[1],), "", texts[2]) for name, texts in notes.items()]


def _grow(engine: Engine, sessions: dict[str, list[str]]) -> bool:
    """Each session read a turn at a time, the last turn anew, as an archive that grows is."""

    def read(name: str, state: bytes) -> Reading:
        known = len(state)
        turns = [Turn(number, text) for number, text in enumerate(sessions[name], 1)]
        if known > len(turns):
            known = 0
        upto = min(len(turns), known + 1)
        kept = max(0, known - 1)
        return Reading(tuple(turns[kept:upto]), kept, b"x" * upto, upto == len(turns))

    def from_the_start(name: str, state: bytes) -> Reading:
        return read(name, b"" if state == b"x" * len(sessions[name]) else state)

    emptied = dict.fromkeys(sessions, "empty")
    engine.update_exchanges(emptied, lambda _name, _state: Reading((), 0, b"", True))
    return engine.update_exchanges({name: repr(turns) for name, turns in sessions.items()}, from_the_start)


def test_what_was_read_for_a_while_is_kept_though_the_program_ends(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mewcode.memory.recall.engine._STEP_SECONDS", 0.0)

    def read(name: str) -> list[Row]:
        if name == CHECK.id:
            raise KeyboardInterrupt
        return [note_row(DEPLOY)]

    with pytest.raises(KeyboardInterrupt):
        engine.update("notes", {DEPLOY.id: "1", CHECK.id: "1"}, read)
    assert ids(engine.search("deploys")) == [DEPLOY.id]


def test_a_word_that_is_common_in_the_language_counts_for_less_than_another(engine: Engine) -> None:
    often, telling = NoteText("user/a.md", "It looks wrong"), NoteText("user/b.md", "The turbine")
    assert put(engine, often, telling)
    assert ids(engine.search("the turbine looks")) == [telling.id, often.id]


def test_nothing_crosses_from_one_scope_to_another(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    paths = {
        index_path(tmp_path, user, project)
        for user in (one / "user", other / "user")
        for project in (one / "project", other / "project")
    }
    assert len(paths) == 4
    engines = [Engine(path) for path in sorted(paths)]
    try:
        assert put(engines[0], NoteText("user/secret.md", "canary zebra"))
        assert talk(engines[0], {"s": ["canary zebra"]})
        for engine in engines[1:]:
            assert put(engine, DEPLOY)
            assert engine.search("canary zebra") == []
            assert b"canari" not in engine_bytes(engine)
    finally:
        for engine in engines:
            engine.close()


def engine_bytes(engine: Engine) -> bytes:
    path = engine.path
    return b"".join(file.read_bytes() for file in path.parent.glob(path.name + "*"))


def test_folders_that_would_run_together_have_indexes_of_their_own(tmp_path: Path) -> None:
    assert index_path(tmp_path, tmp_path / "a", tmp_path / "bc") != index_path(
        tmp_path, tmp_path / "ab", tmp_path / "c"
    )
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert index_path(tmp_path, tmp_path / "link") == index_path(tmp_path, tmp_path / "real")


@pytest.mark.parametrize("damage", [b"no database at all " * 400, b""])
def test_a_damaged_index_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "recall.sqlite"
    path.write_bytes(damage)
    engine = Engine(path)
    try:
        assert engine.search("deploy") == []
        assert put(engine, DEPLOY)
        assert ids(engine.search("deploy")) == [DEPLOY.id]
        assert not engine.problem
    finally:
        engine.close()


def test_damage_that_is_found_while_searching_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "recall.sqlite"
    first = Engine(path)
    assert put(first, *[NoteText(f"n{number}", f"zebra word{number}") for number in range(2_000)])
    first.close()
    data = bytearray(path.read_bytes())
    for place in range(8192, len(data), 512):
        data[place : place + 64] = b"\xff" * 64
    path.write_bytes(data)
    engine = Engine(path)
    try:
        assert engine.search("zebra word7") == []
        assert put(engine, DEPLOY)
        assert ids(engine.search("deploy")) == [DEPLOY.id]
    finally:
        engine.close()


def test_a_row_that_is_not_what_was_written_counts_as_damage(engine: Engine) -> None:
    assert put(engine, DEPLOY)
    with sqlite3.connect(engine.path) as connection:
        connection.execute("UPDATE notes SET words = x'00'")
    connection.close()
    assert engine.search("deploy") == []
    assert put(engine, DEPLOY)
    assert ids(engine.search("deploy")) == [DEPLOY.id]


def test_a_full_disk_is_told_in_the_log_and_raises_nothing(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    assert put(engine, DEPLOY)
    with engine._writer.lock:
        engine._writer.connection(engine.path).execute("PRAGMA max_page_count=1")
    long = " ".join(f"word{number}" for number in range(20_000))
    with caplog.at_level(logging.WARNING, "mewcode.recall"):
        assert not put(engine, DEPLOY, NoteText("user/long.md", "long", (), "", long))
        assert not talk(engine, {"s": [long]})
    assert "full" in engine.problem
    assert len(caplog.records) == 1
    assert "word17" not in caplog.text
    assert ids(engine.search("deploy")) == [DEPLOY.id]


def test_a_folder_that_cannot_be_written_turns_recall_off(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    engine = Engine(tmp_path / "file" / "recall.sqlite")
    with caplog.at_level(logging.WARNING, "mewcode.recall"):
        assert engine.search("deploy") == []
        assert not put(engine, DEPLOY)
    assert engine.problem
    assert engine.problem in caplog.text
    engine.close()


def test_a_closed_engine_finds_and_learns_nothing(engine: Engine) -> None:
    assert put(engine, DEPLOY)
    engine.close()
    assert engine.search("deploy") == []
    assert not put(engine, MONEY)


def test_an_update_can_be_stopped_and_goes_on_the_next_time(engine: Engine) -> None:
    read: list[str] = []

    def rows(note: str) -> list[Row]:
        read.append(note)
        return [note_row(NoteText(note, "zebra"))]

    signs = dict.fromkeys("abc", "1")
    assert not engine.update("notes", signs, rows, lambda: len(read) == 2)
    assert ids(engine.search("zebra")) == ["a", "b"]
    assert engine.update("notes", signs, rows)
    assert read == ["a", "b", "c"]
    assert ids(engine.search("zebra")) == ["a", "b", "c"]


def test_who_asks_does_not_wait_for_who_writes(engine: Engine) -> None:
    assert put(engine, DEPLOY)
    writer = sqlite3.connect(engine.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM notes")
    try:
        assert ids(engine.search("deploy")) == [DEPLOY.id]
    finally:
        writer.execute("ROLLBACK")
        writer.close()


def test_several_threads_use_one_engine(engine: Engine) -> None:
    assert put(engine, DEPLOY)
    found: list[list[str]] = []

    def ask() -> None:
        found.extend(ids(engine.search("deploy")) for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(20):
        assert put(engine, DEPLOY, NoteText("user/x.md", f"word{number}"))
    for thread in threads:
        thread.join()
    assert found == [[DEPLOY.id]] * 80


_OTHER = """
import sys
from pathlib import Path
from mewcode.memory.recall.engine import Engine, note_row
from mewcode.memory.recall.values import NoteText
engine = Engine(Path(sys.argv[1]))
for turn in range(30):
    notes = {f"n{number}": [note_row(NoteText(f"n{number}", f"zebra {turn}"))] for number in range(10)}
    assert engine.update("notes", dict.fromkeys(notes, str(turn)), notes.get), engine.problem
    assert len(engine.search("zebra")) == 10, engine.problem
engine.close()
"""


def test_two_processes_use_one_index(tmp_path: Path) -> None:
    path = tmp_path / "recall.sqlite"
    others = [
        subprocess.Popen([sys.executable, "-c", _OTHER, str(path)], stderr=subprocess.PIPE) for _ in range(2)
    ]
    for other in others:
        _, told = other.communicate(timeout=60)
        assert (other.returncode, told) == (0, b"")
    engine = Engine(path)
    try:
        assert len(engine.search("zebra")) == 10
        with sqlite3.connect(path) as connection:
            assert connection.execute("SELECT rows FROM totals WHERE collection = 'notes'").fetchone() == (
                10,
            )
            connection.execute("INSERT INTO notes_words (notes_words) VALUES ('integrity-check')")
        connection.close()
    finally:
        engine.close()


@settings(max_examples=60)
@given(st.text(max_size=60) | st.lists(_WORDS, max_size=60).map(" ".join))
def test_any_question_is_answered(tmp_path_factory: pytest.TempPathFactory, question: str) -> None:
    engine = Engine(tmp_path_factory.mktemp("index") / "recall.sqlite")
    try:
        assert put(engine, DEPLOY, MONEY, CHECK)
        hits = engine.search(question)
        assert not engine.problem
        assert all(0 < hit.score <= 1.5 for hit in hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    finally:
        engine.close()
