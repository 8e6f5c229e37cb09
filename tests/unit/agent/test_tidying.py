"""Notes tidied up beside a session: when, with which model, at what cost; what an end in between leaves."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mewcode.agent.session import Session
from mewcode.agent.tidying import Tidying, TidyWaits, tidy
from mewcode.core.errors import BadRequest, NoteError
from mewcode.core.message import Usage
from mewcode.core.stream import StreamEvent
from mewcode.infra.paths import find_places
from mewcode.memory.changes import Create, Update
from mewcode.memory.note import Note
from mewcode.memory.store import NoteStore
from mewcode.memory.tidy.question import tidy_words
from mewcode.memory.tidy.turn import LEASE, TURN, read_turn, take_turn
from mewcode.note_source import open_notes
from mewcode.providers.base import ModelRequest
from tests.support.sample_session import project_in, sample_session
from tests.support.sample_session import take_turn as a_turn
from tests.support.scripted_provider import Answer, Hold, ScriptedProvider, answer, failure

NOW = 1_780_000_000.0
DAY = 86_400.0
LIMIT = 20.0
AT_ONCE = TidyWaits(first=0.0, busy=0.01)


class TidyProvider(ScriptedProvider):
    """Answers each turn, and what it is asked of notes from a script of its own."""

    def __init__(self, *script: str | Answer) -> None:
        super().__init__()
        self.script = list(script)
        self.asked: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        items: Answer
        if request.system == (tidy_words(),):
            self.asked.append(request)
            said = self.script.pop(0) if self.script else changes()
            items = answer(said, usage=Usage(1_000, 100)) if isinstance(said, str) else said
        else:
            self.requests.append(request)
            items = [*answer("Done.")]
            if self.hold is not None:
                items.insert(0, self.hold)
        for item in items:
            if isinstance(item, Hold):
                await item.wait()
            else:
                yield item

    hold: Hold | None = None


def changes(*found: dict[str, Any]) -> str:
    return json.dumps({"changes": list(found)})


MERGE = {"do": "merge", "notes": ["n1", "n2"], "into": "n1", "body": "Deploys are on Friday at 15:00."}
ALIASES = {"do": "aliases", "notes": ["n1"], "aliases": ["ship it", "发布"]}


def notes_of(folder: Path) -> NoteStore:
    project = project_in(folder)
    environ = {"HOME": str(folder / "home")}
    return open_notes(find_places(project, environ), environ)


def noted(folder: Path, *names: str, **more: Any) -> NoteStore:
    """The project's notes, with these."""
    notes = notes_of(folder)
    made = [
        Note(name=name, type="project_knowledge", level="project", body=f"{name} are on Friday.",
             origin="agent")
        for name in names
    ]  # fmt: skip
    notes.apply([Create(note) for note in made], by="agent")
    return notes


def ran(folder: Path, *, sessions: int) -> None:
    """Leaves so many sessions behind, begun after ``NOW``'s day before."""
    for number in range(sessions):
        (project_in(folder) / ".mewcode" / "sessions" / f"20990101-0000{number:02}-abcd").mkdir(parents=True)


def configure(folder: Path, text: str) -> None:
    config = project_in(folder).parent / "home/.mewcode/config.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(text, encoding="utf-8")


def play(
    folder: Path,
    provider: TidyProvider,
    scenario: Callable[[Session], Awaitable[None]],
    **options: Any,
) -> None:
    async def whole() -> None:
        session = sample_session(folder, provider, **options)
        try:
            async with asyncio.timeout(LIMIT):
                await scenario(session)
        finally:
            await session.aclose()

    asyncio.run(whole())


def turn_of(folder: Path) -> Path:
    return project_in(folder) / ".mewcode" / "memory"


