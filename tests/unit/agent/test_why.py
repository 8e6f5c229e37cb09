"""Which notes stood before an answer, and what each of them rests on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mewcode.agent.conversation import new_message
from mewcode.agent.why import Asked, why, why_of_session
from mewcode.core.errors import SessionError
from mewcode.core.message import Message, Text
from mewcode.infra.paths import Places, find_places
from mewcode.memory.answers.view import NoteView
from mewcode.memory.changes import Forget
from mewcode.memory.store import NoteStore
from mewcode.prompt.notes import fenced
from mewcode.sessions.workspaces import remember_root
from tests.support.archive import asked as called
from tests.support.archive import head, make_session, said
from tests.support.notes import NOW, add, note, one, ref, store

TURN = (new_message("user", (Text("hi"),), "user"), new_message("assistant", (Text("hello"),), "model"))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return find_places(tmp_path / "project", {"HOME": str(tmp_path / "home")})


@pytest.fixture
def notes(tmp_path: Path) -> NoteStore:
    return store(tmp_path, clock=lambda: NOW)


def sessions(places: Places) -> Path:
    return places.project / "sessions"


def lines(
    notes: NoteStore, places: Places, prompt: str | None, messages: Sequence[Message] = TURN
) -> tuple[str, ...]:
    folder = sessions(places) / "s9"
    view = NoteView(notes, "/memory", now=NOW)
    return why(view, places, Asked("s9", folder, messages, prompt)).lines


def test_each_note_comes_with_the_line_that_it_rests_on(notes: NoteStore, places: Places) -> None:
    make_session(
        sessions(places), "s1", head("s1"), said("m1", "hi"), said("m2", "记住：部署在\n每周五"),
        called("m3", "c1", "save_note", body="x"),
    )  # fmt: skip
    add(notes, note("部署日", source=("s1/m2", "s1/c1")), note("typed", source=("s1",)), note("by hand"))
    assert lines(notes, places, notes.prompt_text()) == (
        "3 notes stood before the last answer of session s9",
        "[project_knowledge] by hand  (project; index)",
        "    rests on no session: from user",
        "[project_knowledge] typed  (project; index)",
        "    session s1: typed there by the user as a note",
        "[project_knowledge] 部署日  (project; index)",
        "    session s1, line 3: 记住：部署在 每周五",
        '    session s1, line 4: [save_note {"body":"x"}]',
    )


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("s7/m1", "session s7: it is gone"),
        ("s1/m9", "session s1: it holds that record no more"),
        ("../project/m1", "session ..: no session is called so"),
        ("s2/m1", "session s2: it belongs to {other}"),
    ],
)
def test_what_cannot_be_quoted_is_said(
    source: str, words: str, notes: NoteStore, places: Places, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    make_session(sessions(places), "s1", head("s1"), said("m1", "hi"))
    make_session(other / ".mewcode/sessions", "s2", head("s2"), said("m1", "SECRET OF ANOTHER PROJECT"))
    remember_root(places.user, other, now=NOW)
    add(notes, note("x", level="user", source=(source,)))
    found = lines(notes, places, notes.prompt_text())
    assert found[2] == f"    {words.format(other=other)}"
    assert "ANOTHER PROJECT" not in str(found)


def test_a_session_of_another_work_tree_of_the_repository_is_quoted(
    notes: NoteStore, places: Places, tmp_path: Path
) -> None:
    own = places.root / ".git" / "worktrees" / "tree"
    own.mkdir(parents=True)
    tree = tmp_path / "tree"
    make_session(tree / ".mewcode/sessions", "s3", head("s3"), said("m1", "said in the other tree"))
    (tree / ".git").write_text(f"gitdir: {own}\n")
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{tree / '.git'}\n")
    add(notes, note("x", source=("s3/m1",)))
    assert lines(notes, places, notes.prompt_text())[2] == "    session s3, line 2: said in the other tree"


def test_no_secret_is_quoted_and_nothing_acts_on_the_terminal(notes: NoteStore, places: Places) -> None:
    key = "sk-" + "a1B2" * 8
    make_session(sessions(places), "s1", head("s1"), said("m1", f"use {key} \x1b[31mred" + "x" * 500))
    add(notes, note("x", source=("s1/m1",)))
    found = lines(notes, places, notes.prompt_text())[2]
    assert key not in found
    assert "\x1b" not in found
    assert len(found) < 220


def test_a_recalled_note_comes_first_and_with_its_score(notes: NoteStore, places: Places) -> None:
    add(notes, note("a"), note("b"), note("core", "rule", "correction_feedback"))
    meta = {"notes": [{"file": "project_knowledge_b.md", "level": "project", "score": 0.8765}]}
    recall = Message("m1", "user", (Text(fenced("b")),), "recall", provider_meta=meta)
    found = lines(notes, places, notes.prompt_text(), (TURN[0], recall, TURN[1]))
    assert [line for line in found if line.startswith("[")] == [
        "[project_knowledge] b  (project; recalled 0.88, index)",
        "[correction_feedback] core  (project; core rule, index)",
        "[project_knowledge] a  (project; index)",
    ]


def test_a_note_that_was_forgotten_since_is_still_named(notes: NoteStore, places: Places) -> None:
    add(notes, note("gone"))
    prompt = notes.prompt_text()
    notes.apply([Forget(ref(one(notes, "gone")))], by="user")
    assert lines(notes, places, prompt)[1] == "[project_knowledge] gone  (project; index)"
    assert lines(notes, places, "") == ("no note stood before the last answer of session s9",)


def test_where_the_prompt_is_not_known_the_history_says_what_it_held(tmp_path: Path, places: Places) -> None:
    moment = [NOW]
    notes = store(tmp_path, clock=lambda: moment[0])
    add(notes, note("early"))
    moment[0] += 100
    add(notes, note("late"))
    folder = make_session(
        sessions(places),
        "s9",
        head("s9"),
        said("m1", "hi", NOW + 50),
        said("m2", "hello", NOW + 51, "assistant"),
    )
    view = NoteView(notes, "mewcode memory", now=NOW + 200)
    answer: Any = why_of_session(view, places)
    assert answer.lines[1:3] == (
        "(those in the prompt: as the history has them for when this conversation began)",
        "[project_knowledge] early  (project; index)",
    )
    assert answer.value["prompt"] == "from the history"
    assert [item["name"] for item in answer.value["notes"]] == ["early"]
    assert why_of_session(view, places, folder.name).value == answer.value


def test_a_session_without_an_answer_has_none(notes: NoteStore, places: Places) -> None:
    view = NoteView(notes, "mewcode memory")
    with pytest.raises(SessionError, match="no session yet"):
        why_of_session(view, places)
    make_session(sessions(places), "s9", head("s9"), said("m1", "hi"))
    with pytest.raises(SessionError, match="no answer yet"):
        why_of_session(view, places)
    with pytest.raises(SessionError, match="no session 'zzz'"):
        why_of_session(view, places, "zzz")
