"""Recall by meaning beside words: what it finds, how its vectors are kept, and what becomes of failures. The
model is a fake one at the real seam."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.memory.recall import semantic_tables
from mewcode.memory.recall.engine import Engine, note_row
from mewcode.memory.recall.ranking import clears
from mewcode.memory.recall.semantic import Embedder, NoEmbedder
from mewcode.memory.recall.values import Hit, NoteText, Passage, Reading, Turn
from tests.support.fake_embedder import FakeEmbedder

if TYPE_CHECKING:
    from mewcode.memory.recall.semantic import Vector

DEPLOY = NoteText("user/deploy.md", "quux tuesday")
MONEY = NoteText("user/money.md", "cents integer")
CHINESE = NoteText("user/zh.md", "饕餮 周二 说明")
OTHERS = [NoteText(f"user/n{number}.md", f"topic{number} matter") for number in range(12)]
OTHERS_CHINESE = [NoteText(f"user/z{number}.md", f"甲{number} 乙丙") for number in range(12)]


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def engine(tmp_path: Path, embedder: FakeEmbedder) -> Iterator[Engine]:
    made = Engine(tmp_path / "recall.sqlite", lambda: embedder)
    yield made
    made.close()


def put(engine: Engine, *notes: NoteText) -> None:
    by_id = {note.id: [note_row(note)] for note in notes}
    assert engine.update("notes", {note.id: repr(note) for note in notes}, by_id.get)
    assert engine.wait_for_vectors(30)


def talk(engine: Engine, *turns: Turn) -> None:
    def read(_name: str, _state: bytes) -> Reading:
        return Reading(turns, 0, b"read", True)

    assert engine.update_exchanges({"s": repr(turns)}, read)
    assert engine.wait_for_vectors(30)


def ids(hits: list[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def kept(engine: Engine, table: str = "vectors") -> int:
    connection = sqlite3.connect(engine.path)
    try:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    finally:
        connection.close()


def test_what_means_the_same_is_found_without_a_word_in_common(engine: Engine) -> None:
    put(engine, DEPLOY, MONEY, *OTHERS)
    first = engine.search("zorb")[0]
    assert first.id == DEPLOY.id
    assert first.likeness > 0.5


def test_words_count_more_than_a_likeness(engine: Engine) -> None:
    put(engine, NoteText("user/word.md", "zorb building"), DEPLOY, *OTHERS)
    assert ids(engine.search("zorb"))[:2] == ["user/word.md", DEPLOY.id]


def test_another_language_is_no_worse_for_being_another(engine: Engine) -> None:
    put(engine, CHINESE, *OTHERS, *OTHERS_CHINESE)
    hits = engine.search("quux")
    likeness = {hit.id: hit.likeness for hit in engine.search("quux", limit=50)}
    assert hits[0].id == CHINESE.id
    assert likeness[CHINESE.id] < max(likeness[note.id] for note in OTHERS)


def test_the_aliases_of_a_note_count_for_less_than_the_rest_of_it(engine: Engine) -> None:
    put(engine, NoteText("user/a.md", "filler", ("quux",)), NoteText("user/b.md", "quux"), *OTHERS)
    found = {hit.id: hit.likeness for hit in engine.search("zorb")}
    assert found["user/b.md"] > found["user/a.md"] > max(found[note.id] for note in OTHERS)


def test_passages_of_documents_are_found_by_meaning(engine: Engine) -> None:
    passages = [Passage(f"d#{number}", "", "d", "", number, f"part{number}") for number in range(1, 9)]
    passages.append(Passage("d#9", "", "d", "", 9, "quux"))
    assert engine.update_documents({"d": "1"}, lambda _: passages)
    assert engine.wait_for_vectors(30)
    first = engine.search("zorb", ("documents",))[0]
    assert (first.id, first.passage) == ("d#9", passages[-1])


def test_until_the_model_is_loaded_words_alone_are_compared(tmp_path: Path) -> None:
    may_load = threading.Event()

    def load() -> Embedder:
        may_load.wait(30)
        return FakeEmbedder()

    engine = Engine(tmp_path / "recall.sqlite", load)
    try:
        by_id = {note.id: [note_row(note)] for note in (DEPLOY, *OTHERS)}
        assert engine.update("notes", dict.fromkeys(by_id, "1"), by_id.get)
        assert not engine.wait_for_vectors(0)
        assert engine.search("zorb") == []
        assert engine.search("tuesday")[0].likeness == 0
        may_load.set()
        assert engine.wait_for_vectors(30)
        assert engine.search("zorb")[0].id == DEPLOY.id
    finally:
        may_load.set()
        engine.close()


def test_a_first_look_starts_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    engine = Engine(tmp_path / "recall.sqlite", FakeEmbedder)
    try:
        assert engine.update("notes", {}, lambda _: None)
        engine.search("tuesday")
        assert set(threading.enumerate()) <= before
        put(engine, DEPLOY)
        assert kept(engine) == 1
    finally:
        engine.close()


def test_a_model_that_cannot_be_loaded_is_told_once_and_words_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def load() -> Embedder:
        raise NoEmbedder("the wheel is damaged")

    engine = Engine(tmp_path / "recall.sqlite", load)
    try:
        with caplog.at_level(logging.WARNING, "mewcode.recall"):
            put(engine, DEPLOY)
            put(engine, DEPLOY, MONEY)
            assert ids(engine.search("tuesday")) == [DEPLOY.id]
            assert engine.search("zorb") == []
        assert [record.getMessage() for record in caplog.records] == [
            "recall: by words alone: the wheel is damaged"
        ]
        assert not engine.problem
    finally:
        engine.close()


def test_a_question_that_gets_no_vector_is_answered_by_words(
    engine: Engine, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put(engine, DEPLOY, *OTHERS)

    def fail(_text: str) -> None:
        raise MemoryError("secret")

    monkeypatch.setattr(embedder, "question", fail)
    with caplog.at_level(logging.WARNING, "mewcode.recall"):
        assert ids(engine.search("tuesday")) == [DEPLOY.id]
    assert "MemoryError" in caplog.text
    assert "secret" not in caplog.text


def test_a_model_that_breaks_at_a_text_leaves_words(
    engine: Engine, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_text: str) -> None:
        raise MemoryError("secret")

    monkeypatch.setattr(embedder, "passage", fail)
    with caplog.at_level(logging.WARNING, "mewcode.recall"):
        put(engine, DEPLOY)
    assert [record.getMessage() for record in caplog.records] == [
        "recall: no more vectors are made: MemoryError"
    ]
    assert ids(engine.search("tuesday")) == [DEPLOY.id]


def test_a_vector_is_made_once_and_found_again_by_the_next_session(
    tmp_path: Path, embedder: FakeEmbedder
) -> None:
    engine = Engine(tmp_path / "recall.sqlite", lambda: embedder)
    put(engine, DEPLOY, *OTHERS)
    engine.close()
    told = len(embedder.told)
    again = Engine(engine.path, lambda: embedder)
    try:
        put(again, DEPLOY, *OTHERS)
        assert again.search("zorb")[0].id == DEPLOY.id
        assert len(embedder.told) == told
    finally:
        again.close()


def test_the_vectors_of_what_changed_or_went_are_forgotten(engine: Engine) -> None:
    put(engine, DEPLOY, *OTHERS)
    put(engine, NoteText(DEPLOY.id, "glim"), *OTHERS)
    assert engine.search("fnord")[0].id == DEPLOY.id
    assert kept(engine) == 13
    put(engine, *OTHERS)
    assert kept(engine) == 12
    assert kept(engine, "texts") == 0
    assert DEPLOY.id not in ids(engine.search("fnord", limit=100))


def test_an_index_made_without_meaning_gets_its_vectors_later(tmp_path: Path) -> None:
    plain = Engine(tmp_path / "recall.sqlite")
    put(plain, DEPLOY, *OTHERS)
    talk(plain, Turn(1, "quux"), Turn(2, "nothing else"))
    assert kept(plain, "texts") == 0
    plain.close()
    engine = Engine(plain.path, FakeEmbedder)
    try:
        put(engine, DEPLOY, *OTHERS)
        talk(engine, Turn(1, "quux"), Turn(2, "nothing else"))
        assert engine.search("zorb", ("notes",))[0].id == DEPLOY.id
        assert engine.search("zorb", ("exchanges",))[0].id == "s/1"
    finally:
        engine.close()


def test_what_another_session_wrote_is_known_after_the_next_look(tmp_path: Path) -> None:
    one = Engine(tmp_path / "recall.sqlite", FakeEmbedder)
    other = Engine(tmp_path / "recall.sqlite", FakeEmbedder)
    try:
        put(one, *OTHERS)
        put(other, DEPLOY, *OTHERS)
        put(one, DEPLOY, *OTHERS)
        assert one.search("zorb")[0].id == DEPLOY.id
    finally:
        one.close()
        other.close()


def test_the_newest_turns_alone_have_vectors(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic_tables, "_MOST_TURNS", 3)
    turns = [Turn(number, f"word{number}", when=float(number)) for number in range(1, 8)]
    talk(engine, *turns)
    found = {hit.id for hit in engine.search("unheard", ("exchanges",))}
    assert found == {"s/5", "s/6", "s/7"}
    talk(engine, *turns, Turn(8, "word8", when=0.5))
    assert {hit.id for hit in engine.search("unheard", ("exchanges",))} == {"s/5", "s/6", "s/7"}
    assert ids(engine.search("word8", ("exchanges",), limit=1)) == ["s/8"]


def test_a_turn_is_found_by_the_meaning_of_the_one_before(engine: Engine) -> None:
    filler = [Turn(number, f"word{number} thing{number}", when=1.0) for number in range(4, 12)]
    scores = []
    for before in ("when is that", "when is the quux"):
        talk(engine, Turn(1, "alpha"), Turn(2, before), Turn(3, "tuesday noon"), *filler)
        scores += [hit.score for hit in engine.search("zorb", ("exchanges",)) if hit.id == "s/3"]
    assert scores[0] < scores[1]


def test_what_is_meant_by_a_turn_or_the_one_before_counts_beside_its_words(engine: Engine) -> None:
    filler = [Turn(number, f"word{number}") for number in range(3, 30)]
    talk(engine, Turn(1, "quux"), Turn(2, "zebra"), *filler, Turn(30, "zebra"))
    hits = engine.search("zorb zebra", ("exchanges",))
    assert ids(hits)[0] == "s/2"
    assert {"s/1", "s/30"} < set(ids(hits))


def test_a_question_whose_vector_comes_too_late_is_answered_by_words(tmp_path: Path) -> None:
    may_go_on = threading.Event()

    class Slow(FakeEmbedder):
        def question(self, text: str) -> Vector:
            may_go_on.wait(30)
            return super().question(text)

    engine = Engine(tmp_path / "recall.sqlite", Slow)
    try:
        put(engine, DEPLOY, *OTHERS)
        (hit,) = engine.search("tuesday", until=time.monotonic())
        assert (hit.id, hit.likeness) == (DEPLOY.id, 0.0)
        may_go_on.set()
        assert engine.search("tuesday", until=time.monotonic() + 30)[0].likeness > 0.5
    finally:
        may_go_on.set()
        engine.close()


def test_a_hit_of_both_kinds_is_shown_unasked_only_where_its_cosine_is_high_as_well() -> None:
    assert clears(Hit("notes", "a", "a", 0.7, likeness=0.8))
    assert not clears(Hit("notes", "a", "a", 0.7, likeness=0.7))
    assert not clears(Hit("notes", "a", "a", 0.4, likeness=0.9))
    assert clears(Hit("notes", "a", "a", 0.4))


def test_a_session_can_end_while_texts_wait(tmp_path: Path) -> None:
    is_at_work, may_go_on = threading.Event(), threading.Event()

    class Slow(FakeEmbedder):
        def passage(self, text: str):
            is_at_work.set()
            may_go_on.wait(30)
            return super().passage(text)

    engine = Engine(tmp_path / "recall.sqlite", Slow)
    by_id = {note.id: [note_row(note)] for note in OTHERS}
    assert engine.update("notes", dict.fromkeys(by_id, "1"), by_id.get)
    assert not engine.wait_for_vectors(0)
    assert is_at_work.wait(30)
    engine.close()
    may_go_on.set()
    assert engine.wait_for_vectors(30)
    assert kept(engine) == 0
    assert kept(engine, "texts") == 12
    again = Engine(engine.path, FakeEmbedder)
    try:
        assert again.update("notes", dict.fromkeys(by_id, "1"), by_id.get)
        assert again.wait_for_vectors(30)
        assert kept(again) == 12
    finally:
        again.close()


def test_a_damaged_text_has_the_index_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "recall.sqlite"
    plain = Engine(path, FakeEmbedder)
    by_id = {note.id: [note_row(note)] for note in (DEPLOY, *OTHERS)}
    assert plain.update("notes", dict.fromkeys(by_id, "1"), by_id.get)
    plain.close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE texts SET text = x'00'")
    connection.commit()
    connection.close()
    engine = Engine(path, FakeEmbedder)
    try:
        engine.search("tuesday")
        assert engine.wait_for_vectors(30)
        put(engine, DEPLOY, *OTHERS)
        assert engine.search("zorb")[0].id == DEPLOY.id
    finally:
        engine.close()


_WORDS = st.sampled_from(["zebra", "deploy", "zorb", "quux", "glim", "饕餮", "魍魉", "the", "\0", "\ud800"])
_TEXTS = st.lists(_WORDS, max_size=4).map(" ".join)
_NOTES = st.dictionaries(st.sampled_from("abcdef"), st.tuples(_TEXTS, _TEXTS), max_size=6)
_TURNS = st.lists(_TEXTS, max_size=4)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(_NOTES, _TURNS), min_size=1, max_size=3))
def test_updates_give_the_same_answers_as_an_index_made_anew(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[dict[str, tuple[str, str]], list[str]]]
) -> None:
    folder = tmp_path_factory.mktemp("index")
    grown = Engine(folder / "grown.sqlite", FakeEmbedder)
    anew = Engine(folder / "anew.sqlite", FakeEmbedder)
    try:
        for notes, texts in steps:
            put(grown, *(NoteText(name, said[0], (said[1],)) for name, said in notes.items()))
            talk(grown, *(Turn(number, text) for number, text in enumerate(texts, 1)))
        notes, texts = steps[-1]
        talk(anew, *(Turn(number, text) for number, text in enumerate(texts, 1)))
        put(anew, *(NoteText(name, said[0], (said[1],)) for name, said in reversed(notes.items())))
        for question in ("zebra", "quux 饕餮", "glim", "the"):
            assert grown.search(question) == anew.search(question)
        assert kept(grown) == kept(anew)
    finally:
        grown.close()
        anew.close()
