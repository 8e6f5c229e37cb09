"""What goes on beside a session: titles, briefs and upkeep, each with its owner and its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mewcode.agent.background_work import Waits
from mewcode.agent.session import Session
from mewcode.core.errors import BadRequest
from mewcode.core.message import Text, Thinking
from mewcode.providers.base import ModelRequest
from mewcode.sessions.briefs import brief_state, index_briefs, keep_brief
from mewcode.sessions.labels import add_label
from mewcode.sessions.reader import load_session
from mewcode.sessions.record import brief_record, encode_record, title_record
from mewcode.sessions.retention import DAY
from mewcode.sessions.upkeep import last_report
from tests.support.archive import head, make_session, said
from tests.support.sample_session import project_in, records, sample_session, take_turn
from tests.support.scripted_provider import Hold, ScriptedProvider, answer, failure

AT_ONCE = Waits(index=0.0, briefs=0.0, upkeep=0.0, busy=0.01)
NEVER = Waits(index=3_600.0, briefs=3_600.0, upkeep=3_600.0)
LIMIT = 20.0


def is_aside(request: ModelRequest) -> bool:
    return not request.tools


class Provider(ScriptedProvider):
    """Answers side calls from a script of their own."""

    def __init__(self, *aside: Any) -> None:
        super().__init__()
        self.aside = list(aside)
        self.side_calls: list[ModelRequest] = []

    async def stream(self, request: ModelRequest):
        if is_aside(request):
            self.side_calls.append(request)
            script = self.aside.pop(0) if self.aside else failure(BadRequest("no answer aside"))
        else:
            self.requests.append(request)
            script = answer(f"Answer {len(self.requests)}.")
        for item in script:
            if isinstance(item, Hold):
                await item.wait()
            else:
                yield item


def play(
    folder: Path,
    provider: Provider,
    scenario: Callable[[Session], Awaitable[None]],
    waits: Waits | None = NEVER,
    **options: Any,
) -> Session:
    """A session in which the scenario happens; with ``waits`` a front end attends it."""

    async def whole() -> Session:
        session = sample_session(folder, provider, **options)
        session.work._waits = waits or NEVER
        try:
            if waits is not None:
                session.work.attend(session)
            await scenario(session)
        finally:
            await session.aclose()
        return session

    return asyncio.run(whole())


async def settled(session: Session) -> None:
    """Waits for what goes on in the background."""
    async with asyncio.timeout(LIMIT):
        while session.background.running:
            await asyncio.wait(list(session.background._tasks))


def begins(session: Session, name: str) -> asyncio.Event:
    """Set once the task of that name has begun; to be called before it can."""
    begun, start = asyncio.Event(), session.work._start

    def note(task: str, session: Session, work: Any) -> None:
        start(task, session, work)
        if task == name:
            begun.set()

    session.work._start = note  # type: ignore[method-assign]
    return begun


async def wait(begun: asyncio.Event, session: Session) -> None:
    async with asyncio.timeout(LIMIT):
        await begun.wait()
    await settled(session)


def of_type(session: Session, kind: str, session_id: str = "") -> list[dict[str, Any]]:
    return [item for item in records(session, session_id) if item.get("type") == kind]


def turns(count: int) -> Callable[[Session], Awaitable[None]]:
    async def scenario(session: Session) -> None:
        for number in range(count):
            await take_turn(session, f"prompt {number + 1}")
            await settled(session)

    return scenario


def test_a_title_after_the_first_exchange(tmp_path: Path) -> None:
    provider = Provider(answer(Thinking("hm"), Text('"Fix the 解析器"')))
    session = play(tmp_path, provider, turns(2))
    [title] = of_type(session, "title")
    assert (title["title"], title["auto"]) == ("Fix the 解析器", True)
    [asked] = provider.side_calls
    assert asked.model.name == "sample-model"
    assert asked.model.max_output == 1_024
    assert "prompt 1" in asked.messages[0].text
    assert "Answer 1." in asked.messages[0].text
    # Nothing of it is in the conversation; what it used is in the totals.
    assert len(session.agent.conversation.messages) == 4
    assert "解析器" not in str([message.content for message in session.agent.conversation.messages])
    assert session.agent.usage.input_tokens == 30
    assert of_type(session, "usage")[-1]["models"]["sample-model"]["input_tokens"] == 30


def test_no_title_where_what_was_not_read_may_hold_one(tmp_path: Path) -> None:
    play(tmp_path, Provider(), turns(1), waits=None)
    for unknown, asked in ((("title",), 0), ((), 1)):

        async def scenario(session: Session, unknown: tuple[str, ...] = unknown) -> None:
            loaded = load_session(session.archive.folder)
            session.work.entered(msgspec.structs.replace(loaded, unknown=unknown))
            await turns(1)(session)

        provider = Provider(answer("A title"))
        play(tmp_path, provider, scenario, continue_newest=True)
        asides = [str(request.messages[0].content) for request in provider.side_calls]
        assert sum("<user-message>" in text for text in asides) == asked


def test_a_small_model_is_asked_where_one_is_set(tmp_path: Path) -> None:
    config = project_in(tmp_path).parent / "home/.mewcode/config.yaml"
    config.parent.mkdir()
    config.write_text("small_model: tiny\n")
    provider = Provider(answer("A title"))
    session = play(tmp_path, provider, turns(1))
    assert [request.model.name for request in provider.side_calls] == ["tiny"]
    assert set(session.usage_by_model) == {"sample-model", "tiny"}


def test_no_title_where_nobody_is_there(tmp_path: Path) -> None:
    provider = Provider(answer("A title"))
    session = play(tmp_path, provider, turns(2), waits=None)
    assert provider.side_calls == []
    assert of_type(session, "title") == of_type(session, "brief") == []


@pytest.mark.parametrize("key", ["titles", "briefs", "prune"])
def test_each_can_be_switched_off(tmp_path: Path, key: str) -> None:
    config = project_in(tmp_path).parent / "home/.mewcode/config.yaml"
    config.parent.mkdir()
    config.write_text(f"sessions: {{{key}: false}}\n")
    (tmp_path / "project/.mewcode/sessions").mkdir(parents=True)
    provider = Provider(answer("A title"), answer("A brief."))
    session = play(tmp_path, provider, turns(3), waits=Waits(briefs=3_600, upkeep=0))
    assert bool(of_type(session, "title")) == (key != "titles")
    assert bool(of_type(session, "brief")) == (key != "briefs")
    assert (last_report(session.archive.folder.parent, time.time()) is None) == (key == "prune")


def test_a_failure_is_nobodys_business(tmp_path: Path) -> None:
    provider = Provider(failure(BadRequest("no")))
    session = play(tmp_path, provider, turns(2))
    assert of_type(session, "title") == []
    assert len(provider.side_calls) == 1


def test_the_users_own_name_is_respected(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        async with session.run("go") as run:
            async for _ in run:
                if session.archive.folder.is_dir() and not named:
                    session.archive.flush()
                    add_label(session.archive.folder, title_record("Mine", ts=1.0))
                    named.append(True)
        await settled(session)

    named: list[bool] = []
    provider = Provider(answer("A title"))
    session = play(tmp_path, provider, scenario)
    assert [item["title"] for item in of_type(session, "title")] == ["Mine"]
    assert provider.side_calls == []


def test_a_brief_by_the_model_where_it_is_quick(tmp_path: Path) -> None:
    provider = Provider(answer("A title"), answer("We did it.\nAll of it."))
    session = play(tmp_path, provider, turns(3))
    [brief] = of_type(session, "brief")
    assert (brief["text"], brief["by"]) == ("We did it. All of it.", "sample-model")
    question = provider.side_calls[1].messages[0].text
    assert "Title: A title" in question
    assert "User: prompt 3\nAgent: Answer 3." in question
    assert of_type(session, "usage")[-1]["models"]["sample-model"]["input_tokens"] == 50


def test_else_one_without_a_model(tmp_path: Path) -> None:
    slow = Hold()
    provider = Provider(answer("A title"), [slow, *answer("too late")])
    session = play(tmp_path, provider, turns(3))
    [brief] = of_type(session, "brief")
    assert brief["by"] == ""
    assert brief["text"] == "A title. Asked: prompt 1; prompt 2; prompt 3. No file was written."
    # Where no side call was seen to be quick, none is begun at the end.
    provider = Provider(failure(BadRequest("no")), answer("never asked"))
    session = play(tmp_path / "other", provider, turns(3))
    assert len(provider.side_calls) == 1
    assert [item["by"] for item in of_type(session, "brief")] == [""]


def test_headless_sessions_leave_a_plain_brief(tmp_path: Path) -> None:
    provider = Provider()
    assert of_type(play(tmp_path, provider, turns(2), waits=None), "brief") == []
    session = play(tmp_path, provider, turns(3), waits=None)
    assert [item["by"] for item in of_type(session, "brief")] == [""]
    assert provider.side_calls == []


def test_a_resumed_session_counts_its_turns_and_is_briefed_once(tmp_path: Path) -> None:
    first = play(tmp_path, Provider(), turns(2), waits=None)
    again = play(tmp_path, Provider(), turns(1), waits=None, continue_newest=True)
    assert again.id == first.id
    assert len(of_type(again, "brief")) == 1
    play(tmp_path, Provider(), turns(0), waits=None, continue_newest=True)
    assert len(of_type(again, "brief")) == 1


def test_the_next_session_is_told(tmp_path: Path) -> None:
    first = play(tmp_path, Provider(answer("First title"), answer("It was done.")), turns(3))
    provider = Provider()
    second = play(tmp_path, provider, turns(1), waits=None)
    system = "\n".join(provider.requests[0].system)
    assert "# Recent sessions (for reference; the project may have changed since)" in system
    assert 'title="First title">It was done.</session>' in system
    # More happens in between; the second is resumed with the prompt that it had.
    folder, later = second.archive.folder.parent, time.time() + 3_600
    name = time.strftime("%Y%m%d-%H%M%S-aaaa", time.localtime(later))
    make_session(folder, name, head(name), encode_record(brief_record("Later.", ts=later)))
    keep_brief(first.archive.folder, "Another word on it.", ts=later, by="")
    index_briefs(folder)
    resumed = Provider()
    play(tmp_path, resumed, turns(1), waits=None, resume=second.id, trust=True)
    assert resumed.requests[0].system == provider.requests[0].system


def test_switched_off_nothing_is_told(tmp_path: Path) -> None:
    play(tmp_path, Provider(), turns(3), waits=None)
    config = tmp_path / "home/.mewcode/config.yaml"
    config.write_text("sessions: {briefs: false}\n")
    provider = Provider()
    play(tmp_path, provider, turns(1), waits=None)
    assert "Recent sessions" not in "\n".join(provider.requests[0].system)


def test_clear_leaves_a_brief_and_tells_the_new_conversation(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        await turns(3)(session)
        old.append(session.id)
        session.clear()
        await settled(session)
        await take_turn(session, "new subject")
        await settled(session)

    old: list[str] = []
    provider = Provider(answer("First title"), answer("All was done."), answer("Second title"))
    session = play(tmp_path, provider, scenario)
    assert [item["by"] for item in of_type(session, "brief", old[0])] == ["", "sample-model"]
    assert [item["title"] for item in of_type(session, "title")] == ["Second title"]
    assert "First title" in "\n".join(provider.requests[-1].system)


def test_past_sessions_get_their_briefs_later(tmp_path: Path) -> None:
    plain = play(tmp_path, Provider(), turns(3), waits=None)
    short = play(tmp_path, Provider(), turns(2), waits=None)
    folder = plain.archive.folder.parent
    strange = make_session(folder, "20261101-120000-aaaa", head("20261101-120000-aaaa"), said("a", "x"))
    provider = Provider(answer("By a model."))

    async def scenario(session: Session) -> None:
        await wait(begins(session, "briefs"), session)

    play(tmp_path, provider, scenario, waits=Waits(briefs=0.0, upkeep=3_600.0))
    assert len(provider.side_calls) == 1
    assert brief_state(plain.archive.folder) == "sample-model"
    assert brief_state(short.archive.folder) is None
    assert brief_state(strange) is None


def test_without_a_model_a_past_session_gets_a_plain_brief(tmp_path: Path) -> None:
    ended = play(tmp_path, Provider(), turns(3), waits=None)
    path = ended.archive.folder / "conversation.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if b'"brief"' not in line))  # it was killed
    assert brief_state(ended.archive.folder) is None

    async def scenario(session: Session) -> None:
        await wait(begins(session, "briefs"), session)

    provider = Provider()
    play(tmp_path, provider, scenario, waits=Waits(briefs=0.0, upkeep=3_600.0))
    assert len(provider.side_calls) == 1
    assert brief_state(ended.archive.folder) == ""


def test_the_upkeep_removes_what_is_old_and_never_what_is_open(tmp_path: Path) -> None:
    config = project_in(tmp_path).parent / "home/.mewcode/config.yaml"
    config.parent.mkdir()
    config.write_text("sessions: {keep_last: 0}\n")
    folder = tmp_path / "project/.mewcode/sessions"
    old = time.time() - 40 * DAY
    make_session(folder, "old", head("old", ts=old), said("a", "x", ts=old), mtime=old)

    async def scenario(session: Session) -> None:
        begun = begins(session, "upkeep")
        await take_turn(session)
        await wait(begun, session)

    session = play(tmp_path, Provider(), scenario, waits=Waits(briefs=3_600.0, upkeep=0.05))
    assert not (folder / "old").exists()
    assert (folder / "trash/old").is_dir()
    assert session.archive.folder.is_dir()


def test_the_end_waits_for_nothing_that_can_wait(tmp_path: Path) -> None:
    ended = play(tmp_path, Provider(), turns(3), waits=None)
    slow = Hold()

    async def scenario(session: Session) -> None:
        async with asyncio.timeout(LIMIT):
            await slow.reached.wait()
        session.work.ending(session)
        await settled(session)

    provider = Provider([slow, *answer("late")])
    play(tmp_path, provider, scenario, waits=AT_ONCE)
    assert brief_state(ended.archive.folder) == ""


@pytest.mark.parametrize("waits", [AT_ONCE, NEVER, None])
def test_documents_are_indexed_in_time_where_a_person_is(waits: Waits | None, tmp_path: Path) -> None:
    begun, shown = asyncio.Event(), list[tuple[str, ...]]()

    async def scenario(session: Session) -> None:
        async def forever() -> None:
            begun.set()
            await asyncio.Event().wait()

        session.work._index_documents = lambda: session.background.start("index", forever())
        if waits is not None:
            session.work._waits = waits
            session.work.attend(session, lambda: shown.append(session.background.running))
            if waits is AT_ONCE:
                async with asyncio.timeout(LIMIT):
                    await begun.wait()
        await take_turn(session, "hello")

    before = time.monotonic()
    play(tmp_path, Provider(), scenario, None)
    assert begun.is_set() == (waits is AT_ONCE)
    if waits is AT_ONCE:
        assert "index" in shown[0]
    assert time.monotonic() - before < LIMIT
