"""`/rename`, `/pin`, `/tag` and `/export`, over a session as the composition root joins it; what is completed
behind a command."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from mewcode.agent.session import Session
from mewcode.core.errors import MewCodeError
from mewcode.repl.commands import Desk, Later, Outcome, Say, builtin_commands, recent
from mewcode.repl.completer import InputCompleter
from mewcode.repl.file_index import FileIndex
from tests.support.archive import head, make_session, said
from tests.support.sample_session import hold, project_in, records, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer

KEY = "sk-abcdefghijklmnop1234567890"


def with_session(tmp_path: Path, scenario: Callable[[Session], Awaitable[None]]) -> Session:
    return hold(tmp_path, ScriptedProvider(answer(f"Keep {KEY} 安全.")), scenario)


async def give(session: Session, line: str) -> Say:
    outcome: Outcome = await builtin_commands().run(Desk(session), line)
    if isinstance(outcome, Later):
        assert outcome.doing == "exporting"
        try:
            outcome = await outcome.work()
        except MewCodeError as error:
            outcome = Say(error.message, error.hint)
    assert isinstance(outcome, Say)
    return outcome


def labels(session: Session) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in record.items() if name != "ts"}
        for record in records(session)
        if record.get("type") in ("title", "pin", "tag")
    ]


def test_labels_wait_for_the_first_message_and_are_kept(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        assert "named 解析器 work" in (await give(session, "/rename  解析器\x1b[2J work")).text
        assert not session.archive.folder.exists()
        await take_turn(session)
        assert "pinned" in (await give(session, "/pin")).text
        assert "#bug #urgent" in (await give(session, "/tag #bug urgent")).text
        assert "no #bug" in (await give(session, "/tag -bug")).text
        assert "no more" in (await give(session, "/pin off")).text
        assert "no name of yours" in (await give(session, "/rename")).text

    session = with_session(tmp_path, scenario)
    assert labels(session) == [
        {"type": "title", "title": "解析器 work"},
        {"type": "pin", "pinned": True},
        {"type": "tag", "add": ["bug", "urgent"]},
        {"type": "tag", "remove": ["bug"]},
        {"type": "pin", "pinned": False},
        {"type": "title", "title": ""},
    ]


def test_words_that_make_no_sense_change_nothing(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        await take_turn(session)
        for line in ("/pin nonsense", "/tag", "/tag - #"):
            assert (await give(session, line)).text
        assert labels(session) == []

    with_session(tmp_path, scenario)


def test_exports_in_every_form(tmp_path: Path) -> None:
    project = project_in(tmp_path)

    async def scenario(session: Session) -> None:
        assert "nothing to export" in (await give(session, "/export")).text
        await take_turn(session, "keep it")
        outcome = await give(session, "/export")
        [markdown] = project.glob("*-keep-it.md")
        size = markdown.stat().st_size
        assert outcome.text == f"written to {markdown.name} ({size:,} bytes)"
        assert "blacked out" in outcome.hint
        assert KEY not in markdown.read_text()
        assert "安全" in markdown.read_text()
        await give(session, '/export "my talk.html"')
        assert "<!doctype html>" in (project / "my talk.html").read_text()
        assert "Nothing was blacked out" in (await give(session, "/export --raw all.json")).hint
        assert KEY in json.dumps(json.loads((project / "all.json").read_text()))
        before = (project / "all.json").read_bytes()
        assert "exists" in (await give(session, "/export all.json")).text
        assert "no export as .pdf" in (await give(session, "/export a.pdf")).text
        assert (project / "all.json").read_bytes() == before
        await give(session, f"/export {tmp_path}/elsewhere.md")
        assert (tmp_path / "elsewhere.md").is_file()

    with_session(tmp_path, scenario)


def test_an_export_that_is_stopped_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it was just about to be written."""
    project = project_in(tmp_path)
    began, go_on = threading.Event(), threading.Event()

    def slowly(facts: Any, kind: Any, clean: Any) -> str:
        began.set()
        assert go_on.wait(20)
        return "all of it"

    monkeypatch.setattr("mewcode.repl.commands.export.exported", slowly)

    async def scenario(session: Session) -> None:
        await take_turn(session)
        outcome = await builtin_commands().run(Desk(session), "/export talk.md")
        assert isinstance(outcome, Later)
        work = outcome.work

        async def run() -> None:
            await work()

        task = session.background.start("export", run())
        assert await asyncio.to_thread(began.wait, 20)
        task.cancel()
        asyncio.get_running_loop().call_soon(go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await task

    with_session(tmp_path, scenario)
    assert not list(project.glob("talk*"))


def test_a_name_that_is_not_on_disk_is_not_said_to_resume(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        sessions = session.archive.folder.parent
        sessions.parent.mkdir(parents=True, exist_ok=True)
        sessions.touch()
        await take_turn(session)
        assert session.archive.failing
        said = await give(session, "/rename mine")
        assert said.text == "this session is named mine"
        assert "mewcode -r" not in said.hint
        assert "not being saved" in said.hint
        sessions.unlink()

    with_session(tmp_path, scenario)


def test_arguments_that_must_be_looked_up_are_completed(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    (project / "notes").mkdir()
    (project / "note.md").touch()
    other = with_session(tmp_path, take_turn_and_name)

    async def completed(session: Session | None, text: str) -> list[str]:
        registry = builtin_commands()
        completer = InputCompleter(registry, FileIndex(project, project), project, lambda: session)
        found = completer.get_completions_async(Document(text), CompleteEvent())
        return [text[: len(text) + completion.start_position] + completion.text async for completion in found]

    async def scenario(session: Session) -> None:
        assert await completed(session, "/export no") == ["/export notes/", "/export note.md"]
        assert await completed(session, "/resume 2") == [f"/resume {other.id}"]
        assert await completed(session, "/resume my") == ["/resume My work"]
        assert await completed(session, "/rewind u") == ["/rewind undo"]
        assert await completed(session, "/fork x") == []
        assert await completed(None, "/resume 2") == []
        assert await completed(session, "say /resume 2") == []

    with_session(tmp_path, scenario)


async def take_turn_and_name(session: Session) -> None:
    await take_turn(session)
    await give(session, "/rename My work")


@pytest.mark.parametrize(("fresh", "found"), [(0.0, 1), (1e9, 0)])
def test_what_was_looked_up_holds_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: float, found: int
) -> None:
    monkeypatch.setattr(recent, "_FRESH", fresh)

    async def scenario(session: Session) -> None:
        look_up = recent.RecentSessions()
        assert look_up(session, "") == ()
        make_session(session.archive.folder.parent, "20260101-100000-aaaa", head("x"), said("u", "words"))
        assert len(look_up(session, "")) == found

    with_session(tmp_path, scenario)
