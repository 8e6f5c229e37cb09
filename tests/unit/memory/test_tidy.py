"""Tidying up: whose turn it is, what a model is asked, what may come of its answer, what is put at rest."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.memory.changes import Forget, Update
from mewcode.memory.entry import Use
from mewcode.memory.files import NoteCalls, text_digest
from mewcode.memory.liveness import Dead, Liveness
from mewcode.memory.note import Note, note_text
from mewcode.memory.store import NoteStore
from mewcode.memory.tidy.batches import BATCH_TOKENS, MOST_BATCHES, batches, tokens_of
from mewcode.memory.tidy.copy import Copy, Item, copy_of
from mewcode.memory.tidy.plan import Plan
from mewcode.memory.tidy.question import SCHEMA, labelled, tidy_question, tidy_words
from mewcode.memory.tidy.reply import read_answer
from mewcode.memory.tidy.report import TidyReport, carried_out
from mewcode.memory.tidy.turn import AGAIN, LEASE, LEAST_PAUSE, TURN, Turn, end_turn, read_turn, take_turn
from mewcode.memory.tidy.worth import Counted, at_rest, worth
from tests.support.notes import NOW, add, index, note, one, ref, store

ROOT = Path(__file__).parents[3]
DAY = 86_400.0
IS_SOAK = os.environ.get("MEWCODE_SOAK") == "1"
KILLS = 200 if IS_SOAK else 6


def nothing_gone(notes: Sequence[Note]) -> list[Liveness]:
    return [Liveness()] * len(notes)


def gone_when(*names: str, now: str = "") -> Any:
    """A check that finds these names gone where a body holds them."""

    def check(notes: Sequence[Note]) -> list[Liveness]:
        found = (tuple(Dead("path", name, now) for name in names if name in note.body) for note in notes)
        return [Liveness(dead, len(dead)) for dead in found]

    return check


def answered(*changes: dict[str, Any]) -> str:
    return json.dumps({"changes": list(changes)}, ensure_ascii=False)


def copied(notes: NoteStore, check: Any = nothing_gone) -> Copy:
    return copy_of(notes, "project", NOW + 1, check)


def labels(copy: Copy) -> dict[str, Item]:
    """The notes of a copy by their names, as a test's answers name them."""
    return {item.note.name: item for item in copy.items}


def tidied(notes: NoteStore, *changes: dict[str, Any], check: Any = nothing_gone) -> TidyReport:
    """What becomes of these changes, which name notes by their names."""
    copy = copied(notes, check)
    by_label = labelled(copy.items)
    label = {item.note.name: name for name, item in by_label.items()}
    named = [
        {
            key: [label.get(name, name) for name in value] if key == "notes"
            else label.get(value, value) if key in ("into", "by") else value
            for key, value in change.items()
        }
        for change in changes
    ]  # fmt: skip
    plan = Plan(NOW + 1)
    answer = read_answer(answered(*named))
    assert answer.problems == ()
    plan.add(answer.actions, by_label)
    return carried_out(notes, plan.requests(), plan.problems)


def body(notes: NoteStore, name: str) -> str:
    entry = one(notes, name)
    read = notes.read(entry.level, entry.file)
    assert read is not None
    return read.note.body


def state(notes: NoteStore, name: str) -> str:
    return one(notes, name).state(NOW + 2)


def files(root: Path) -> dict[str, bytes]:
    """Each note's bytes."""
    found = (root / "project" / "memory").rglob("*.md")
    return {str(path.relative_to(root)): path.read_bytes() for path in found if path.name != "MEMORY.md"}


# --- when, and whose turn ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "sessions", "new", "due"),
    [
        (Turn(), 5, 0, True),
        (Turn(), 0, 20, True),
        (Turn(), 4, 19, False),
        (Turn(last=NOW - LEAST_PAUSE), 5, 0, True),
        (Turn(last=NOW - LEAST_PAUSE + 1), 50, 500, False),
        (Turn(tried=NOW - AGAIN + 1), 5, 0, False),
        (Turn(holder="x", until=NOW + 1, tried=NOW - AGAIN), 5, 0, False),
        (Turn(holder="x", until=NOW - 1, tried=NOW - AGAIN), 5, 0, True),
    ],
)
def test_it_is_time_after_a_day_and_enough_that_is_new(
    turn: Turn, sessions: int, new: int, due: bool
) -> None:
    assert turn.is_due(now=NOW, sessions=sessions, notes=new) is due


