"""``# text``: what it is about, what is asked, what the model is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.agent.session import Session
from mewcode.core.errors import NoteError
from mewcode.note_tools.desk import NoteDesk
from mewcode.note_tools.guess import MOST_NAME, guess, name_of
from mewcode.repl.commands import Later, Outcome, Pick, Say
from mewcode.repl.commands.note import note_outcome
from tests.support.notes import one, store
from tests.support.sample_session import hold, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer


@pytest.mark.parametrize(
    ("text", "kind", "level", "is_sure"),
    [
        ("I prefer short answers", "user_preference", "user", True),
        ("我喜欢简短的回答", "user_preference", "user", True),
        ("the release freeze begins on 2027-01-15", "project_knowledge", "project", True),
        ("每周五部署", "project_knowledge", "project", True),
        ("see https://example.com/board", "reference_material", "project", True),
        ("never commit without a test", "correction_feedback", "user", False),
        ("以后不要用 unittest", "correction_feedback", "user", False),
        ("in this project always run make", "correction_feedback", "project", False),
        ("blue", "project_knowledge", "project", False),
        ("feedback: use tabs", "correction_feedback", "user", True),
        ("reference：看板在飞书", "reference_material", "project", True),
        ("note: x", "project_knowledge", "project", False),
    ],
)
def test_what_words_are_about(text: str, kind: str, level: str, is_sure: bool) -> None:
    found = guess(text)
    assert (found.type, found.level, found.is_sure) == (kind, level, is_sure)


def test_a_type_that_was_named_is_no_part_of_the_note() -> None:
    assert guess(" user: 叫我小明 ").text == "叫我小明"
    assert guess("http://x.y").text == "http://x.y"


@given(st.text(min_size=1).filter(str.strip))
def test_a_name_is_short_and_never_empty(text: str) -> None:
    name = name_of(text)
    assert name.strip()
    assert len(name) <= MOST_NAME
    guess(text)


def test_the_first_sentence_names_a_note() -> None:
    assert name_of("Deploys are on Fridays. Never on Mondays.") == "Deploys are on Fridays"
    assert name_of("周五部署。周一不行。") == "周五部署"


def test_what_begins_alike_is_not_replaced(tmp_path: Path) -> None:
    notes = store(tmp_path)
    desk = NoteDesk(notes, lambda: "s1")
    for text in ("Deploy. On Fridays.", "Deploy. On Mondays.", "Deploy. On Mondays."):
        done, told = desk.take(text, "project_knowledge", "project")
    assert (done.shown, told) == ("nothing new: Deploy (2)", "")
    assert {entry.name for entry in notes.live()} == {"Deploy", "Deploy (2)"}
    assert one(notes, "Deploy").origin == "user"


def test_no_secret_is_kept_or_told(tmp_path: Path) -> None:
    key = "sk-" + "a1B2" * 8
    notes = store(tmp_path)
    _, told = NoteDesk(notes, lambda: "s1").take(f"my key is {key}", "user_preference", "user")
    assert key not in told
    assert all(key not in path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file())


async def finish(outcome: Outcome, chosen: str = "") -> Say:
    while not isinstance(outcome, Say):
        if isinstance(outcome, Pick):
            assert chosen
            outcome = outcome.then(chosen)
        else:
            assert isinstance(outcome, Later)
            outcome = await outcome.work()
    return outcome


def test_the_model_is_told_with_the_next_message(tmp_path: Path) -> None:
    provider = ScriptedProvider(answer("ok"))

    async def scenario(session: Session) -> None:
        said = await finish(note_outcome(session, "# 我喜欢简短的回答"))
        assert said == Say("noted: 我喜欢简短的回答 · /memory undo takes it back")
        asked = note_outcome(session, "# never use tabs")
        assert isinstance(asked, Pick)
        assert asked.options[asked.selected].value == "correction_feedback user"
        said = await finish(asked, "correction_feedback project")
        assert said.text.startswith("noted: never use tabs")
        await take_turn(session, "hi")

    hold(tmp_path, provider, scenario)
    sent = "\n".join(message.text for message in provider.requests[0].messages)
    assert "The user noted this for later sessions" in sent
    assert "我喜欢简短的回答" in sent


def test_where_notes_are_off_nothing_is_kept(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        assert session.notes is None
        said = await finish(note_outcome(session, "# text"))
        assert said.text == "notes are off: this was neither kept nor sent"

    hold(tmp_path, ScriptedProvider(), scenario, no_memory=True)
    assert not list(tmp_path.rglob("memory"))


def test_a_kind_that_is_none_is_refused(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        assert session.notes is not None
        with pytest.raises(NoteError, match="of the kind nothing"):
            session.notes.take("x", "nothing")

    hold(tmp_path, ScriptedProvider(), scenario)
