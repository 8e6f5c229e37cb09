"""What a person is answered who asks something of the notes, in the shell as within a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mewcode.core.errors import NoteError, UsageError
from mewcode.memory.answers.changing import forgotten, moved, pinned, restored, undone
from mewcode.memory.answers.inbox import inbox
from mewcode.memory.answers.reading import changes, listed, shown
from mewcode.memory.answers.view import NoteView
from mewcode.memory.changes import Create, Forget, Supersede
from mewcode.memory.past_index import prompt_text_at
from mewcode.memory.store import NoteStore
from tests.support.notes import NOW, add, note, one, ref, store


def view(notes: NoteStore, **more: Any) -> NoteView:
    return NoteView(notes, "/memory", now=NOW + 1, **more)


def names(notes: NoteStore) -> list[str]:
    return [entry.name for entry in view(notes).entries() if entry.state(NOW) == "live"]


def test_hints_say_what_to_type_where_the_user_is(tmp_path: Path) -> None:
    notes = store(tmp_path)
    assert listed(view(notes)).hint == "there are no notes yet"
    add(notes, note("old", valid_to="2020-01-01"), note("new"))
    answer = listed(view(notes))
    assert (len(answer.lines), answer.hint) == (1, "1 more are not in force: /memory list --all")
    assert len(listed(view(notes), everything=True).lines) == 2
    with pytest.raises(NoteError) as error:
        shown(NoteView(notes, "mewcode memory"), "zzz")
    assert error.value.hint == "See them all: mewcode memory list --all"


def test_a_pinned_note_stands_whole_and_moves_with_its_pin(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("部署日", "每周五部署。\n中午。"))
    assert pinned(view(notes), ["部署日"], on=True).lines == ("pinned: 部署日",)
    assert "### 部署日\n每周五部署。\n中午。" in notes.prompt_text()
    assert moved(view(notes), "部署日", "user").lines == ("moved: 部署日",)
    assert (one(notes, "部署日").level, one(notes, "部署日").pinned) == ("user", True)
    assert pinned(view(notes), ["部署日"], on=False).lines == ("no longer pinned: 部署日",)
    assert undone(view(notes)).lines == ("undone: updated 部署日",)
    with pytest.raises(UsageError, match="nowhere is no level"):
        moved(view(notes), "部署日", "nowhere")


def test_what_was_forgotten_comes_back_by_name(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a"), note("b"))
    assert forgotten(view(notes), ["a", "b", "a"]).lines == ("forgotten: a", "forgotten: b")
    assert restored(view(notes), []).lines == (
        "project/project_knowledge_a.md  deleted", "project/project_knowledge_b.md  deleted",
    )  # fmt: skip
    assert restored(view(notes), ["b"]).lines == ("restored: b",)
    assert names(notes) == ["b"]
    assert [value["what"][0] for value in changes(view(notes), 2).value] == ["restored b", "forgotten a"]


def waiting(tmp_path: Path) -> NoteStore:
    """Two notes that wait, of which the second stands against one in force."""
    notes = store(tmp_path)
    add(notes, note("Deploy day", "Fridays."))
    notes.apply([Create(note("API", "v3 is out", origin="web"))], by="agent")
    against = note("New day", "Mondays.", origin="tool", description="of the pipeline")
    notes.apply([Supersede(ref(one(notes, "Deploy day")), against)], by="agent")
    return notes


def test_the_inbox_lists_what_waits_with_whose_word_it_is(tmp_path: Path) -> None:
    answer = inbox(view(waiting(tmp_path)), [])
    assert answer.lines == (
        "1. [project_knowledge] API  (project, from web)",
        "   v3 is out",
        "2. [project_knowledge] New day  (project, from tool, contradicts project_knowledge_deploy-day.md)",
        "   of the pipeline",
        "   Mondays.",
    )
    assert answer.hint == "/memory inbox approve 1, or refuse 1"
    assert [(value["number"], value["state"], value["body"]) for value in answer.value] == [
        (1, "inbox", "v3 is out"), (2, "inbox", "Mondays."),
    ]  # fmt: skip
    assert inbox(view(store(tmp_path / "none")), []).hint == "nothing waits for your yes"


def test_a_note_is_approved_by_number_and_refused_by_name(tmp_path: Path) -> None:
    notes = waiting(tmp_path)
    assert inbox(view(notes), ["approve", "2"]).lines == ("approved: New day",)
    assert names(notes) == ["New day"]
    assert one(notes, "Deploy day").superseded_by
    assert inbox(view(notes), ["refuse", "api"]).lines == ("refused: API",)
    assert inbox(view(notes), []).lines == ()
    again = notes.apply([Create(note("API", "v3 is out", origin="web"))], by="agent").outcomes[0]
    assert again.kind == "withheld", "what the user refused does not come back by itself"
    assert undone(view(notes)).lines == ("undone: forgotten API",)
    assert len(inbox(view(notes), []).value) == 1


def test_several_numbers_are_those_of_the_list_that_was_shown(tmp_path: Path) -> None:
    notes = waiting(tmp_path)
    assert inbox(view(notes), ["approve", "1", "2", "1"]).lines == ("approved: API", "approved: New day")


@pytest.mark.parametrize("words", [["approve"], ["yes", "1"], ["1"]])
def test_the_inbox_says_what_it_takes(tmp_path: Path, words: list[str]) -> None:
    with pytest.raises(UsageError) as error:
        inbox(view(waiting(tmp_path)), words)
    assert "/memory inbox approve 1" in error.value.hint


def test_a_note_in_force_is_not_refused_by_way_of_the_inbox(tmp_path: Path) -> None:
    notes = waiting(tmp_path)
    for wanted in ("Deploy day", "3", "0", "zzz"):
        with pytest.raises(NoteError, match=f"no note {wanted} waits"):
            inbox(view(notes), ["refuse", wanted])
    assert names(notes) == ["Deploy day"]


def test_a_secret_in_a_waiting_note_is_not_shown(tmp_path: Path) -> None:
    notes = store(tmp_path)
    notes.apply([Create(note("API", "x", origin="web"))], by="agent")
    path = notes.path(one(notes, "API"))
    path.write_text(path.read_text("utf-8") + "key sk-" + "a1B2" * 8 + "\n", encoding="utf-8")
    assert "a1B2" not in str(inbox(view(notes), []).lines)


def test_the_index_of_an_earlier_time_holds_what_was_in_force_then(tmp_path: Path) -> None:
    moment = [NOW]
    notes = store(tmp_path, clock=lambda: moment[0])
    add(notes, note("a", "Erst dies.", description="one"), note("提交", "先跑测试", "correction_feedback"))
    first = notes.prompt_text()
    moment[0] += 100
    add(notes, note("a", "Then that.", description="two"), note("b"))
    notes.apply([Forget(ref(one(notes, "提交")))], by="user")
    assert prompt_text_at(notes, NOW + 50) == first
    assert prompt_text_at(notes, NOW + 200) == notes.prompt_text() != first
    assert prompt_text_at(notes, NOW - 1) == ""