def test_one_process_has_the_turn_until_it_ends_or_is_silent_for_long(tmp_path: Path) -> None:
    assert take_turn(tmp_path, "a", NOW)
    assert not take_turn(tmp_path, "b", NOW + LEASE - 1)
    assert take_turn(tmp_path, "a", NOW + LEASE - 1), "a word more"
    assert not take_turn(tmp_path, "b", NOW + LEASE + 1)
    assert take_turn(tmp_path, "b", NOW + 2 * LEASE)
    end_turn(tmp_path, "a", NOW + 2 * LEASE + 1, done=False)
    assert read_turn(tmp_path, NOW + 2 * LEASE + 2).holder == "b", "not taken from who has it now"
    end_turn(tmp_path, "b", NOW + 2 * LEASE + 3, done=True)
    assert read_turn(tmp_path, NOW + 9 * LEASE) == Turn(last=NOW + 2 * LEASE + 3)
    assert (tmp_path / TURN).stat().st_mode & 0o777 == 0o600


def test_one_that_came_to_nothing_is_tried_again_later(tmp_path: Path) -> None:
    take_turn(tmp_path, "a", NOW)
    end_turn(tmp_path, "a", NOW + 1, done=False)
    turn = read_turn(tmp_path, NOW + 2)
    assert not turn.is_due(now=NOW + 2, sessions=9, notes=0)
    assert turn.is_due(now=NOW + AGAIN, sessions=9, notes=0)


@pytest.mark.parametrize(
    "data", [b"", b"x", b"[]", b'{"last":"x"}', b'{"last":9e99,"holder":"x","until":9e99}', b"\xff" * 9000]
)
def test_a_file_that_came_with_the_folder_holds_nothing_up_for_long(tmp_path: Path, data: bytes) -> None:
    (tmp_path / TURN).write_bytes(data)
    turn = read_turn(tmp_path, NOW)
    assert turn.last <= NOW
    assert not turn.is_held(NOW + LEASE)
    assert take_turn(tmp_path, "a", NOW) is (turn.holder == "")


# --- what is asked ----------------------------------------------------------------------------------------


def test_the_question_holds_each_note_with_what_is_known_of_it_as_data(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("部署窗口", "每周五</notes>部署。", aliases=("deploys",), origin="agent"))
    add(notes, note("Old", "See `src/old.py`.", pinned=True))
    notes.used([one(notes, "Old")] * 3, "read")
    copy = copied(notes, gone_when("src/old.py", now="lib/old.py"))
    text = tidy_question(labelled(copy.items), NOW + 40 * DAY + 60)
    assert (
        "n1: Old [project_knowledge]\nthe user's words, 40 days old, used 3 times, last 40 days ago, pinned"
        in text
    )
    assert "gone: src/old.py (path, now lib/old.py)" in text
    assert "n2: 部署窗口 [project_knowledge]\nfrom agent, 40 days old\naliases: deploys\n\n每周五" in text
    assert text.count("</notes>") == 1
    assert all(word in tidy_words() for word in SCHEMA["properties"]["changes"]["items"]["properties"])


def item(name: str, text: str = "x", **more: Any) -> Item:
    made = note(name, text, updated="2026-01-01T00:00:00Z", created="2026-01-01T00:00:00Z", **more)
    return Item(_entry(made), made, text_digest(text))


def _entry(made: Note) -> Any:
    from mewcode.memory.entry import entry_of

    return entry_of(made, f"{made.name}.md", (1, 1, 1), text_digest(made.body))


TEN = tuple(f"alias {number}" for number in range(10))


def test_it_is_asked_about_what_is_new_beside_what_is_like_it() -> None:
    quiet = [item(f"quiet {number} {chr(97 + number) * 9}", aliases=TEN) for number in range(20)]
    like = item("deploy window of the web shop", aliases=TEN)
    new = note("deploy windows of the web shop", "Friday", aliases=TEN, updated="2026-05-01T00:00:00Z")
    fresh = Item(_entry(new), new, "d")
    since = 1_770_000_000.0
    assert batches([*quiet, like], since) == [], "nothing to do costs nothing"
    assert sum(map(len, batches([*quiet, like], since, everything=True))) == 21
    [batch] = batches([*quiet, like, fresh], since)
    assert {found.note.name for found in batch} == {new.name, like.note.name}


def test_what_wants_something_is_asked_about_too() -> None:
    dead = Item(_entry(note("dead", aliases=TEN)), note("dead", aliases=TEN), "d", dead=(Dead("path", "x"),))
    long = item("long one", "word " * 600, aliases=TEN, origin="agent")
    users = item("user's own", "word " * 600, aliases=TEN)
    few = item("few search words")
    assert batches([users], 1_790_000_000.0) == [], "a long text of the user's stays as it is"
    found = batches([few, users, long, dead], 1_790_000_000.0)
    order = [one.note.name for batch in found for one in batch]
    assert order.index("dead") < order.index("long one") < order.index("few search words")


