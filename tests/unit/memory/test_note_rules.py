"""Which of two notes counts, and what becomes of the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.memory.changes import Create, Forget, Ref, Supersede, Update
from mewcode.memory.dates import time_of, time_text
from mewcode.memory.rules import merged, prepared
from mewcode.memory.similar import almost_same_body, likeness
from tests.support.notes import NOW, add, note, one, ref, store


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ({"origin": "user"}, {"origin": "user"}, "superseded"),
        ({"origin": "agent"}, {"origin": "user"}, "superseded"),
        ({"origin": "agent"}, {"origin": "agent"}, "superseded"),
        ({"origin": "user"}, {"origin": "agent"}, "conflict"),
        ({"origin": "user", "confidence": 0.1}, {"origin": "agent", "confidence": 1.0}, "conflict"),
        ({"origin": "agent", "confidence": 0.9}, {"origin": "agent", "confidence": 0.5}, "weaker"),
        ({"origin": "agent", "confidence": 0.5}, {"origin": "agent", "confidence": 0.5}, "superseded"),
        ({"origin": "user"}, {"origin": "user", "updated": "2020-01-01"}, "weaker"),
        ({"origin": "user", "updated": "2999-01-01"}, {"origin": "user"}, "superseded"),
        ({"origin": "agent"}, {"origin": "web"}, "conflict"),
    ],
)
def test_a_contradiction_closes_the_weaker(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any], kind: str
) -> None:
    notes = store(tmp_path)
    add(notes, note("runner", "unittest", **old))
    request = Supersede(ref(one(notes, "runner")), note("runner", "pytest", **new))
    outcome = notes.apply([request], by="agent").outcomes[0]
    assert outcome.kind == kind
    by_body = {entry.line: entry for entry in notes.entries()}
    assert by_body.keys() == {"unittest", "pytest"}, "both stay on the disk"
    states = (by_body["unittest"].state(NOW), by_body["pytest"].state(NOW))
    assert states == {
        "superseded": ("superseded", "live"), "weaker": ("live", "superseded"), "conflict": ("live", "inbox"),
    }[kind]  # fmt: skip
    if kind == "superseded":
        closed, fresh = by_body["unittest"], by_body["pytest"]
        assert (closed.superseded_by, closed.valid_to) == (fresh.file, time_text(NOW))
        assert fresh.supersedes == (closed.file,)
    assert len(notes.live()) == 1
    notes.undo()
    assert [(entry.line, entry.state(NOW)) for entry in notes.entries()] == [("unittest", "live")]


def test_a_weaker_word_does_not_overwrite_but_adds_words(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a", "mine"))
    told = add(
        notes,
        note("a", "other", origin="agent"),
        note("a", "mine", origin="agent", aliases=("x",)),
        by="agent",
    )
    assert [outcome.kind for outcome in told] == ["conflict", "updated"]
    live = notes.live()[0]
    assert (live.line, live.origin, live.aliases) == ("mine", "user", ("x",))
    change = Update(ref(live), {"body": "other"}, by_origin="agent")
    assert notes.apply([change], by="agent").outcomes[0].kind in ("conflict", "unchanged")
    assert notes.live()[0].line == "mine"


def test_a_conflict_told_twice_waits_once(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a", "mine"))
    for _ in range(3):
        add(notes, note("a", "other", origin="agent"), by="agent")
    waiting = [entry for entry in notes.entries() if entry.state(NOW) == "inbox"]
    assert len(waiting) == 1
    assert len(notes.history()) == 2


def test_a_refused_conflict_is_not_proposed_again(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a", "The freeze begins on 2026-03-05."))
    other = note("a", "The freeze begins on 2026-03-12.", origin="agent")
    [told] = add(notes, other, by="agent")
    refusal = notes.apply([Forget(Ref("project", told.file))], by="user")
    again = [
        *add(notes, other, by="agent"),
        *add(notes, note("A", "A freeze begins on 2026-03-12", origin="agent"), by="agent"),
        *notes.apply(
            [Update(ref(one(notes, "a")), {"body": other.body}, by_origin="agent")], by="agent"
        ).outcomes,
        *notes.apply([Supersede(ref(one(notes, "a")), other)], by="agent").outcomes,
    ]
    assert {outcome.kind for outcome in again} == {"withheld"}
    assert "the user refused it on" in again[0].reason
    later = note("a", "The freeze begins on 2026-04-09.", origin="agent")
    assert [outcome.kind for outcome in add(notes, later, by="agent")] == ["conflict"], "another day is news"
    notes.undo()
    notes.undo(refusal.id)
    assert [outcome.kind for outcome in add(notes, other, by="agent")] == ["unchanged"], "it waits again"


@pytest.mark.parametrize("origin", ["tool", "web"])
def test_what_rests_on_a_tool_waits_for_a_yes(tmp_path: Path, origin: str) -> None:
    notes = store(tmp_path)
    outcome = add(notes, note("a", origin=origin), by="agent")[0]
    assert (outcome.kind, outcome.file) == ("inbox", "inbox/project_knowledge_a.md")
    assert notes.prompt_text() == ""
    assert add(notes, note("a", origin=origin), by="agent")[0].kind == "unchanged"


def test_near_identical_notes_are_one_where_it_is_asked_for(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("Use pytest for tests", "Run the tests with pytest, never unittest."))
    near = note("Use pytest for the tests", "Run the tests with pytest and never unittest.")
    far = note("Use pytest for all tests", "The database is on port 5432 of the staging host.")
    kinds = [
        notes.apply([Create(item, merge_similar=merge)], by="agent").outcomes[0].kind
        for item, merge in ((far, True), (near, True), (near, False))
    ]
    assert kinds == ["created", "updated", "created"]
    assert len(notes.entries()) == 3


def test_similar_ones_are_named(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(
        notes, note("Deploy day", "Fridays."), note("数据库端口", "5432"), note("Coffee", "Black."),
        note("Editor", "vim", aliases=("which editor to use",)),
    )  # fmt: skip

    def similar(name: str, **more: Any) -> list[str]:
        return [entry.name for entry in notes.similar(note(name, "Something else.", **more))]

    assert similar("Deployment day") == ["Deploy day"]
    assert similar("数据库的端口") == ["数据库端口"]
    assert similar("Which editor") == ["Editor"]
    assert similar("deploy DAY") == []
    assert similar("Language") == []


def test_an_expired_note_told_again_is_in_force(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("sale", "until May", valid_to="2020-01-01"))
    assert notes.live() == []
    assert add(notes, note("sale", "again"))[0].kind == "updated"
    assert [entry.line for entry in notes.live()] == ["again"]


def test_a_day_lasts_to_its_end(tmp_path: Path) -> None:
    end = time_of("2026-05-01", day_ends=True) or 0.0
    for moment, live in ((end - 60, 1), (end + 60, 0)):
        notes = store(tmp_path / str(live), clock=lambda moment=moment: moment)
        add(notes, note("a", valid_to="2026-05-01"))
        assert len(notes.live()) == live


@given(st.text(max_size=45))
def test_no_text_breaks_a_date(text: str) -> None:
    for day_ends in (False, True):
        assert time_of(text, day_ends=day_ends) is None or text


@given(st.floats(0, 4e9))
def test_a_moment_is_read_back(moment: float) -> None:
    assert time_of(time_text(moment)) == int(moment)


BODIES = st.sampled_from(["", "one", "two", "three"])


@given(BODIES, BODIES, st.lists(BODIES, max_size=3), st.lists(BODIES, max_size=3))
def test_to_tell_the_same_twice_changes_nothing_more(
    one: str, two: str, tags: list[str], more: list[str]
) -> None:
    old = prepared(note("a", one, tags=tuple(tags)), NOW)
    new = prepared(note("a", two, tags=tuple(more)), NOW)
    once = merged(old, new, is_expired=False, now=NOW)
    assert merged(once, new, is_expired=False, now=NOW + 5) is once
    assert set(once.tags) == {tag for tag in (*tags, *more) if tag}


@given(st.text(max_size=40), st.text(max_size=40))
def test_likeness_is_a_share(one: str, two: str) -> None:
    assert 0 <= likeness(one, two) == likeness(two, one) <= 1
    assert not one.isalpha() or likeness(one, one) == 1
    assert isinstance(almost_same_body(one, two), bool)
