"""`/instructions`, `/reload` and `/init`: what they show, ask, keep and write."""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from mewcode.agent.session import Session
from mewcode.core.outcome import DiffView, TextView
from mewcode.infra.atomic import write_new
from mewcode.repl.commands import Desk, End, Outcome, Say, Send, Shown, builtin_commands
from mewcode.repl.include_offers import notice_of
from mewcode.repl.mentions import has_mention
from mewcode.repl.panel import Option
from mewcode.repl.steps import take_steps
from tests.support.sample_session import hold, project_in, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer

T = TypeVar("T")
CANARY = "CANARY 金丝雀"


class User:
    """A guide who takes options by value, in order; ``asked`` and ``shown`` are what they met."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.shown: list[End] = []

    async def choose(self, title: str, options: Sequence[Option], selected: int = 0) -> str | None:
        self.asked.append(title)
        found = self.answers.pop(0)
        if found == "enter":
            return options[selected].value
        assert found is None or found in [option.value for option in options]
        return found

    async def read(self, folder: Path) -> None:
        raise AssertionError("nothing is read here")

    async def wait(self, words: str, open_: Callable[[], Awaitable[T]]) -> T | None:
        return await open_()

    async def during(self, words: str, work: Callable[[], Awaitable[Outcome]]) -> Outcome | None:
        raise AssertionError

    async def pick_session(self) -> Path | None:
        raise AssertionError("no session is picked here")

    async def show(self, outcome: End) -> None:
        self.shown.append(outcome)


async def give(session: Session, line: str, user: User | None = None, **desk: bool) -> End | None:
    user = user or User()
    outcome = await builtin_commands().run(Desk(session, **desk), line)
    end = await take_steps(outcome, user, user.show)
    assert user.answers == []
    return end


def within(tmp_path: Path, scenario: Callable[[Session], Awaitable[None]], *texts: str) -> ScriptedProvider:
    provider = ScriptedProvider(*(answer(text) for text in texts or ("Good.",)))
    hold(tmp_path, provider, scenario)
    return provider


def prompt_of(session: Session) -> str:
    return "\n".join(session.agent.system)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return project_in(tmp_path)


@pytest.fixture
def outside(tmp_path: Path, project: Path) -> Path:
    """A project whose instructions ask for a file from beyond it, twice."""
    (project / "MEWCODE.md").write_text("# Ours\n@include ../outside.md\n@include ../outside.md\n")
    path = tmp_path / "outside.md"
    path.write_text(f"{CANARY}\n" + "".join(f"line {number}\x1b[2J\n" for number in range(9)))
    return path


# /instructions


def test_the_tree_is_shown_with_what_was_left_out_and_what_was_found(tmp_path: Path, project: Path) -> None:
    (project / "MEWCODE.md").write_text("# Ours\n@include a.md\n@include b.md\nSee `docs/no.md`.\n")
    (project / "a.md").write_text("规则 A\n")

    async def scenario(session: Session) -> None:
        shown = await give(session, "/instructions")
        assert isinstance(shown, Shown)
        assert shown.title == "instructions · 1 left out"
        assert isinstance(shown.view, TextView)
        assert "MEWCODE.md  project, " in shown.view.summary
        assert "\n  a.md  project, " in shown.view.summary
        assert "! b.md  (line 3) skipped: not found" in shown.view.summary
        assert "missing file: docs/no.md  (MEWCODE.md:4)" in shown.view.body
        assert "takes no" in _text(await give(session, "/instructions x"))

    within(tmp_path, scenario)


def test_a_project_without_any_is_told_how_to_begin(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        shown = await give(session, "/instructions")
        assert isinstance(shown, Shown)
        assert isinstance(shown.view, TextView)
        assert "/init" in shown.view.summary

    within(tmp_path, scenario)


def test_what_tools_came_upon_is_shown_and_reads_disk_as_it_is(tmp_path: Path, project: Path) -> None:
    (project / "lib").mkdir()
    (project / "lib/MEWCODE.md").write_text("LIB\n")

    async def scenario(session: Session) -> None:
        await take_turn(session)
        session.news.instructions.touch([project / "lib" / "x.py"])
        (project / "MEWCODE.md").write_text("new since\n")
        shown = await give(session, "/instructions")
        assert isinstance(shown, Shown)
        assert isinstance(shown.view, TextView)
        assert shown.view.summary.index("MEWCODE.md  project") < shown.view.summary.index("lib/MEWCODE.md")
        # Looking takes no news away from the model.
        assert "new since" in session.news.instructions.change()

    within(tmp_path, scenario)


def test_enter_approves_an_include_for_the_next_message(tmp_path: Path, outside: Path) -> None:
    async def scenario(session: Session) -> None:
        await take_turn(session)
        assert CANARY not in prompt_of(session)
        user = User("enter")
        end = await give(session, "/instructions", user)
        [title] = user.asked
        assert title.startswith("MEWCODE.md includes ../outside.md from outside the project. Approve it?\n")
        assert f"{outside.stat().st_size:,} bytes · {outside}\n│ {CANARY}\n│ line 0\n" in title
        assert title.endswith("\n… 6 more lines")
        assert "\x1b" not in title
        assert _text(end) == f"approved: {outside}"
        await take_turn(session)
        assert prompt_of(session).count(CANARY) == 1
        assert isinstance(await give(session, "/instructions"), Shown)
        outside.write_text("other words\n")
        user = User("leave")
        assert _text(await give(session, "/instructions", user)) == "left out"
        assert "changed since it was approved" in user.shown[0].view.summary  # type: ignore[union-attr]  # a report

    within(tmp_path, scenario, "One.", "Two.")
    assert stat.S_IMODE((tmp_path / "home/.mewcode/includes.json").stat().st_mode) == 0o600


def test_all_of_it_can_be_seen_first_and_leaving_keeps_it_out(tmp_path: Path, outside: Path) -> None:
    async def scenario(session: Session) -> None:
        user = User("show", "leave")
        await give(session, "/instructions", user)
        shown = user.shown[1]
        assert isinstance(shown, Shown)
        assert shown.view == TextView(outside.read_text())
        assert await give(session, "/instructions", User(None)) is None
        assert not (tmp_path / "home/.mewcode/includes.json").exists()

    within(tmp_path, scenario)


def test_one_approval_leads_to_the_next(tmp_path: Path, project: Path) -> None:
    (project / "MEWCODE.md").write_text("@include ../a.md\n@include ../b.md\n@include ../gone.md\n")
    (tmp_path / "a.md").write_text("A\n@include inner.md\n")
    (tmp_path / "b.md").write_text("B\n")
    (tmp_path / "inner.md").write_text("INNER\n")

    async def scenario(session: Session) -> None:
        user = User("approve", "leave", "approve")
        await give(session, "/instructions", user)
        names = [title.split(" includes ")[1].split(" ")[0] for title in user.asked]
        assert names == ["../a.md", "../b.md", "inner.md"]
        assert [_text(said) for said in user.shown[1:]] == [f"approved: {tmp_path / 'a.md'}"]
        await session.prepare()
        assert "INNER" in prompt_of(session)
        assert "B\n" not in prompt_of(session)

    within(tmp_path, scenario)


def test_what_changes_while_it_is_looked_at_stays_out(tmp_path: Path, outside: Path) -> None:
    class Slow(User):
        async def choose(self, title: str, options: Sequence[Option], selected: int = 0) -> str | None:
            outside.write_text("something else")
            return await super().choose(title, options, selected)

    async def scenario(session: Session) -> None:
        assert "changed while you looked at it" in _text(await give(session, "/instructions", Slow("enter")))
        await session.prepare()
        assert "something else" not in prompt_of(session)

    within(tmp_path, scenario)


def test_within_a_turn_nothing_is_asked(tmp_path: Path, outside: Path) -> None:
    async def scenario(session: Session) -> None:
        assert isinstance(await give(session, "/instructions", in_turn=True), Shown)
        assert _text(await give(session, "/reload", in_turn=True)) == "a turn is running"

    within(tmp_path, scenario)


def test_a_refusing_disk_is_said(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "home/.mewcode").write_text("a file where the folder belongs")

    async def scenario(session: Session) -> None:
        with pytest.raises(Exception, match=r"includes\.json cannot be written"):
            await give(session, "/instructions", User("approve"))

    within(tmp_path, scenario)


def test_the_notice_names_the_first_and_counts_the_others(tmp_path: Path, project: Path) -> None:
    (project / "MEWCODE.md").write_text("@include ../a.md\n@include ../b.md\n@include ../gone.md\n")
    user_file = tmp_path / "home/.mewcode/MEWCODE.md"
    user_file.parent.mkdir()
    user_file.write_text("@include ~/c.md\n")

    async def scenario(session: Session) -> None:
        look = session.news.instructions.look
        assert notice_of(look()) == ("", "")
        (tmp_path / "home/c.md").write_text("C")
        assert notice_of(look()) == (
            "~/.mewcode/MEWCODE.md includes ~/c.md from outside ~/.mewcode",
            "/instructions lets you approve it",
        )
        (tmp_path / "a.md").write_text("A")
        (tmp_path / "b.md").write_text("B")
        assert notice_of(look()) == (
            "MEWCODE.md includes ../a.md from outside the project",
            "/instructions lets you approve it, and 2 more",
        )

    within(tmp_path, scenario)


# /reload


def test_reload_reads_again_and_names_what_changed(tmp_path: Path, project: Path) -> None:
    path = project / "MEWCODE.md"
    path.write_text("one\n")

    async def scenario(session: Session) -> None:
        assert _text(await give(session, "/reload")) == "instructions read again: nothing changed"
        await take_turn(session)
        first = prompt_of(session)
        assert _text(await give(session, "/reload")) == "instructions read again: nothing changed"
        assert prompt_of(session) == first
        path.write_text("Version 2.\n")
        (project / ".mewcode/MEWCODE.local.md").write_text("mine\n")
        end = await give(session, "/reload")
        assert end == Say("instructions read again: 2 changed", "MEWCODE.md, .mewcode/MEWCODE.local.md")
        await take_turn(session)
        assert "Version 2" in prompt_of(session)
        assert "mine" in prompt_of(session)
        # What the prompt says need not be said beside it.
        assert "Version 2" not in "".join(message.text for message in session.agent.conversation.messages)

    within(tmp_path, scenario, "One.", "Two.")


def test_reload_takes_up_what_was_told_as_a_change(tmp_path: Path, project: Path) -> None:
    path = project / "MEWCODE.md"
    path.write_text("one\n")

    async def scenario(session: Session) -> None:
        await take_turn(session)
        path.write_text("Version 2.\n")
        await take_turn(session)
        assert "Version 2" not in prompt_of(session)
        assert _text(await give(session, "/reload")) == "instructions read again: 1 changed"
        await session.prepare()
        assert "Version 2" in prompt_of(session)

    within(tmp_path, scenario, "One.", "Two.")


# /init


def test_init_shows_and_writes_a_draft_that_holds_from_the_next_message(
    tmp_path: Path, project: Path
) -> None:
    (project / "package.json").write_text('{"name": "测试", "scripts": {"test": "vitest"}}')
    before = os.umask(0o027)

    async def scenario(session: Session) -> None:
        await take_turn(session)
        user = User("enter")
        end = await give(session, "/init", user)
        path = project / "MEWCODE.md"
        written = path.read_text()
        assert _text(end) == f"written: {path} ({len(written.encode()):,} bytes)"
        assert "# 测试" in written
        assert "npm run test" in written
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        [shown] = user.shown
        assert isinstance(shown, Shown)
        assert shown.view == DiffView("MEWCODE.md", "", written, created=True)
        assert [item.name for item in project.iterdir() if item.suffix == ".tmp"] == []
        await take_turn(session)
        assert "npm run test" not in prompt_of(session)
        said = session.agent.conversation.messages[-2].text
        assert "New: Source: MEWCODE.md" in said
        assert "npm run test" in said

    try:
        within(tmp_path, scenario, "One.", "Two.")
    finally:
        os.umask(before)


def test_init_never_overwrites(tmp_path: Path, project: Path) -> None:
    path = project / "MEWCODE.md"
    path.write_text("ours\r\n")

    async def scenario(session: Session) -> None:
        user = User("enter")
        assert _text(await give(session, "/init", user)) == "MEWCODE.md is there: nothing was written"
        [shown] = user.shown
        assert isinstance(shown, Shown)
        assert isinstance(shown.view, DiffView)
        assert shown.view.before == "ours\n"
        assert "# project" in shown.view.after
        assert path.read_bytes() == b"ours\r\n"

    within(tmp_path, scenario)


@pytest.mark.parametrize("kind", ["dangling link", "folder", "binary"])
def test_init_leaves_alone_what_it_cannot_read(kind: str, tmp_path: Path, project: Path) -> None:
    path = project / "MEWCODE.md"
    if kind == "folder":
        path.mkdir()
    elif kind == "binary":
        path.write_bytes(b"a\0b")
    else:
        path.symlink_to(tmp_path / "nothing")

    async def scenario(session: Session) -> None:
        assert "cannot be read" in _text(await give(session, "/init"))

    within(tmp_path, scenario)
    assert not (tmp_path / "nothing").exists()


def test_what_comes_up_while_init_asks_is_not_overwritten(tmp_path: Path, project: Path) -> None:
    path = project / "MEWCODE.md"

    class Slow(User):
        async def choose(self, title: str, options: Sequence[Option], selected: int = 0) -> str | None:
            path.write_text("theirs")
            return await super().choose(title, options, selected)

    async def scenario(session: Session) -> None:
        assert "nothing was written" in _text(await give(session, "/init", Slow("write")))

    within(tmp_path, scenario)
    assert path.read_text() == "theirs"


def test_a_draft_equal_to_the_file_offers_only_the_model(tmp_path: Path, project: Path) -> None:
    async def scenario(session: Session) -> None:
        await give(session, "/init", User("write"))
        user = User("model")
        assert isinstance(await give(session, "/init", user), Send)
        assert user.shown == []

    within(tmp_path, scenario)


def test_init_keeps_what_other_agents_were_told(tmp_path: Path, project: Path) -> None:
    (project / "AGENTS.md").write_text("Be kind.\n")

    async def scenario(session: Session) -> None:
        await give(session, "/init", User("write"))
        await session.prepare()
        assert "Be kind." in prompt_of(session)

    within(tmp_path, scenario)


def test_the_model_is_asked_in_words_that_attach_nothing(tmp_path: Path, project: Path) -> None:
    async def scenario(session: Session) -> None:
        sent = await give(session, "/init", User("model"))
        assert isinstance(sent, Send)
        assert "the file MEWCODE.md." in sent.text
        assert not has_mention(sent.text)
        assert not sent.text.startswith(("/", "!", "#"))
        assert _text(await give(session, "/init", User("cancel"))) == "nothing was written"
        assert "takes no" in _text(await give(session, "/init now"))

    within(tmp_path, scenario)
    assert not (project / "MEWCODE.md").exists()


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_is_whole_or_not_there(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError

    if not links:
        monkeypatch.setattr("os.link", refuse)
    path = tmp_path / "new"
    write_new(path, b"first")
    with pytest.raises(FileExistsError):
        write_new(path, b"second")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "link", b"third")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["link", "new"]
    assert path.read_bytes() == b"first"


def _text(outcome: End | None) -> str:
    assert isinstance(outcome, Say)
    return outcome.text
