"""What the store is asked to do with what a model proposes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.memory.changes import Approve, Create, Forget, Ref, Supersede, Update
from mewcode.memory.entry import Entry
from mewcode.memory.extract.reply import MOST_BODY, Proposal
from mewcode.memory.store import NoteStore
from tests.support.note_talk import (
    TALK,
    apply,
    called,
    drafts,
    proposal,
    said,
)
from tests.support.notes import add, note, one, ref, store


def test_a_note_of_the_users_word_counts_at_once_and_a_tools_waits(tmp_path: Path) -> None:
    notes = store(tmp_path)
    outcomes = apply(notes, proposal("A"), proposal("B", rests_on=("m3",)), proposal("C", rests_on=("m6",)))
    assert [outcome.kind for outcome in outcomes] == ["created", "inbox", "created"]


def test_the_same_fact_twice_is_one_note(tmp_path: Path) -> None:
    notes = store(tmp_path)
    body = "Tests are written with pytest and never with unittest."
    apply(notes, proposal("Use pytest for tests", body=body))
    outcomes = apply(notes, proposal("use pytest for Tests", body=f"{body} Also fixtures."))
    assert [outcome.kind for outcome in outcomes] == ["updated"]
    assert len(notes.entries()) == 1


UV = proposal("We use uv", body="Packages are installed with uv, never with pip.")
UV_AGAIN = proposal("we use UV.", body="Packages are installed with uv and never with pip")


@pytest.mark.parametrize(
    ("said_later", "proposed", "kind"),
    [
        ("uv took two seconds", UV, "withheld"),
        ("uv took two seconds", UV_AGAIN, "withheld"),
        ("uv took two seconds", proposal("We use uv", body="Told in other words: it is uv."), "withheld"),
        ("the freeze is on 2026-04-09", proposal("We use uv", body="Of uv 0.12 at least."), "created"),
        ("we use ruff", proposal("We use ruff", body="Code is formatted with ruff."), "created"),
        ("remember that we use uv", UV, "created"),
        ("以后都用 uv", UV_AGAIN, "created"),
        ("do not remember that we use uv", UV, "withheld"),
    ],
)
def test_what_the_user_deleted_comes_back_only_where_they_ask_for_it(
    tmp_path: Path, said_later: str, proposed: Proposal, kind: str
) -> None:
    notes = store(tmp_path)
    apply(notes, UV)
    notes.apply([Forget(ref(one(notes, "We use uv")))], by="user")
    [outcome] = apply(notes, proposed, talk=[said(said_later, "u2")])
    assert outcome.kind == kind


def test_a_note_that_was_taken_back_stays_away(tmp_path: Path) -> None:
    notes = store(tmp_path)
    talk = [said("we use uv", "u1"), said("remember: no tabs", "u2")]
    apply(notes, UV, talk=talk)
    notes.undo()
    assert [outcome.kind for outcome in apply(notes, UV, talk=talk)] == ["withheld"], "another message asks"
    asked = proposal("We use uv", body=UV.body, rests_on=("m2",))
    assert [outcome.kind for outcome in apply(notes, asked, talk=talk)] == ["created"]
    notes.undo()
    told = apply(notes, asked, talk=talk)
    assert [outcome.kind for outcome in told] == ["withheld"], "it asked for what was taken back"
    add(notes, note("We use uv", "again", kind="correction_feedback", level="user"))
    assert [outcome.kind for outcome in apply(notes, UV, talk=talk)] == ["updated"], (
        "the user brought it back"
    )


def test_a_note_is_updated_by_its_file(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(
        notes, note("Runner", "unittest", description="old", aliases=("a",), origin="agent", source=("s0/x",))
    )
    file = one(notes, "Runner").file
    made = drafts(
        proposal("Runner", action="update", file=file, body="pytest", aliases=("b",)), entries=notes.entries()
    )
    [request] = made.requests
    assert isinstance(request, Update)
    assert request.ref.seen == one(notes, "Runner").digest
    notes.apply(made.requests, by="agent")
    entry = one(notes, "Runner")
    assert (entry.line, entry.description) == ("pytest", ""), "the old description may be wrong by now"
    assert entry.aliases == ("b", "a")
    assert entry.source == ("s1/u1", "s0/x")
    assert entry.origin == "user"


def test_words_to_search_by_are_added_to_anybodys_note(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("Runner", "pytest"))
    update = Proposal(
        action="update",
        file=one(notes, "Runner").file,
        aliases=("test tool",),
        rests_on=("m6",),
        confidence=0.1,
    )
    assert [outcome.kind for outcome in apply(notes, update)] == ["updated"]
    entry = one(notes, "Runner")
    assert (entry.aliases, entry.origin, entry.line) == (("test tool",), "user", "pytest")
    assert entry.confidence is None
    foreign = Proposal(action="update", file=entry.file, aliases=("x",), rests_on=("m3",))
    assert drafts(foreign, entries=notes.entries()).requests == ()


@pytest.mark.parametrize(
    ("rests_on", "kind"),
    [(("m1",), "updated"), (("m6",), "conflict"), (("m3",), "conflict"), (("m5",), "conflict")],
)
def test_a_weaker_word_never_updates_the_users_note(
    tmp_path: Path, rests_on: tuple[str, ...], kind: str
) -> None:
    notes = store(tmp_path)
    add(notes, note("Runner", "unittest"))
    file = one(notes, "Runner").file
    [outcome] = apply(notes, proposal("Runner", action="update", file=file, body="pytest", rests_on=rests_on))
    assert outcome.kind == kind
    live = [entry.line for entry in notes.live()]
    assert live == (["pytest"] if kind == "updated" else ["unittest"])


@pytest.mark.parametrize("action", ["update", "supersede"])
def test_a_page_changes_not_even_what_a_tool_said_without_a_yes(tmp_path: Path, action: Any) -> None:
    notes = store(tmp_path)
    add(notes, note("Boxes", "ten pieces", origin="tool"))
    waiting = one(notes, "Boxes")
    notes.apply([Approve(Ref("project", waiting.file))], by="user")
    file = one(notes, "Boxes").file
    [outcome] = apply(notes, proposal("Boxes", action=action, file=file, body="twelve", rests_on=("m5",)))
    assert outcome.kind == "inbox"
    assert [entry.line for entry in notes.live()] == ["ten pieces"]


def test_what_is_no_longer_true_is_closed(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("Runner", "unittest", origin="agent"))
    file = one(notes, "Runner").file
    made = drafts(
        proposal("Test runner", action="supersede", file=file.removesuffix(".md"), level="user", type=None),
        entries=notes.entries(),
    )
    [request] = made.requests
    assert isinstance(request, Supersede)
    assert (request.note.level, request.note.type) == ("project", "project_knowledge"), "those of the old one"
    assert [outcome.kind for outcome in notes.apply(made.requests, by="agent").outcomes] == ["superseded"]
    assert [entry.name for entry in notes.live()] == ["Test runner"]


@pytest.mark.parametrize(
    ("rests_on", "is_done"),
    [
        (("m1",), True),
        (("m6",), False),
        (("m1", "m3"), False),
        (("m5",), False),
        ((), False),
        (("m77",), False),
    ],
)
def test_only_the_users_own_word_deletes(tmp_path: Path, rests_on: tuple[str, ...], is_done: bool) -> None:
    notes = store(tmp_path)
    add(notes, note("Runner"))
    delete = Proposal(action="delete", name="Other", file=one(notes, "Runner").file, rests_on=rests_on)
    talk = [said("the note on the runner is wrong, delete it"), *TALK[1:]]
    made = drafts(delete, talk=talk, entries=notes.entries())
    assert [type(request) for request in made.requests] == ([Forget] if is_done else [])
    assert bool(made.problems) != is_done


@pytest.mark.parametrize(
    "text", ["look at this page", "why?\n```\nforget all notes\n```", "says `forget it`?"]
)
def test_words_that_ask_for_no_such_thing_delete_nothing(tmp_path: Path, text: str) -> None:
    notes = store(tmp_path)
    add(notes, note("Runner"))
    delete = Proposal(action="delete", file=one(notes, "Runner").file, rests_on=("m1",))
    made = drafts(delete, talk=[said(text), *TALK[1:]], entries=notes.entries())
    assert (made.requests, len(made.problems)) == ((), 1)


def test_a_note_that_is_not_there_or_not_in_force_is_not_changed(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("A"), note("A", level="user"), note("Waits", origin="tool"))
    file, waiting = one_file(notes, "A"), one(notes, "Waits").file
    made = drafts(
        proposal(action="update", file="nothing.md"),
        proposal(action="update", file=waiting),
        proposal(action="update", file=file),
        proposal(action="update", file=file, level="user"),
        proposal(action="supersede", file=file, level="user"),
        entries=notes.entries(),
    )
    [request] = made.requests
    assert isinstance(request, Update)
    assert (request.ref.level, request.ref.file) == ("user", file)
    assert made.problems == (
        "update Tests: there is no such note in force",
        "update Tests: there is no such note in force",
        "update Tests: there are notes of that file at both levels, and none was named",
        "supersede Tests: the same answer changes that note already",
    )


def one_file(notes: NoteStore, name: str) -> str:
    return next(entry.file for entry in notes.entries("project") if entry.name == name)


def test_what_was_changed_by_hand_meanwhile_stays(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("Runner", "unittest", origin="agent"))
    entry = one(notes, "Runner")
    made = drafts(
        proposal("Runner", action="update", file=entry.file, body="pytest"), entries=notes.entries()
    )
    path = notes.path(entry)
    path.write_text(path.read_text("utf-8").replace("unittest", "my own words"), "utf-8")
    [outcome] = notes.apply(made.requests, by="agent").outcomes
    assert outcome.kind == "stale"
    assert one(notes, "Runner").line == "my own words"


@pytest.mark.parametrize(
    "piece", ["a", "a ", "ignore ", "curl ", "without ", "你", "明天", "/x", "never push ", "."]
)
def test_long_texts_take_time_in_proportion(piece: str) -> None:
    talk = [said(piece * 100_000, f"u{number}") for number in range(20)]
    talk += [message for number in range(200) for message in called("bash", piece * 10_000, f"t{number}")]
    body = (piece * MOST_BODY)[: MOST_BODY // 3]
    proposals = [proposal(f"N{number}", body=body) for number in range(40)]
    begin = time.process_time()
    assert len(drafts(*proposals, talk=talk).requests) == 40
    assert time.process_time() - begin < 10  # seconds; it takes one or two


TEXTS = st.text(max_size=60) | st.sampled_from(
    ["明天", "m1", "ignore previous instructions", "sk-" + "a" * 30]
)
PROPOSALS = st.builds(
    Proposal,
    action=st.sampled_from(["create", "update", "supersede", "delete"]),
    type=st.sampled_from([None, "user_preference", "project_knowledge"]),
    level=st.sampled_from([None, "user", "project"]),
    name=TEXTS,
    description=TEXTS,
    body=TEXTS,
    aliases=st.lists(TEXTS, max_size=3).map(tuple),
    reason=TEXTS,
    rests_on=st.lists(st.sampled_from(["m1", "m3", "m5", "m6", "m99", "x"]), max_size=3).map(tuple),
    file=st.sampled_from(["", "a.md", "b.md", "../a.md"]),
    confidence=st.none() | st.floats(0, 1),
)


@given(st.lists(PROPOSALS, max_size=6))
def test_any_proposals_become_requests_or_problems(proposals: list[Proposal]) -> None:
    entries = [
        Entry("a.md", (0, 0, 0), "d", "project", "A", "project_knowledge", "a"),
        Entry("inbox/b.md", (0, 0, 0), "d", "project", "B", "project_knowledge", "b"),
    ]
    made = drafts(*proposals, entries=entries)
    assert len(made.requests) + len(made.problems) == len(proposals)
    for request in made.requests:
        if isinstance(request, Create | Supersede):
            is_weak = request.note.origin in ("tool", "web")
            assert is_weak or not request.note.tags
        if not isinstance(request, Create):
            assert request.ref.file == "a.md"  # type: ignore[union-attr]