class Watched(Tidying):
    """``looked`` is set each time it is seen whether it may begin; ``told``: the lines that were shown."""

    def __init__(self) -> None:
        super().__init__(AT_ONCE)
        self.looked = asyncio.Event()
        self.told: list[str] = []

    def _begin(self, session: Session, tell: Callable[[str], None]) -> None:
        super()._begin(session, tell)
        self.looked.set()

    async def over(self) -> None:
        """Waits for what was begun."""
        await self.looked.wait()
        assert self._task is not None
        await asyncio.wait([self._task])


def names(notes: NoteStore) -> list[str]:
    return sorted(entry.name for entry in notes.live())


def test_notes_are_tidied_up_when_it_is_asked_for_and_that_can_be_undone(tmp_path: Path) -> None:
    notes = noted(tmp_path, "Deploys", "Deploy days")
    provider = TidyProvider(changes(MERGE | {"into": "n2", "body": "Deploys, Deploy days are on Friday."}))

    async def scenario(session: Session) -> None:
        report = await tidy(session, force=True)
        assert report.notice == "tidied notes: 1 merged · /memory undo"
        assert report.diff.startswith("--- a/project/project_knowledge_deploy")
        assert "+Deploys, Deploy days are on Friday." in report.diff
        assert len(names(notes)) == 1
        assert session.noting is not None
        assert session.noting.budget.spent() == 1_100
        assert session.usage_by_model["sample-model"].input_tokens == 1_000
        notes.undo()
        assert names(notes) == ["Deploy days", "Deploys"]

    play(tmp_path, provider, scenario)
    [request] = provider.asked
    assert request.tools == ()
    assert request.schema is not None
    assert request.effort == "low"
    assert read_turn(turn_of(tmp_path), 9e9).last > 0


def test_its_model_is_the_one_for_notes(tmp_path: Path) -> None:
    noted(tmp_path, "Deploys")
    configure(tmp_path, "memory:\n  model: note-model\nsmall_model: small-model\n")
    provider = TidyProvider()

    async def scenario(session: Session) -> None:
        report = await tidy(session, force=True)
        assert (report.change, report.reason) == ("", "")

    play(tmp_path, provider, scenario)
    assert [request.model.name for request in provider.asked] == ["note-model"]


def test_in_the_background_it_begins_when_it_is_time_and_says_one_line(tmp_path: Path) -> None:
    notes = noted(tmp_path, *(f"Note {number}" for number in range(20)))
    provider = TidyProvider(changes(ALIASES))

    async def scenario(session: Session) -> None:
        tidying = Watched()
        tidying.attend(session, tidying.told.append)
        await tidying.over()
        tidying.stop()
        assert tidying.told == ["tidied notes: 1 easier to find · /memory undo"]
        again = await tidy(session)
        assert again.reason == "it is not time yet"

    play(tmp_path, provider, scenario)
    assert sum(bool(entry.aliases) for entry in notes.live()) == 1


@pytest.mark.parametrize(("sessions", "new", "asks"), [(4, 19, False), (5, 1, True), (0, 20, True)])
def test_five_sessions_or_twenty_new_notes_make_it_time(
    tmp_path: Path, sessions: int, new: int, asks: bool
) -> None:
    noted(tmp_path, *(f"Note {number}" for number in range(new)))
    ran(tmp_path, sessions=sessions)
    provider = TidyProvider()

    async def scenario(session: Session) -> None:
        report = await tidy(session)
        assert report.reason == ("" if asks else "it is not time yet")

    play(tmp_path, provider, scenario)
    assert bool(provider.asked) is asks


def test_it_waits_while_a_turn_runs(tmp_path: Path) -> None:
    noted(tmp_path, *(f"Note {number}" for number in range(20)))
    provider = TidyProvider()
    provider.hold = hold = Hold()

    async def scenario(session: Session) -> None:
        tidying = Watched()
        turn = asyncio.ensure_future(a_turn(session))
        await hold.reached.wait()
        tidying.attend(session, tidying.told.append)
        await tidying.looked.wait()
        assert "tidy" not in session.background.running
        assert provider.asked == []
        hold.release.set()
        await turn
        tidying.looked.clear()
        await tidying.over()
        tidying.stop()
        assert provider.asked

    play(tmp_path, provider, scenario)


