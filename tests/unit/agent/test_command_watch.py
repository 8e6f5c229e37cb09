"""What commands change is seen, restored where that is possible, and named where it is not."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mewcode.agent.rewind import RewindReport, points, rewind, undo_rewind
from mewcode.agent.session import Session
from mewcode.core.message import ToolCall
from mewcode.sessions.work_tree import TooSlow
from tests.support.sample_session import hold, project_in, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer, call

Scenario = Callable[[Session], Awaitable[None]]


def bash(command: str) -> ToolCall:
    return call("bash", {"command": command})


def repository(tmp_path: Path, **files: str) -> Path:
    """A project with these files committed."""
    project = project_in(tmp_path)
    for name, text in files.items():
        (project / name).write_text(text)
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-q", "--allow-empty", "-m", "first")
    return project


def git(project: Path, *arguments: str) -> str:
    named = ["-c", "user.name=a", "-c", "user.email=a@b"]
    done = subprocess.run(
        ["git", *named, *arguments], cwd=project, check=True, capture_output=True, text=True
    )
    return done.stdout


def play(tmp_path: Path, calls: list[ToolCall], scenario: Scenario, **options: Any) -> Session:
    """Each call is made in a turn of its own."""
    answers = [item for made in calls for item in (answer(made), answer("done"))]
    return hold(tmp_path, ScriptedProvider(*answers), scenario, **{"mode": "bypass", **options})


async def say(session: Session, *prompts: str) -> None:
    for prompt in prompts:
        await take_turn(session, prompt)


async def back(session: Session, text: str, **how: Any) -> RewindReport:
    point = next(point for point in await points(session) if point.text == text)
    return await rewind(session, point.id, **{"conversation": True, "files": True, **how})


def names(changes: Any) -> list[str]:
    return sorted(change.shown for change in changes)


def test_commands_in_a_repository_are_taken_back(tmp_path: Path) -> None:
    files = {"clean": "1\n", "gone": "g\n", "run": "x\n", "dirty": "d\n"}
    project = repository(tmp_path, **files)
    (project / "dirty").write_text("the user's own\n")
    (project / "loose").write_text("untracked\n")
    command = (
        "echo 2 > clean; rm gone; chmod +x run; echo 3 > dirty; echo 4 > loose; echo 5 > new; mkdir -p 夹/b;"
        " echo 6 > 夹/b/文"
    )

    async def scenario(session: Session) -> None:
        await say(session, "go")
        report = await back(session, "go")
        assert report.conflicts == report.failed == ()
        assert names(report.restored) == ["clean", "dirty", "gone", "loose", "new", "run", "夹/b/文"]
        assert git(project, "status", "--porcelain").split() == ["M", "dirty", "??", "loose"]
        assert (project / "dirty").read_text() == "the user's own\n"
        assert (project / "loose").read_text() == "untracked\n"
        assert not (project / "夹").exists()
        await undo_rewind(session)
        assert (project / "clean").read_text() == "2\n"
        assert (project / "夹/b/文").read_text() == "6\n"
        assert not (project / "gone").exists()
        assert (project / "run").stat().st_mode & 0o100

    play(tmp_path, [bash(command)], scenario)


def test_tools_and_commands_by_turns(tmp_path: Path) -> None:
    """A file that a tool wrote and a command changed goes back to each turn's beginning."""
    project = repository(tmp_path)
    calls = [
        call("write_file", {"path": "a", "content": "1"}),
        bash("echo 2 > a"),
        bash("sed -i s/2/3/ a"),
        call("read_file", {"path": "a"}),
        call("write_file", {"path": "a", "content": "4"}),
    ]

    async def scenario(session: Session) -> None:
        await say(session, "one", "two", "three", "read", "four")
        for prompt, text in (("four", "3\n"), ("three", "2\n"), ("two", "1")):
            report = await back(session, prompt)
            assert (names(report.restored), (project / "a").read_text()) == (["a"], text)
        await back(session, "one")
        assert not (project / "a").exists()

    play(tmp_path, calls, scenario)


