"""The prompt's prefix holds: each request repeats the one before, byte for byte, and adds to it.

A provider caches a prompt by its beginning. One byte that moves there makes all that follows cost ten times
as much and take seconds longer, and nothing else would show it.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mewcode.agent.interjections import Brought
from mewcode.agent.rewind import points, rewind
from mewcode.core.events import MessageAdded, ToolStarted
from mewcode.core.stream import BlockDelta
from tests.cache.conversations import (
    MODELS,
    Protocol,
    World,
    breakpoints_of,
    check_all_extend,
    check_bytes_extend,
    check_extends,
    looks,
    turn,
    units_of,
)
from tests.support import fake_llm as fake
from tests.support.fake_llm import FakeLLM, Gate, Reply


class _Calendar:
    """Stands in for `datetime.date` where the prompt is made: tests run at midnight, and change the day."""

    def __init__(self) -> None:
        self.day = dt.date(2026, 11, 30)

    def today(self) -> dt.date:
        return self.day


@pytest.fixture(autouse=True)
def calendar(monkeypatch: pytest.MonkeyPatch) -> _Calendar:
    calendar = _Calendar()
    monkeypatch.setattr("mewcode.prompting.date", calendar)
    return calendar


@pytest.fixture(params=["anthropic", "openai"])
def world(request: pytest.FixtureRequest, fake_llm: FakeLLM, tmp_path: Path) -> World:
    return World(request.param, fake_llm, tmp_path)


def _edit(number: int) -> tuple[str, dict[str, object]]:
    old, new = ("zwei" if number == 0 else f"zwei {number - 1}"), f"zwei {number}"
    edits = [{"old_text": old + "\n", "new_text": new + "\n"}]
    return "edit_file", {"path": "notes.txt", "edits": edits}


async def _long_conversation(world: World) -> None:
    """Over thirty steps: single and parallel calls, failures, plan mode, words in between, a stop."""
    server, session = world.server, world.open()

    def interject(event: object, run: object) -> None:
        if isinstance(event, ToolStarted) and not session.agent.interjections.waiting and not said:
            said.append(True)
            session.agent.interjections.put("And mind the umlauts: äöü。")

    server.script(
        Reply.of(fake.thinking("What is here?", "sig-0"), fake.tool_call("list_dir", {"path": "."})),
        looks("a", 4, say="四件事"),
        Reply.calls(("read_file", {"path": "notes.txt"}), ("read_file", {"path": "missing.txt"})),
        Reply.of(fake.thinking("Now I know.", "sig-1"), fake.text("There is one file.")),
    )
    await turn(session, "What is here?\n这里有什么？")
    for number in range(6):
        said: list[bool] = []
        server.script(
            Reply.calls(_edit(number), say=f"Edit {number}"),
            Reply.of(fake.thinking(f"thought {number}", f"sig-2-{number}"), *looks(f"b{number}", 3).blocks),
            Reply.calls(
                ("todo", {"items": [{"text": "x", "status": "pending"}]}), ("nonsense", {"a": number})
            ),
            Reply.text(f'Done {number} \u2028 \\ " 😀'),
        )
        await turn(session, f"Turn {number}", on_event=interject if number % 2 else None)
        if number == 1:
            session.use_mode("plan")
        elif number == 3:
            session.use_mode("default")
        elif number == 4:
            session.use_mode("accept-edits")
    await _accidents(world, session)
    await session.aclose()


async def _accidents(world: World, session) -> None:
    server = world.server
    server.script(Reply.text(["half an ", Gate("held"), "answer"]))
    await turn(
        session,
        "Stop me",
        on_event=lambda event, run: isinstance(event, BlockDelta) and run.interrupt(),
    )
    server.release("held")
    server.script(Reply.stall("silent"))
    server_requests = len(server.generations)

    async def interrupt_silence() -> None:
        async with session.run("Stop me before you say anything") as run:
            await server.request_seen(server_requests + 1)
            run.interrupt()
            async for _ in run:
                pass

    await interrupt_silence()
    server.release("silent")
    server.script(Reply.calls(fake.ToolCall("look", raw_json=('{"value": ',))), Reply.text("I see."))
    await turn(session, "Malformed arguments")
    server.script(Reply.text("lost half").cut(-2), Reply.error(529, retry_after=0), Reply.text("whole"))
    await turn(session, "A broken answer")


def test_each_request_extends_the_one_before(world: World) -> None:
    asyncio.run(_long_conversation(world))
    requests = world.requests
    assert len(requests) >= 30
    check_all_extend(requests)


def test_to_the_byte_where_nothing_is_said_in_between(world: World) -> None:
    async def scenario() -> None:
        session = world.open()
        for number in range(4):
            world.server.script(
                looks(f"{number}", 3, say="看"),
                Reply.calls(("read_file", {"path": "notes.txt"})),
                Reply.of(fake.thinking("hm", f"sig-{number}"), fake.text("fertig ✓ \u2028")),
            )
            await turn(session, f"Turn {number}: 读 notes.txt")
        await session.aclose()

    asyncio.run(scenario())
    requests = world.requests
    assert len(requests) == 12
    for before, after in pairwise(requests):
        check_bytes_extend(before, after)


def test_results_stand_in_the_order_of_the_calls(world: World) -> None:
    """They ended the other way round, and so they stand in the archive."""

    async def scenario() -> list[str]:
        session = world.open()
        world.server.script(looks("a", 3), Reply.text("ok"))
        ended: list[str] = []

        def note(event: object, run: object) -> None:
            if isinstance(event, MessageAdded) and event.message.tool_results:
                ended.append(event.message.tool_results[0].content[0].text)

        await turn(session, "look", on_event=note)
        await session.aclose()
        return ended

    ended = asyncio.run(scenario())
    assert ended == ["looked a:2:3 看", "looked a:1:3 看", "looked a:0:3 看"]
    sent = "".join(str(part) for _, part in units_of(world.requests[1]))
    assert sent.index("looked a:0:3") < sent.index("looked a:1:3") < sent.index("looked a:2:3")


@pytest.mark.parametrize("how", ["continue", "resume", "fork"])
def test_a_resumed_session_goes_on_where_it_was(how: str, world: World) -> None:
    async def scenario() -> None:
        await _long_conversation(world)
        folder = world.project / ".mewcode" / "sessions"
        [session_id] = [path.name for path in folder.iterdir()]
        options = {
            "continue": {"continue_newest": True},
            "resume": {"resume": session_id[:15]},
            "fork": {"continue_newest": True, "fork": True},
        }[how]
        session = world.open(**options)
        assert session.notices == []
        assert (session.id == session_id) == (how != "fork")
        world.server.script(looks("z", 2), Reply.text("again"))
        await turn(session, "And now?")
        await session.aclose()

    asyncio.run(scenario())
    last, first, second = world.requests[-3:]
    check_extends(last, first)
    check_bytes_extend(last, first)
    check_bytes_extend(first, second)


def test_another_session_goes_on_where_it_was_left(world: World) -> None:
    """`Session.resume` within a session: the prompt is that of a start with the session's id."""

    async def scenario() -> None:
        await _long_conversation(world)
        [old] = (world.project / ".mewcode" / "sessions").iterdir()
        session = world.open(mode=None)
        world.server.script(looks("y", 2), Reply.text("here"), looks("z", 2), Reply.text("there"))
        await turn(session, "Something else")
        await session.resume(old)
        await turn(session, "And now?")
        await session.aclose()

    asyncio.run(scenario())
    last, _, _, first, second = world.requests[-5:]
    check_extends(last, first)
    check_bytes_extend(last, first)
    check_bytes_extend(first, second)


