"""`/resume`, `/fork`, `/rewind` and how their steps are taken, over a session that is a fake."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from mewcode.agent.continuing import Resumed as Continued
from mewcode.agent.rewind import FileChange, RewindPoint, RewindReport
from mewcode.agent.session import Session
from mewcode.core.errors import MewCodeError, SessionBusy, SessionError
from mewcode.repl.commands import (
    Desk,
    End,
    Outcome,
    Resumed,
    Rewound,
    Say,
    builtin_commands,
)
from mewcode.repl.commands import rewind as rewind_command
from mewcode.repl.panel import Option
from mewcode.repl.steps import take_steps
from tests.support.archive import head, make_session, said

T = TypeVar("T")
NAME = "20260101-100000-aaaa"
REPAIRED = "repaired: 1 unfinished tool call"


class FakeSession:
    """As much of a `Session` as these commands use. ``busy``: the session elsewhere is held for so many
    tries."""

    def __init__(self, project: Path, busy: int = 0) -> None:
        self.id = "20260909-090909-self"
        self.settings = SimpleNamespace(shown=2)
        self.around = SimpleNamespace(places=SimpleNamespace(project=project, cwd=project))
        self.agent = SimpleNamespace(conversation=SimpleNamespace(messages=[1, 2, 3]))
        self.busy = busy
        self.resumed: list[tuple[str, bool]] = []

    async def resume(self, folder: Path, *, fork: bool = False, emit: object = None) -> Continued:
        self.resumed.append((folder.name, fork))
        if self.busy and not fork:
            self.busy -= 1
            raise SessionBusy("in use", "", 7, 1.0, folder)
        return Continued(
            folder.name, "the\x1b[2J title", ("repaired: 1 unfinished tool call",), 3 * 86_400.0, "", 3
        )

    async def fork(self) -> tuple[str, str]:
        return "old-id", "new-id"


class User:
    """`repl.steps.Guide`: takes options by value, in order, and notes what was asked."""

    def __init__(self, *answers: str | None, folder: Path | None = None) -> None:
        self.answers = list(answers)
        self.folder = folder
        self.asked: list[tuple[str, tuple[Option, ...], int]] = []

    async def choose(self, title: str, options: Sequence[Option], selected: int = 0) -> str | None:
        self.asked.append((title, tuple(options), selected))
        answer = self.answers.pop(0)
        assert answer is None or answer in [option.value for option in options]
        return answer

    async def read(self, folder: Path) -> None:
        raise AssertionError("nothing is read here")

    async def wait(self, words: str, open_: Callable[[], Awaitable[T]]) -> T | None:
        return await open_()

    async def pick_session(self) -> Path | None:
        return self.folder

    async def during(self, words: str, work: Callable[[], Awaitable[Outcome]]) -> Outcome | None:
        return await work()


def give(session: Any, line: str, user: User | None = None, **desk: Any) -> End | None:
    """What comes of a line, with its steps taken."""

    async def scenario() -> End | None:
        outcome = await builtin_commands().run(Desk(cast("Session", session), **desk), line)
        return await take_steps(outcome, user or User())

    return asyncio.run(scenario())


@pytest.fixture
def session(tmp_path: Path) -> FakeSession:
    make_session(tmp_path / "sessions", NAME, head(NAME), said("u", "fix the parser", 2))
    make_session(tmp_path / "sessions", "20260102-100000-bbbb", head("b"), said("u", "other", 2))
    return FakeSession(tmp_path)


# /resume


@pytest.mark.parametrize("wanted", [NAME, "20260101"])
def test_a_session_is_resumed_by_id_or_its_beginning(session: FakeSession, wanted: str) -> None:
    outcome = give(session, f"/resume {wanted}")
    assert outcome == Resumed(
        "resumed: the title",
        f"{NAME} · 3 messages, paused for 3 days",
        (REPAIRED,),
        2,
    )
    assert session.resumed == [(NAME, False)]


def test_one_that_is_not_there_is_said(session: FakeSession) -> None:
    outcome = give(session, "/resume nothing")
    assert isinstance(outcome, Say)
    assert "no session 'nothing'" in outcome.text
    assert session.resumed == []


def test_without_an_argument_it_is_picked(session: FakeSession) -> None:
    assert give(session, "/resume", User(folder=None)) is None
    outcome = give(session, "/resume", User(folder=Path("/x") / NAME))
    assert isinstance(outcome, Resumed)
    assert session.resumed == [(NAME, False)]


def test_one_that_is_open_elsewhere_is_asked_about(session: FakeSession) -> None:
    session.busy = 2
    assert give(session, f"/resume {NAME}", User("cancel")) is None
    outcome = give(session, f"/resume {NAME}", User("fork"))
    assert isinstance(outcome, Resumed)
    assert session.resumed[-1] == (NAME, True)


@pytest.mark.parametrize("line", ["/resume", f"/resume {NAME}", "/rewind", "/rewind undo", "/fork"])
def test_nothing_of_it_while_a_turn_runs(session: FakeSession, line: str) -> None:
    assert builtin_commands().is_anytime(line)
    outcome = give(session, line, in_turn=True)
    assert isinstance(outcome, Say)
    assert outcome.text == "a turn is running"
    assert session.resumed == []


def test_recent_sessions_are_completed_by_id_and_name(session: FakeSession) -> None:
    from mewcode.sessions.labels import add_label
    from mewcode.sessions.record import title_record

    folder = session.around.places.project / "sessions"
    add_label(folder / NAME, title_record("Parser work", ts=5.0))
    (folder / "junk").mkdir()
    look_up = builtin_commands().commands["resume"].look_up
    assert look_up is not None
    at_hand = cast("Session", session)
    assert look_up(at_hand, "") == (
        ("20260102-100000-bbbb", "other"),
        (NAME, "Parser work"),
        ("Parser work", NAME),
    )
    assert look_up(at_hand, "par") == (("Parser work", NAME),)
    session.id = NAME
    assert look_up(at_hand, "20260101") == ()
    assert builtin_commands().commands["resume"].look_up is not look_up


# /fork


def test_a_fork_says_both_ids_and_the_way_back(session: FakeSession) -> None:
    outcome = give(session, "/fork")
    assert isinstance(outcome, Say)
    assert "new-id" in outcome.text
    assert "mewcode -r old-id" in outcome.hint


# /rewind


CHANGES = [
    FileChange("/w/a.py", "a.py", "rewrite", 3, 1),
    FileChange("/w/b.py", "b.py", "delete", 0, 9, conflict="changed since"),
    FileChange("/w/c.bin", "c.bin", impossible="was too large to keep"),
]


class Rewinds:
    """What the commands call, noted."""

    def __init__(self) -> None:
        self.points = [
            RewindPoint("m1", 1, "first\x1b[2J", 0.0, 2, False),
            RewindPoint("m2", 2, "second", 0.0),
        ]
        self.changes: list[FileChange] = list(CHANGES)
        self.report = RewindReport(
            "second\nline two", True, 4, CHANGES[:1], CHANGES[1:2], CHANGES[2:], ("A note.",)
        )
        self.undone: list[FileChange] = []
        self.done: list[tuple[Any, ...]] = []

    async def list_points(self, session: Any) -> list[RewindPoint]:
        return self.points

    async def preview(self, session: Any, point: str) -> list[FileChange]:
        return self.changes

    async def rewind(self, session: Any, point: str, **what: bool) -> RewindReport:
        self.done.append((point, *(name for name, value in what.items() if value)))
        return self.report

    async def preview_undo(self, session: Any) -> list[FileChange]:
        return self.undone

    async def undo(self, session: Any, *, force: bool = False) -> RewindReport:
        self.done.append(("undo", "force") if force else ("undo",))
        return self.report


@pytest.fixture
def rewinds(monkeypatch: pytest.MonkeyPatch) -> Rewinds:
    fake = Rewinds()
    monkeypatch.setattr(rewind_command, "points", fake.list_points)
    monkeypatch.setattr(rewind_command, "preview", fake.preview)
    monkeypatch.setattr(rewind_command, "go_back", fake.rewind)
    monkeypatch.setattr(rewind_command, "undo_rewind", fake.undo)
    monkeypatch.setattr(rewind_command, "preview_undo", fake.preview_undo)
    return fake


@pytest.mark.parametrize(
    ("answers", "done"),
    [
        (("m1", "conversation"), ("m1", "conversation")),
        (("m2", "both", "keep"), ("m2", "conversation", "files")),
        (("m2", "files", "force"), ("m2", "files", "force")),
        (("m2", "both", "cancel"), None),
        (("m2", "cancel"), None),
        ((None,), None),
        (("m2", None), None),
        (("m2", "both", None), None),
    ],
)
def test_a_rewind_step_by_step(
    session: FakeSession, rewinds: Rewinds, answers: tuple[str | None, ...], done: tuple[str, ...] | None
) -> None:
    user = User(*answers)
    outcome = give(session, "/rewind", user)
    assert rewinds.done == ([done] if done else [])
    title, options, selected = user.asked[0]
    assert selected == 1
    assert [option.label for option in options] == ["first", "second"]
    assert options[0].description == "2 files changed since, not all can be restored"
    if len(user.asked) > 1:
        title, _, _ = user.asked[1]
        assert "a.py: +3 -1" in title
        assert "cannot be restored: c.bin (was too large to keep)" in title
    if len(user.asked) > 2:
        assert "b.py (changed since)" in user.asked[2][0]
    if done:
        assert isinstance(outcome, Rewound)
        assert outcome.draft == "second\nline two"
        assert outcome.title == f"rewound to: {'first' if done[0] == 'm1' else 'second'}"
        for words in ("4 messages taken off", "1 file restored: a.py", "left as it is: b.py", "A note."):
            assert words in f"{outcome.text}\n{outcome.hint}"
        assert "/rewind undo" in outcome.hint


def test_without_changed_files_only_the_conversation_is_offered(
    session: FakeSession, rewinds: Rewinds
) -> None:
    rewinds.changes = []
    user = User("m1", "conversation")
    give(session, "/rewind", user)
    title, options, _ = user.asked[1]
    assert "no file was changed since" in title
    assert [option.value for option in options] == ["conversation", "cancel"]
    assert rewinds.done == [("m1", "conversation")]


def test_files_alone_leave_the_screen_as_it_is(session: FakeSession, rewinds: Rewinds) -> None:
    rewinds.report = RewindReport(restored=CHANGES[:1])
    rewinds.changes = CHANGES[:1]
    outcome = give(session, "/rewind", User("m1", "files"))
    assert outcome == Say("1 file restored: a.py", "/rewind undo takes it back.")


def test_an_undo_shows_the_conversation_again(session: FakeSession, rewinds: Rewinds) -> None:
    rewinds.report = RewindReport("", True, -4)
    outcome = give(session, "/rewind undo")
    assert rewinds.done == [("undo",)]
    assert isinstance(outcome, Rewound)
    assert outcome.draft == ""
    assert "4 messages back" in outcome.text


@pytest.mark.parametrize(
    ("answer", "done"), [("force", [("undo", "force")]), ("keep", [("undo",)]), ("cancel", []), (None, [])]
)
def test_an_undo_asks_about_files_that_others_changed(
    session: FakeSession, rewinds: Rewinds, answer: str | None, done: list[tuple[str, ...]]
) -> None:
    rewinds.undone = CHANGES
    user = User(answer)
    give(session, "/rewind undo", user)
    assert rewinds.done == done
    assert "b.py (changed since)" in user.asked[0][0]


def test_odd_rewinds(session: FakeSession, rewinds: Rewinds) -> None:
    assert isinstance(give(session, "/rewind nonsense"), Say)
    rewinds.points = []
    assert give(session, "/rewind") == Say("there is no message to go back to yet")
    assert rewinds.done == []


def test_a_failure_on_the_way_is_raised(session: FakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any, **__: Any) -> Continued:
        raise SessionError("damaged beyond reading")

    monkeypatch.setattr(session, "resume", refuse)
    with pytest.raises(MewCodeError, match="damaged"):
        give(session, f"/resume {NAME}")