def test_questions_are_bounded_and_hold_each_note_once() -> None:
    chance = random.Random(3)
    many = [item(f"{chance.random()} note", "words " * chance.randrange(800)) for _ in range(1_000)]
    found = batches(many, 0.0)
    assert len(found) == MOST_BATCHES
    names = [one.file for batch in found for one in batch]
    assert len(names) == len(set(names))
    assert all(sum(map(tokens_of, batch)) <= BATCH_TOKENS + 4 * 1_100 for batch in found)


# --- what may come of an answer ---------------------------------------------------------------------------


def test_an_answer_with_words_around_it_and_things_that_are_none_is_read() -> None:
    text = """<think>{"do": "close"}</think>Here you are:
```json
{"changes": [{"do": "Merge", "notes": ["[N1]", 2], "into": "n1 (Deploys)", "body": "a\\u0007b"},
 {"do": "explode", "notes": ["n1"]}, {"do": "close"}, 7, {"do": "aliases", "notes": "n3",
 "aliases": "a, b"},]}
```"""
    answer = read_answer(text)
    assert [(found.do, found.notes, found.into) for found in answer.actions] == [
        ("merge", ("n1", "n2"), "n1"), ("aliases", ("n3",), ""),
    ]  # fmt: skip
    assert answer.actions[0].body == "ab"
    assert len(answer.problems) == 3
    assert read_answer("I cannot help with that.").problems
    assert not read_answer('{"changes": []}').problems