def test_a_fork_goes_on_where_the_session_was(world: World) -> None:
    async def scenario() -> None:
        await _long_conversation(world)
        world.server.replies.clear()
        session = world.open(continue_newest=True)
        world.server.script(*(Reply.text(f"answer {number}") for number in range(4)))
        await turn(session, "one")
        _, forked = await session.fork()
        await turn(session, "two")
        await session.aclose()
        session = world.open(resume=forked)
        await turn(session, "three")
        await session.fork()
        await session.aclose()
        session = world.open(resume=session.id)
        await turn(session, "four")
        await session.aclose()

    asyncio.run(scenario())
    for before, after in pairwise(world.requests[-5:]):
        check_bytes_extend(before, after)


@pytest.mark.parametrize("reopened", [False, True])
def test_a_rewind_leads_back_to_an_earlier_prompt(reopened: bool, world: World) -> None:
    """What follows a rewind extends the last request before the message that was taken back."""

    async def scenario() -> None:
        session = world.open()
        replies = (looks(f"{number}", 2) for number in range(3))
        world.server.script(*(it for reply in replies for it in (reply, Reply.text("so"))), Reply.text("ok"))
        for number in range(3):
            await turn(session, f"turn {number}")
        [_, _, point] = await points(session)
        await rewind(session, point.id, conversation=True, files=False)
        if reopened:
            await session.aclose()
            session = world.open(resume=session.id)
        await turn(session, "another way")
        await session.aclose()

    asyncio.run(scenario())
    _, _, _, before, _, _, after = world.requests
    check_bytes_extend(before, after)
    assert "turn 2" not in str(units_of(after))