def test_only_one_process_is_at_it(tmp_path: Path) -> None:
    noted(tmp_path, "Deploys")
    take_turn(turn_of(tmp_path), "another", NOW)

    async def scenario(session: Session) -> None:
        report = await tidy(session, force=True, clock=lambda: NOW + 1)
        assert report.reason == "another process is at it"
        report = await tidy(session, force=True, clock=lambda: NOW + LEASE)
        assert report.reason == ""

    provider = TidyProvider()
    play(tmp_path, provider, scenario)
    assert len(provider.asked) == 1


def test_who_was_silent_for_too_long_leaves_it_to_the_other(tmp_path: Path) -> None:
    notes = noted(tmp_path, *(f"{chr(97 + number) * 8} {number}" for number in range(60)))
    hold, now = Hold(), [NOW]
    provider = TidyProvider([hold, *answer(changes(ALIASES))])

    async def scenario(session: Session) -> None:
        task = asyncio.ensure_future(tidy(session, force=True, clock=lambda: now[0]))
        await hold.reached.wait()
        now[0] += LEASE
        assert take_turn(turn_of(tmp_path), "another", now[0])
        hold.release.set()
        with pytest.raises(NoteError, match="another process took the turn"):
            await task

    play(tmp_path, provider, scenario)
    assert len(provider.asked) == 1
    assert not any(entry.aliases for entry in notes.live())
    assert read_turn(turn_of(tmp_path), NOW + LEASE).holder == "another"


def test_what_another_process_writes_meanwhile_wins(tmp_path: Path) -> None:
    notes, hold = noted(tmp_path, "Deploys", "Deploy days", "Tests"), Hold()
    wanted = changes(
        {"do": "merge", "notes": ["n1", "n2"], "body": "Deploys, Deploy days are on Friday."},
        {"do": "aliases", "notes": ["n3"], "aliases": ["x"]},
    )
    provider = TidyProvider([hold, *answer(wanted)])

    async def scenario(session: Session) -> None:
        task = asyncio.ensure_future(tidy(session, force=True))
        await hold.reached.wait()
        [entry] = [entry for entry in notes.live() if entry.name == "Deploys"]
        other = notes_of(tmp_path)
        from mewcode.memory.changes import Ref

        other.apply([Update(Ref("project", entry.file), {"body": "On Monday now."})], by="user")
        hold.release.set()
        report = await task
        assert (report.meanwhile, report.counts) == (1, {"aliases": 1})
        assert names(notes) == ["Deploy days", "Deploys", "Tests"]
        read = notes.read("project", entry.file)
        assert read is not None
        assert read.note.body == "On Monday now."

    play(tmp_path, provider, scenario)


def test_an_end_in_between_leaves_the_notes_as_they_are_and_the_turn_free(tmp_path: Path) -> None:
    notes, hold = noted(tmp_path, "Deploys", "Deploy days"), Hold()
    before = {path.name: path.read_bytes() for path in turn_of(tmp_path).iterdir() if path.suffix == ".md"}
    provider = TidyProvider([hold])

    async def scenario(session: Session) -> None:
        task = asyncio.ensure_future(tidy(session, force=True))
        await hold.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    play(tmp_path, provider, scenario)
    assert before == {
        path.name: path.read_bytes() for path in turn_of(tmp_path).iterdir() if path.suffix == ".md"
    }
    turn = read_turn(turn_of(tmp_path), 9e9)
    assert (turn.holder, turn.last) == ("", 0.0)
    assert names(notes) == ["Deploy days", "Deploys"]