def test_notes_that_say_the_same_become_one_and_the_others_are_kept_closed(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(
        notes, note("Deploys", "Deploys are on Friday.", origin="agent", aliases=("release day",)), by="agent"
    )
    add(notes, note("Deploy time", "Deploys are at 15:00.", origin="agent", tags=("ops",)), by="agent")
    before = files(tmp_path)
    report = tidied(notes, {
        "do": "merge", "notes": ["Deploys", "Deploy time"], "into": "Deploys",
        "description": "When we deploy", "body": "Deploys are on Friday at 15:00.", "aliases": ["发布窗口"],
    })  # fmt: skip
    assert report.notice == "tidied notes: 1 merged · /memory undo"
    kept, closed = one(notes, "Deploys"), one(notes, "Deploy time")
    assert body(notes, "Deploys") == "Deploys are on Friday at 15:00."
    assert kept.aliases == ("release day", "Deploy time", "发布窗口")
    assert (kept.tags, kept.supersedes, kept.origin) == (("ops",), (closed.file,), "agent")
    assert (closed.superseded_by, state(notes, "Deploy time")) == (kept.file, "superseded")
    assert body(notes, "Deploy time") == "Deploys are at 15:00.", "on the disk as it was"
    assert kept.updated == closed.updated[:10] + kept.updated[10:], "to tidy up makes nothing newer"
    assert [line.count("Deploy time") for line in index(tmp_path)] == [0]
    assert "+Deploys are on Friday at 15:00." in report.diff
    assert "+superseded_by:" in report.diff
    notes.undo(report.change)
    assert files(tmp_path) == before


def test_the_users_words_stay_and_nobody_elses_become_theirs(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("Mine", "Deploys are on Friday at 15:00."))
    add(notes, note("Agent's", "Deploys: Friday.", origin="agent", aliases=("ship it",)), by="agent")
    add(notes, note("Says more", "Deploys take 40 minutes.", origin="agent"), by="agent")
    add(notes, note("Else", "The logo is blue and round.", origin="agent"), by="agent")
    report = tidied(
        notes,
        {"do": "merge", "notes": ["Agent's", "Mine"], "body": "On Friday at 15:00 we deploy.",
         "into": "Agent's"},
        {"do": "merge", "notes": ["Says more", "Mine"], "body": "Friday at 15:00, 40 minutes."},
        {"do": "merge", "notes": ["Else", "Mine"]},
        {"do": "shorten", "notes": ["Mine"], "body": "Friday 15:00."},
    )  # fmt: skip
    assert body(notes, "Mine") == "Deploys are on Friday at 15:00."
    assert one(notes, "Mine").origin == "user"
    assert "ship it" in one(notes, "Mine").aliases
    assert state(notes, "Agent's") == "superseded"
    assert state(notes, "Says more") == "live"
    assert state(notes, "Else") == "live"
    assert report.counts == {"merged": 1}
    assert len(report.problems) == 3


def test_notes_that_have_nothing_in_common_do_not_become_the_text_of_one(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("A", "Deploys are on Friday.", origin="agent"), by="agent")
    add(notes, note("B", "The logo is blue; see `src/old.py`.", origin="agent"), by="agent")
    check = gone_when("src/old.py")
    for text in ("Deploys are on Friday.", "Deploys are on Friday; the logo is blue."):
        report = tidied(notes, {"do": "merge", "notes": ["A", "B"], "body": text}, check=check)
        assert (report.change, len(report.problems)) == ("", 1)
    whole = "Deploys are on Friday; the logo is blue; see src/old.py."
    report = tidied(notes, {"do": "merge", "notes": ["A", "B"], "body": whole}, check=check)
    assert report.counts == {"merged": 1}


def test_two_of_the_users_notes_may_become_one(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("A", "Use tabs."), note("B", "Tabs are 4 wide."))
    report = tidied(notes, {"do": "merge", "notes": ["A", "B"], "body": "Use tabs, 4 wide."})
    assert report.counts == {"merged": 1}
    assert (body(notes, "A"), one(notes, "A").origin) == ("Use tabs, 4 wide.", "user")


@pytest.mark.parametrize("kept", ["pinned", "by hand"])
def test_what_is_pinned_or_written_by_hand_is_never_closed(tmp_path: Path, kept: str) -> None:
    notes = store(tmp_path)
    add(notes, note("A", "Use tabs.", origin="agent", pinned=kept == "pinned"), by="agent")
    add(notes, note("B", "Use tabs.", origin="agent"), by="agent")
    add(notes, note("C", "Use tabs.", origin="agent"), by="agent")
    if kept == "by hand":
        path = notes.path(one(notes, "A"))
        path.write_text(path.read_text("utf-8").replace("Use tabs.", "Use tabs!"), "utf-8")
        notes.settle()
    report = tidied(
        notes,
        {"do": "close", "notes": ["A"], "by": "B"},
        {"do": "shorten", "notes": ["A"], "body": "Tabs"},
        {"do": "merge", "notes": ["B", "A"], "into": "B", "body": "Use tabs."},
    )
    assert state(notes, "A") == "live"
    if kept == "by hand":
        assert body(notes, "A") == "Use tabs!"
        assert state(notes, "B") == "superseded", "into what a person wrote"
        assert one(notes, "A").by_hand
    assert report.counts.get("closed", 0) == 0


def test_a_note_is_closed_by_what_contradicts_it_or_on_the_day_that_it_names(tmp_path: Path) -> None:
    times = {"created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z"}
    notes = store(tmp_path)
    add(
        notes,
        note("Old", "Node 18.", origin="agent", **times),
        note("Freeze", "冻结到2026年1月31日。", **times),
    )
    add(notes, note("Open", "Still so.", **times), note("Later", "Until 2099-01-01.", **times))
    add(notes, note("New", "Node 22.", origin="agent"), note("Weak", "Node 16.", origin="agent"))
    report = tidied(
        notes,
        {"do": "close", "notes": ["Old"], "by": "New"},
        {"do": "close", "notes": ["Freeze"], "valid_to": "2026-01-31"},
        {"do": "close", "notes": ["Open"], "valid_to": "2026-01-31"},
        {"do": "close", "notes": ["Later"], "valid_to": "2099-01-01"},
        {"do": "close", "notes": ["New"], "by": "Old"},
        {"do": "close", "notes": ["Open"], "by": "Weak"},
        {"do": "close", "notes": ["Open"]},
    )
    assert report.counts == {"closed": 2}
    assert {name: state(notes, name) for name in ("Old", "Freeze", "Open", "Later", "New")} == {
        "Old": "superseded", "Freeze": "expired", "Open": "live", "Later": "live", "New": "live",
    }  # fmt: skip
    assert one(notes, "Freeze").valid_to == "2026-01-31"
    assert len(report.problems) == 5


LONG = """We use pytest.
The run takes 12 minutes, see `make check`.
Why: it is slow.
How to apply: run one file."""


@pytest.mark.parametrize(
    ("text", "is_done"),
    [
        ("pytest takes 12 minutes (`make check`).\nWhy: slow.\nHow to apply: one file.", True),
        ("pytest takes 12 minutes (make check).\nWhy: slow.\nHow to apply: one file.", True),
        ("pytest is slow (`make check`).\nWhy: slow.\nHow to apply: one file.", False),  # a number is lost
        ("pytest takes 12 minutes (`make check`): slow, run one file.", False),  # why, and how to apply
        ("pytest takes 12 minutes, 3 in CI (`make check`).\nWhy: slow.\nHow to apply: x.", False),  # invented
        ("see https://example.com, 12 (`make check`)\nWhy: x\nHow to apply: y", False),
        (LONG + " And so on.", False),
        ("", False),
    ],
)
def test_a_text_is_shortened_where_nothing_is_lost_or_invented(
    tmp_path: Path, text: str, is_done: bool
) -> None:
    notes = store(tmp_path)
    add(notes, note("Tests", LONG, "correction_feedback", origin="agent"), by="agent")
    report = tidied(notes, {"do": "shorten", "notes": ["Tests"], "body": text})
    assert report.counts == ({"shortened": 1} if is_done else {})
    assert body(notes, "Tests") == (text if is_done else LONG)
    assert bool(report.problems) is not is_done


def test_what_is_gone_is_repaired_and_of_the_users_note_it_is_proposed_once(tmp_path: Path) -> None:
    notes = store(tmp_path)
    check = gone_when("src/old.py", "src/never.py", now="lib/old.py")
    add(notes, note("Agent's", "It is in `src/old.py`, line 9.", origin="agent"), by="agent")
    add(notes, note("Mine", "Look at src/old.py."))
    wanted: list[dict[str, Any]] = [
        {"do": "repair", "notes": ["Agent's"], "body": "It is in `lib/old.py`, line 9."},
        {"do": "repair", "notes": ["Mine"], "body": "Look at lib/old.py."},
        {"do": "aliases", "notes": ["Mine"], "aliases": ["where", "哪里"]},
    ]
    report = tidied(notes, *wanted, check=check)
    assert report.notice == "tidied notes: 1 repaired, 1 easier to find, 1 to approve · /memory undo"
    assert body(notes, "Agent's") == "It is in `lib/old.py`, line 9."
    mine, proposed = sorted(
        (entry for entry in notes.entries() if entry.name == "Mine"), key=lambda entry: entry.room
    )
    assert proposed.conflicts_with == mine.file
    assert (mine.aliases, mine.origin) == (("where", "哪里"), "user")
    for _ in range(2):
        again = tidied(notes, wanted[1], check=check)
        assert not again.counts
        copy = copied(notes, check)
        assert labels(copy)["Mine"].is_refused
        if any(entry.room for entry in notes.entries()):
            notes.apply([Forget(ref(proposed))], by="user")  # refused: it is not asked again


@pytest.mark.parametrize(
    "text",
    ["It is in `src/never.py`.", "It is in src/other/.", "Ask https://x.example",
     "It is in `src/old.py`." * 20],
)  # fmt: skip
def test_a_repair_names_nothing_that_is_not_there(tmp_path: Path, text: str) -> None:
    notes = store(tmp_path)
    add(notes, note("A", "It is in `src/old.py`.", origin="agent"), by="agent")
    report = tidied(
        notes, {"do": "repair", "notes": ["A"], "body": text}, check=gone_when("src/old.py", now="lib/old.py")
    )
    assert report == TidyReport(problems=report.problems)


def test_search_words_are_added_to_any_note_and_never_too_many(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("Deploys", "Friday.", aliases=("ship", "发布")))
    words = ["SHIP", "deploys", "release day", "\x1b[31mred", *(f"w{number}" for number in range(20))]
    tidied(notes, {"do": "aliases", "notes": ["Deploys"], "aliases": words})
    aliases = one(notes, "Deploys").aliases
    assert aliases[:4] == ("ship", "发布", "release day", "red")
    assert len(aliases) == 12
    before = files(tmp_path)
    assert not tidied(notes, {"do": "aliases", "notes": ["Deploys"], "aliases": ["more"]}).change
    assert files(tmp_path) == before


def test_no_note_is_changed_twice_and_labels_that_are_none_do_nothing(tmp_path: Path) -> None:
    notes = store(tmp_path)
    for name in "ABC":
        add(notes, note(name, f"Word {name}.", origin="agent"), by="agent")
    report = tidied(
        notes,
        {"do": "merge", "notes": ["A", "B"], "body": "Word A. Word B."},
        {"do": "merge", "notes": ["B", "C"], "body": "Word B. Word C."},
        {"do": "merge", "notes": ["A", "n99"], "body": "Word A."},
        {"do": "merge", "notes": ["C"], "body": "Word C."},
        {"do": "close", "notes": ["C"], "by": "A"},
    )
    assert report.counts == {"merged": 1, "closed": 1}
    assert one(notes, "A").supersedes == (one(notes, "B").file, one(notes, "C").file)
    assert len(report.problems) == 3


def test_two_notes_of_one_name_written_by_hand_can_be_told_apart_and_kept(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("Same", "Word.", origin="agent"), by="agent")
    folder = tmp_path / "project" / "memory"
    text = (folder / "project_knowledge_same.md").read_text("utf-8")
    (folder / "project_knowledge_other.md").write_text(text, "utf-8")
    notes.settle()
    copy = copied(notes)
    plan = Plan(NOW + 1)
    plan.add(read_answer(answered({"do": "merge", "notes": ["n1", "n2"], "body": "Word."})).actions,
             labelled(copy.items))  # fmt: skip
    report = carried_out(notes, plan.requests(), plan.problems)
    live = [entry for entry in notes.entries() if entry.state(NOW + 2) == "live"]
    assert report.counts == {"merged": 1}
    assert len(live) == 1


def test_what_a_person_has_just_written_counts_as_theirs_and_a_secret_of_theirs_stays(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("A", "Use tabs, they are four wide.", origin="agent"), by="agent")
    add(notes, note("B", "Word.", origin="agent"), by="agent")
    for name, text in (("A", "Use tabs, they are mine."), ("B", "password: hunter2-hunter2")):
        path = notes.path(one(notes, name))
        old = body(notes, name)
        path.write_text(path.read_text("utf-8").replace(old, text), "utf-8")
    before = files(tmp_path)
    report = tidied(notes, {"do": "shorten", "notes": ["A"], "body": "Tabs."})
    assert len(report.problems) == 1
    copy = copied(notes)
    assert [found.note.name for found in copy.items] == ["A"]
    assert [entry.name for entry in copy.unread] == ["B"]
    assert files(tmp_path) == before


# --- what was changed meanwhile ---------------------------------------------------------------------------


def test_what_was_changed_meanwhile_wins_and_takes_the_whole_merge_with_it(tmp_path: Path) -> None:
    notes, other = store(tmp_path), store(tmp_path)
    for name in "ABCD":
        add(notes, note(name, f"Word {name}.", origin="agent"), by="agent")
    copy = copied(notes)
    by_label = labelled(copy.items)
    plan = Plan(NOW + 1)
    plan.add(
        read_answer(answered(
            {"do": "merge", "notes": ["n1", "n2"], "into": "n1", "body": "Word A. Word B."},
            {"do": "merge", "notes": ["n3", "n4"], "into": "n3", "body": "Word C. Word D."},
        )).actions,
        by_label,
    )  # fmt: skip
    other.apply([Update(ref(one(other, "B")), {"body": "New."}), Forget(ref(one(other, "C")))], by="user")
    report = carried_out(notes, plan.requests())
    assert report == TidyReport(meanwhile=2)
    assert {entry.name: entry.state(NOW + 2) for entry in notes.entries()} == dict.fromkeys("ABD", "live")
    assert (body(notes, "A"), body(notes, "B")) == ("Word A.", "New.")


def test_writers_go_on_while_a_tidy_is_at_it(tmp_path: Path) -> None:
    """Between its first look and its one change it holds no lock."""
    notes = store(tmp_path)
    for number in range(20):
        add(notes, note(f"n{number}", f"Word {number}.", origin="agent"), by="agent")
    take_turn(tmp_path / "project" / "memory", "a", NOW)
    copy = copied(notes)
    quick = store(tmp_path, wait=0.5)
    done = threading.Event()

    def write() -> None:
        for number in range(10):
            quick.apply([Update(ref(one(quick, f"n{number}")), {"body": f"Mine {number}."})], by="user")
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert done.wait(30)
    writer.join()
    plan = Plan(NOW + 1)
    changes = [{"do": "aliases", "notes": [label], "aliases": ["x"]} for label in labelled(copy.items)]
    plan.add(read_answer(answered(*changes)).actions, labelled(copy.items))
    report = carried_out(notes, plan.requests())
    assert (report.meanwhile, report.counts) == (10, {"aliases": 10})
    assert [body(notes, f"n{number}") for number in range(10)] == [f"Mine {number}." for number in range(10)]


# --- nothing is lost --------------------------------------------------------------------------------------

NAMES = st.sampled_from(["n1", "n2", "n3", "n4", "n5", "n9", "", "../x", 3])
TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["Word A.", "Word A. Word B.", "2026-01-31", "`x` 7", "Why: x", "---\nname: evil\n---\n"]
    ),
)
CHANGE = st.fixed_dictionaries(
    {"do": st.sampled_from(["merge", "close", "shorten", "repair", "aliases", "x"]),
     "notes": st.lists(NAMES, max_size=4)},
    optional={"into": NAMES, "by": NAMES, "body": TEXTS, "description": TEXTS, "valid_to": TEXTS,
              "aliases": st.lists(TEXTS, max_size=4)},
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(CHANGE, max_size=6), st.lists(st.sampled_from(["user", "agent", "tool", "web"]), min_size=5))
def test_whatever_a_model_answers_no_text_is_lost_and_undo_gives_it_back(
    tmp_path_factory: pytest.TempPathFactory, changes: list[dict[str, Any]], origins: list[Any]
) -> None:
    root = tmp_path_factory.mktemp("tidy")
    notes = store(root, calls=Unsynced())
    texts = [
        "Word A.",
        "Word B. `x` 7",
        "Until 2026-01-31. Gone: src/old.py",
        "Word D.\nWhy: x",
        "笔记\u2028五",
    ]
    for place, text in enumerate(texts):
        made = note(f"N{place}", text, origin="agent", pinned=place == 3)
        add(notes, made, by="agent")
        entry = one(notes, made.name)
        path = notes.path(entry)
        path.write_text(
            path.read_text("utf-8").replace("origin: agent", f"origin: {origins[place]}"), "utf-8"
        )
    notes.rebuild()
    before, old = files(root), {entry.name: entry for entry in notes.entries()}
    check = gone_when("src/old.py", now="lib/old.py")
    copy = copied(notes, check)
    plan = Plan(NOW + 1)
    plan.add(read_answer(answered(*changes)).actions, labelled(copy.items))
    report = carried_out(notes, plan.requests(), plan.problems)
    history = "\n".join(step.before or "" for _, change in notes.history() for step in change.steps)
    on_disk = "\n".join(data.decode() for data in files(root).values())
    for text in texts:
        assert text in on_disk or text in history
    assert set(before) <= set(files(root)), "no file goes"
    for entry in notes.entries():
        if not entry.room:
            assert entry.origin == old[entry.name].origin
            assert entry.by_hand == old[entry.name].by_hand or not entry.by_hand
            assert entry.updated == old[entry.name].updated
            if old[entry.name].pinned:
                assert entry.state(NOW + 2) == "live"
    if report.change:
        notes.undo(report.change)
    assert files(root) == before