def test_what_is_left_out_is_the_same_at_each_resume(world: World) -> None:
    """A conversation that is too long for the window is cut at the same place while nothing is added to it,
    and what is said then extends what was sent."""

    async def scenario() -> None:
        session = world.open()
        world.server.script(*(Reply.text(f"{number} " + "x" * 40_000) for number in range(4)))
        for number in range(4):
            await turn(session, f"turn {number}")
        await session.aclose()
        config = world.home / ".mewcode" / "config.yaml"
        config.write_text(f"models: {{{MODELS[world.protocol]}: {{context_window: 60000}}}}\n")
        archive = session.archive.folder / "conversation.jsonl"
        before = archive.read_bytes()
        world.server.aside = Reply.error(400, message="no summary today")
        for _ in range(2):
            session = world.open(resume=session.id)
            world.server.script(Reply.error(400, message="not today"))
            await turn(session, "go on")
            await session.aclose()
            archive.write_bytes(before)
        session = world.open(resume=session.id)
        world.server.script(Reply.text("one"), Reply.text("two"))
        await turn(session, "go on")
        await turn(session, "and on")
        await session.aclose()

    asyncio.run(scenario())
    one, again, third, fourth = world.requests[-4:]
    assert one.body == again.body == third.body
    check_bytes_extend(third, fourth)
    assert "left out here" in str(units_of(one))


def test_the_step_limit_keeps_the_tools(world: World) -> None:
    async def scenario() -> str:
        session = world.open(max_turns=2)
        world.server.script(looks("a", 2), looks("b", 2), Reply.text("half done"), Reply.text("next"))
        result = await turn(session, "go")
        await turn(session, "go on")
        await session.aclose()
        return result.stop

    assert asyncio.run(scenario()) == "limit"
    requests = world.requests
    check_all_extend(requests)
    choices = [request.payload.get("tool_choice") for request in requests]
    none = {"type": "none"} if world.protocol == "anthropic" else "none"
    assert choices == [None, None, none, None]
    assert len({tuple(request.tool_names) for request in requests}) == 1
    assert requests[0].tool_names == sorted(requests[0].tool_names)


def test_the_world_changes_and_the_prompt_does_not(world: World, calendar: _Calendar) -> None:
    """Another day, another branch, other files: a prompt made once stays until the conversation ends."""

    async def scenario() -> None:
        git = world.project / ".git"
        git.mkdir()
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        session = world.open()
        world.server.script(*(Reply.text(f"answer {number}") for number in range(3)))
        await turn(session, "one")
        calendar.day += dt.timedelta(days=1)
        (git / "HEAD").write_text("ref: refs/heads/side-branch\n")
        (world.project / "new.txt").write_text("new")
        await turn(session, "two")
        session.clear()
        await turn(session, "three")
        await session.aclose()

    asyncio.run(scenario())
    first, second, third = world.requests
    check_extends(first, second)
    assert b"2026-11-30" in second.body
    assert b"side-branch" not in second.body
    assert b"2026-12-01" in third.body
    assert b"Git branch: side-branch" in third.body


def test_breakpoints_on_anthropic(fake_llm: FakeLLM, tmp_path: Path) -> None:
    """Last tool, last system block, last two messages: four, which is all that there may be."""
    world = World("anthropic", fake_llm, tmp_path)
    asyncio.run(_long_conversation(world))
    for request in world.requests:
        body = request.payload
        messages = request.messages
        expected = [f"system/{len(body['system']) - 1}", f"tools/{len(body['tools']) - 1}"]
        first = max(0, len(messages) - 2)
        expected += [
            f"messages/{place}/content/{len(messages[place]['content']) - 1}"
            for place in range(first, len(messages))
        ]
        assert sorted(breakpoints_of(request)) == sorted(expected)
    assert len(breakpoints_of(world.requests[0])) == 3
    assert len(breakpoints_of(world.requests[-1])) == 4