def test_without_git_the_files_known_to_the_session_are_watched(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    (project / "other").write_text("old")
    calls = [call("write_file", {"path": "a", "content": "1"}), bash("echo 2 > a; echo 2 > other")]

    async def scenario(session: Session) -> None:
        await say(session, "one", "two")
        assert names((await back(session, "two")).restored) == ["a"]
        assert (project / "a").read_text() == "1"

    play(tmp_path, calls, scenario)


def test_a_new_conversation_does_not_wait_for_the_last_look(tmp_path: Path) -> None:
    held = threading.Event()

    async def scenario(session: Session) -> None:
        await say(session, "go")
        old = session.safekeeping.checkpoints
        old._thread.submit(held.wait)
        session.clear()
        try:
            asked = asyncio.to_thread(lambda: session.safekeeping.checkpoints)
            assert await asyncio.wait_for(asked, 20) is not old
        finally:
            held.set()

    play(tmp_path, [bash("true")], scenario)


def test_what_was_not_kept_is_named(tmp_path: Path) -> None:
    project = repository(tmp_path)
    (project / "large").write_bytes(b"x" * (2 << 20))

    async def scenario(session: Session) -> None:
        await say(session, "go")
        point = (await points(session))[0]
        assert (point.files, point.restorable) == (1, False)
        report = await back(session, "go")
        assert (names(report.failed), report.restored) == (["large"], ())
        assert "a command changed it" in report.failed[0].impossible

    play(tmp_path, [bash("echo 1 > large")], scenario)


def test_a_moved_commit_is_said(tmp_path: Path) -> None:
    project = repository(tmp_path, a="1\n")

    async def scenario(session: Session) -> None:
        await say(session, "go")
        report = await back(session, "go")
        assert "A command moved git from commit" in report.notes[0]
        assert (project / "a").read_text() == "1\n"  # its content was that of the commit before

    commit = "echo 2 > a; git -c user.name=a -c user.email=a@b commit -qam second; echo 3 > a"
    play(tmp_path, [bash(commit)], scenario)


def test_reading_commands_are_not_watched(tmp_path: Path) -> None:
    repository(tmp_path, a="1\n")

    async def scenario(session: Session) -> None:
        await say(session, "one", "two", "three")
        assert not (session.archive.folder / "checkpoints").exists()
        assert session.safekeeping.checkpoints._first is None

    play(tmp_path, [bash("echo hi"), bash("ls | wc -l"), bash("grep -n 1 a; git status")], scenario)


def test_a_repository_with_settings_of_its_own_is_not_asked(tmp_path: Path) -> None:
    """In an untrusted folder git could run what came with it."""
    project = repository(tmp_path, a="1\n")
    git(project, "config", "filter.evil.clean", f"touch {tmp_path}/evil; cat")
    (project / ".gitattributes").write_text("* filter=evil\n")

    async def scenario(session: Session) -> None:
        await say(session, "go")
        assert (await points(session))[0].files == 0

    play(tmp_path, [bash("echo 22 > a")], scenario)
    assert not (tmp_path / "evil").exists()


def test_a_look_that_takes_too_long_is_given_up_for_the_session(tmp_path: Path, monkeypatch: Any) -> None:
    repository(tmp_path, a="1\n")
    looks = []

    def slow(*arguments: Any, **more: Any) -> Any:
        looks.append(1)
        raise TooSlow

    monkeypatch.setattr("mewcode.agent.checkpointing.look", slow)

    async def scenario(session: Session) -> None:
        await say(session, "one", "two")
        report = await back(session, "one")
        assert "were not watched" in " ".join(report.notes)
        assert report.restored == ()
        assert len(looks) == 1

    play(tmp_path, [bash("echo 2 > a"), bash("echo 3 > a")], scenario)