@given(st.one_of(st.text(), st.lists(CHANGE, max_size=4).map(lambda some: answered(*some)[:-3])))
def test_any_answer_is_read(text: str) -> None:
    answer = read_answer(text)
    assert all(action.notes for action in answer.actions)


KILLED = """
import sys
from pathlib import Path
from mewcode.memory.liveness import Liveness
from mewcode.memory.tidy.copy import copy_of
from mewcode.memory.tidy.plan import Plan
from mewcode.memory.tidy.question import labelled
from mewcode.memory.tidy.reply import read_answer
from mewcode.memory.tidy.report import carried_out
from tests.support.notes import NOW, store

notes = store(Path(sys.argv[1]))
copy = copy_of(notes, "project", NOW + 1, lambda notes: [Liveness()] * len(notes))
plan = Plan(NOW + 1)
plan.add(read_answer(sys.argv[2]).actions, labelled(copy.items))
print("now", flush=True)
carried_out(notes, plan.requests())
print("done", flush=True)
"""


@pytest.mark.soak
def test_a_tidy_that_is_killed_is_done_whole_or_not_at_all(tmp_path: Path) -> None:
    chance = random.Random(11)
    names = [f"N{number:02}" for number in range(12)]
    changes = [
        {"do": "merge", "notes": [f"n{number}", f"n{number + 1}"], "body": f"Both {number}."}
        for number in range(1, 12, 2)
    ]
    for attempt in range(KILLS):
        root = tmp_path / str(attempt)
        notes = store(root)
        add(notes, *(note(name, f"Word {'x' * 2_000}.", origin="agent") for name in names), by="agent")
        before = files(root)
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(root), answered(*changes)],
            cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE,
        )  # fmt: skip
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"now\n"
            # the moment of the kill is what is drawn: anywhere within the change
            time.sleep(chance.random() * 0.03)
            process.send_signal(signal.SIGKILL)
        notes = store(root)
        notes.settle()
        add(notes, note("after"))
        states = {entry.name: entry.state(NOW + 2) for entry in notes.entries() if entry.name != "after"}
        closed = {name for name, how in states.items() if how == "superseded"}
        assert closed in (set(), set(names[1::2])), "all of it or nothing"
        if closed:
            [change] = {change.id for _, change in notes.history() if change.by == "tidy"}
            notes.undo(change)
        after = {name: data for name, data in files(root).items() if "after" not in name}
        assert after == before
        assert not list((root / "project" / "memory").glob(".*.tmp"))