def test_no_breakpoints_elsewhere(fake_llm: FakeLLM, tmp_path: Path) -> None:
    world = World("openai", fake_llm, tmp_path)
    asyncio.run(_long_conversation(world))
    assert not any(b"cache_control" in request.body for request in world.requests)


def test_the_first_system_block_is_the_same_for_everyone(world: World, tmp_path: Path) -> None:
    """What is fixed comes before what belongs to a session, so that it is cached across sessions."""

    async def scenario(place: World) -> None:
        session = place.open()
        place.server.script(Reply.text("ok"))
        await turn(session, "hi")
        await session.aclose()

    asyncio.run(scenario(world))
    asyncio.run(scenario(World(world.protocol, world.server, tmp_path / "elsewhere")))
    one, other = (_system_text(request.payload) for request in world.requests)
    assert one != other
    fixed = one.partition("# Environment")[0]
    assert other.startswith(fixed)
    assert len(fixed) > 1000
    assert str(tmp_path) not in fixed


def _system_text(body: dict) -> str:
    if "system" in body:
        assert len(body["system"]) == 2
        return "\n\n".join(block["text"] for block in body["system"])
    return body["messages"][0]["content"]


_MOVES = ("text", "tools", "failing tools", "plan", "default", "say", "resume", "refused", "empty", "cut off")


@pytest.mark.parametrize("protocol", ["anthropic", "openai"])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=st.lists(st.sampled_from(_MOVES), min_size=2, max_size=7))
def test_whatever_happens(protocol: Protocol, moves: list[str], tmp_path_factory) -> None:
    with FakeLLM() as server:
        world = World(protocol, server, tmp_path_factory.mktemp("world"))
        asyncio.run(_play(world, moves))
        check_all_extend(world.requests)
        server.assert_clean()


async def _play(world: World, moves: list[str]) -> None:
    session = world.open(mode=None)
    world.server.script(Reply.text("begun"))
    await turn(session, "begin")
    for number, move in enumerate(moves):
        if move in ("plan", "default"):
            session.use_mode(move)
        elif move == "say":
            session.agent.interjections.put(f"word {number}", _bring_a_file if number % 2 else None)
        elif move == "resume":
            await session.aclose()
            session = world.open(mode=None, continue_newest=True)
        else:
            world.server.script(*_replies(move, number))
            await turn(session, f"prompt {number}")
            world.server.replies.clear()
    world.server.script(*(Reply.text("bye") for _ in range(3)))
    await turn(session, "the end")
    await session.aclose()


async def _bring_a_file() -> Brought:
    return Brought(reminders=("The user attached the file a.txt: ä",))


def _replies(move: str, number: int) -> Iterator[Reply]:
    if move == "tools":
        yield looks(f"m{number}", 3)
    elif move == "failing tools":
        yield Reply.calls(("nothing", {}), ("read_file", {"path": "/nonexistent"}), ("write_file", {}))
    elif move == "refused":
        yield Reply.error(400, message="not today")
        return
    elif move == "empty":
        yield Reply.of()
    elif move == "cut off":
        yield replace(Reply.text("This answer is"), stop_reason="max_tokens")
    # One more than is needed: an interjection makes a step of its own.
    for spare in range(3):
        yield Reply.text(f"answer {number}.{spare}")


def test_a_change_would_be_seen(fake_llm: FakeLLM, tmp_path: Path) -> None:
    """The checks above notice what they are there for."""
    world = World("anthropic", fake_llm, tmp_path)
    asyncio.run(_long_conversation(world))
    before, after = world.requests[5], world.requests[6]
    body = after.payload
    first = body["messages"][0]
    moved = [
        {**body, "system": [{"type": "text", "text": "Another."}]},
        {**body, "tools": list(reversed(body["tools"]))},
        {**body, "messages": [{**first, "content": [{"type": "text", "text": "x"}]}, *body["messages"][1:]]},
        {**body, "messages": body["messages"][2:]},
        {**body, "thinking": {"type": "disabled"}},
    ]
    check_extends(before, after)
    for changed in moved:
        with pytest.raises(AssertionError):
            check_extends(before, replace(after, json=changed))