def test_what_was_found_before_a_model_failed_is_done_and_it_is_tried_again(tmp_path: Path) -> None:
    notes = noted(tmp_path, *(f"{chr(97 + number) * 8} {number}" for number in range(60)))
    provider = TidyProvider(changes(ALIASES), failure(BadRequest("overloaded")))

    async def scenario(session: Session) -> None:
        report = await tidy(session)
        assert report.counts == {"aliases": 1}
        assert report.reason == "the model could not be asked: overloaded"

    play(tmp_path, provider, scenario)
    assert len(provider.asked) == 2
    assert read_turn(turn_of(tmp_path), 9e9).last == 0.0
    assert sum(bool(entry.aliases) for entry in notes.live()) == 1


def test_an_answer_that_cannot_be_read_changes_nothing_and_is_told(tmp_path: Path) -> None:
    noted(tmp_path, "Deploys")
    provider = TidyProvider("I would rather not.")

    async def scenario(session: Session) -> None:
        report = await tidy(session, force=True)
        assert report.change == ""
        assert report.problems == ("the answer holds no JSON of the form that was asked for",)

    play(tmp_path, provider, scenario)


def test_without_tokens_for_notes_no_model_is_asked_and_the_rest_is_done(tmp_path: Path) -> None:
    notes = noted(tmp_path, *(f"Note {number}" for number in range(6)))
    configure(tmp_path, "memory:\n  max_notes: 4\n")
    provider = TidyProvider()

    async def scenario(session: Session) -> None:
        assert session.noting is not None
        session.noting.budget.spend(10**9)
        report = await tidy(session, force=True)
        assert report.reason == "today's tokens for notes are spent"
        assert report.notice == "tidied notes: 2 archived · /memory undo"

    play(tmp_path, provider, scenario)
    assert provider.asked == []
    assert len(names(notes)) == 4


def test_where_notes_are_off_nothing_is_read_or_written(tmp_path: Path) -> None:
    noted(tmp_path, "Deploys")

    async def scenario(session: Session) -> None:
        with pytest.raises(NoteError, match="notes are off"):
            await tidy(session, force=True)

    provider = TidyProvider()
    play(tmp_path, provider, scenario, no_memory=True)
    assert not (turn_of(tmp_path) / TURN).exists()
    assert provider.asked == []


def test_turning_notes_off_stops_what_is_under_way(tmp_path: Path) -> None:
    notes, hold = noted(tmp_path, *(f"Note {number}" for number in range(20))), Hold()
    provider = TidyProvider([hold, *answer(changes(ALIASES))])

    async def scenario(session: Session) -> None:
        assert session.noting is not None
        session.noting.tidying = tidying = Watched()
        session.noting.attend(session, tidying.told.append)
        await hold.reached.wait()
        session.noting.turn_off(session)
        hold.release.set()
        await tidying.over()
        assert tidying.told == []

    play(tmp_path, provider, scenario)
    assert not any(entry.aliases for entry in notes.live())


def test_what_a_note_names_that_is_gone_is_told_to_the_model(tmp_path: Path) -> None:
    notes = noted(tmp_path, "Deploys")
    project = project_in(tmp_path)
    os.makedirs(project / "lib")
    (project / "lib" / "old.py").touch()
    [entry] = notes.live()
    from mewcode.memory.changes import Ref

    body = "The entry is `src/old.py`, and `frobnicate()`."
    notes.apply([Update(Ref("project", entry.file), {"body": body})], by="agent")
    repair = {"do": "repair", "notes": ["n1"], "body": "The entry is `lib/old.py`."}
    provider = TidyProvider(changes(repair))

    async def scenario(session: Session) -> None:
        report = await tidy(session, force=True)
        assert report.counts == {"repaired": 1}

    play(tmp_path, provider, scenario)
    asked = provider.asked[0].messages[0].text
    assert "gone: src/old.py (path, now lib/old.py); frobnicate (symbol)" in asked
    read = notes.read("project", entry.file)
    assert read is not None
    assert read.note.body == "The entry is `lib/old.py`."