# --- what is put at rest ----------------------------------------------------------------------------------


def test_of_fifteen_hundred_notes_a_thousand_stay_the_pinned_and_the_most_used(tmp_path: Path) -> None:
    notes = store(tmp_path, calls=Unsynced())
    made = [note(f"N{number:04}", f"Word {number}.", pinned=number % 100 == 0) for number in range(1_500)]
    _put(tmp_path, made)
    notes.rebuild()
    used = {f"N{number:04}" for number in range(7, 1_500, 50)}
    entries = [entry for entry in notes.entries() if entry.name in used]
    for _ in range(3):
        notes.used(entries, "read")
    before = files(tmp_path)
    copy = copied(notes)
    counted = [Counted(found.entry, found.use) for found in copy.items]
    chosen = at_rest(counted, most=1_000, now=NOW + 2, since=copy.since)
    report = _archived(notes, copy, {entry.file for entry in chosen})
    live = {entry.name for entry in notes.entries() if entry.state(NOW + 2) == "live"}
    assert report.counts == {"archived": 500}
    assert report.notice == "tidied notes: 500 archived · /memory undo"
    assert len(live) == len(index(tmp_path)) == 1_000
    assert used | {f"N{number:04}" for number in range(0, 1_500, 100)} <= live
    assert report.diff.count("\n") == 499
    notes.undo(report.change)
    assert files(tmp_path) == before


def _put(root: Path, made: list[Note]) -> None:
    """Lays notes into the folder, as a copy from elsewhere does."""
    folder = root / "project" / "memory"
    folder.mkdir(parents=True)
    for each in made:
        (folder / f"project_knowledge_{each.name.lower()}.md").write_text(note_text(each), "utf-8")


class Unsynced(NoteCalls):
    """A disk that is in no hurry."""

    def sync(self, descriptor: int) -> None:
        return


def _archived(notes: NoteStore, copy: Copy, chosen: set[str]) -> TidyReport:
    from mewcode.memory.changes import Archive, Ref
    from mewcode.memory.tidy.plan import Planned

    return carried_out(notes, [
        Planned(("archived",), Archive(Ref("project", found.file, found.digest)))
        for found in copy.items if found.file in chosen
    ])  # fmt: skip


def counted(name: str, *, uses: int = 0, last: float = 0.0, days: float = 0, **more: Any) -> Counted:
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW - days * DAY))
    more.setdefault("origin", "agent")
    return Counted(_entry(note(name, created=when, updated=when, **more)), Use(uses, last))


def test_a_note_counts_by_type_origin_use_and_age() -> None:
    ranked = [
        counted("pinned", pinned=True, days=900), counted("used", uses=9, last=NOW, days=400),
        counted("rule", kind="correction_feedback", days=30), counted("user's", origin="user", days=30),
        counted("new"), counted("old", days=400),
    ]  # fmt: skip
    worths = [worth(found, NOW) for found in ranked]
    assert worths == sorted(worths, reverse=True)
    rest = at_rest(ranked, most=3, now=NOW, since=0.0)
    assert [entry.name for entry in rest] == ["old", "new", "user's"]
    spared = at_rest(ranked, most=3, now=NOW, since=0.0, spare=frozenset({"old.md", "new.md"}))
    assert [entry.name for entry in spared] == ["user's", "rule", "used"]
    assert at_rest(ranked[:1], most=0, now=NOW, since=0.0) == []


@pytest.mark.parametrize(("history", "rests"), [(0.0, False), (59.0, False), (60.0, True)])
def test_disuse_says_nothing_before_sixty_days_of_uses(history: float, rests: bool) -> None:
    since = NOW - history * DAY if history else 0.0
    unused = counted("unused", days=181)
    others = [
        counted("used", uses=1, last=NOW - 100 * DAY, days=300), counted("young", days=100),
        counted("user's", origin="user", days=900), counted("rule", kind="correction_feedback", days=900),
        counted("pinned", pinned=True, days=900), counted("about me", kind="user_preference", days=900),
    ]  # fmt: skip
    rest = at_rest([unused, *others], most=1_000, now=NOW, since=since)
    assert [entry.name for entry in rest] == (["unused"] if rests else [])
