"""The prefix holds while instructions change on disk and tools come upon others; it breaks where that is
meant, and nowhere else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mewcode.agent.rewind import points, rewind
from tests.cache.conversations import (
    Protocol,
    World,
    check_all_extend,
    check_bytes_extend,
    check_extends,
    looks,
    settings_of,
    turn,
    units_of,
)
from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply


@pytest.fixture(params=["anthropic", "openai"])
def world(request: pytest.FixtureRequest, fake_llm: FakeLLM, tmp_path: Path) -> World:
    return with_instructions(World(request.param, fake_llm, tmp_path))


def with_instructions(world: World) -> World:
    write(world.project / "MEWCODE.md", "# 规则\n@include docs/style.md\n")
    write(world.project / "docs/style.md", "Style 0\n")
    write(world.project / ".mewcode/rules/py.md", "---\npaths: ['**/*.py']\n---\nPYTHON RULE 规\n")
    for name in ("lib", "lib/deep", "src"):
        write(world.project / name / "x.py", "x = 1\n")
        write(world.project / name / "MEWCODE.md", f"FOLDER {name}\n")
    return world


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def reading(path: str) -> Reply:
    return Reply.calls(("read_file", {"path": path}))


def system_of(request: RecordedRequest) -> str:
    """What stands before the conversation, tools included."""
    if request.protocol == "openai":
        return settings_of(request) + json.dumps(request.messages[0], ensure_ascii=False)
    return settings_of(request)


def conversation_of(request: RecordedRequest) -> list[tuple[str, object]]:
    units = units_of(request)
    return units[1:] if request.protocol == "openai" else units


def counts(requests: list[RecordedRequest], words: str) -> list[int]:
    return [request.body.decode().count(words) for request in requests]


def check_one_break(before: RecordedRequest, after: RecordedRequest) -> None:
    """The prompt was made anew; the conversation behind it goes on as it was."""
    assert system_of(before) != system_of(after)
    old, new = conversation_of(before), conversation_of(after)
    assert new[: len(old)] == old


async def _thirty_steps(world: World) -> int:
    """How many requests were made when the prompt was made anew on purpose."""
    server, session = world.server, world.open()
    server.script(reading("notes.txt"), looks("a", 3), Reply.text("begun"))
    await turn(session, "What is here? 这里有什么？")
    for number in range(4):
        server.script(
            reading("lib/x.py"),
            looks(f"b{number}", 2, say=f"第 {number}"),
            reading("lib/deep/x.py" if number else "src/x.py"),
            Reply.text(f"Done {number}"),
        )
        if number in (1, 2):
            write(world.project / "docs/style.md", f"Style {number}\n")
        if number == 2:
            write(world.project / "lib/MEWCODE.md", "FOLDER lib, rewritten\n")
        session.use_mode("plan" if number == 1 else "accept-edits")
        await turn(session, f"Turn {number}")
    server.script(Reply.text("still the same"))
    await turn(session, "Nothing changed.")
    write(world.project / "docs/style.md", "Style 9\n")
    assert await session.reload() == ("MEWCODE.md",)
    before = len(world.requests)
    for number in range(3):
        server.script(reading("lib/x.py"), reading("src/x.py"), Reply.text(f"After {number}"))
        await turn(session, f"Turn {number} after it")
    await session.aclose()
    return before


def test_thirty_steps_break_the_prefix_only_where_the_prompt_is_made_anew(world: World) -> None:
    marked = asyncio.run(_thirty_steps(world))
    requests = world.requests
    assert len(requests) >= 29
    check_all_extend(requests[:marked])
    check_one_break(requests[marked - 1], requests[marked])
    check_all_extend(requests[marked:])
    last = requests[-1].body.decode()
    for words in ("FOLDER lib/deep", "FOLDER src", "PYTHON RULE 规"):
        assert last.count(words) == 1, words
    assert last.count("FOLDER lib, rewritten") == 1, "told as a difference, and not again"
    assert last.count("-Style 0\\n+Style 1") == 1
    assert last.count("-Style 1\\n+Style 2") == 1
    assert "Style 9" in system_of(requests[-1])
    assert "Style 9" not in json.dumps(conversation_of(requests[-1]))


def test_nothing_of_the_prompt_moves_when_a_file_changes(world: World) -> None:
    async def scenario() -> None:
        session = world.open()
        for number in range(4):
            world.server.script(Reply.text(f"answer {number}"))
            write(world.project / "MEWCODE.md", f"Version {number}\n")
            write(world.home / ".mewcode/MEWCODE.md", f"我的 {number}\n")
            await turn(session, f"Turn {number}")
        await session.aclose()

    asyncio.run(scenario())
    requests = world.requests
    assert len({system_of(request) for request in requests}) == 1
    for before, after in pairwise(requests):
        check_bytes_extend(before, after)
    assert counts(requests, "+Version 3") == [0, 0, 0, 1]


def test_a_continued_session_repeats_what_was_told_to_the_byte(world: World) -> None:
    async def session(**how: bool) -> None:
        session = world.open(**how)
        world.server.script(reading("lib/x.py"), Reply.text("ok"))
        await turn(session, "read it")
        await session.aclose()

    asyncio.run(session())
    asyncio.run(session(continue_newest=True))
    requests = world.requests
    assert counts(requests, "FOLDER lib") == [0, 1, 1, 1]
    check_extends(requests[1], requests[2])
    check_bytes_extend(requests[1], requests[2])
    check_bytes_extend(requests[2], requests[3])


_MOVES = ("read lib", "read deep", "read src", "change", "change lib", "delete", "plan", "default", "back",
          "resume", "look")  # fmt: skip


@pytest.mark.parametrize("protocol", ["anthropic", "openai"])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=st.lists(st.sampled_from(_MOVES), min_size=2, max_size=7))
def test_whatever_happens_to_the_files(
    protocol: Protocol, moves: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with FakeLLM() as server:
        world = with_instructions(World(protocol, server, tmp_path_factory.mktemp("world")))
        breaks = asyncio.run(_play(world, moves))
        for first, last in pairwise([0, *breaks, len(world.requests)]):
            check_all_extend(world.requests[first:last])
        server.assert_clean()


async def _play(world: World, moves: list[str]) -> list[int]:
    """Before which requests the prefix may break: a prompt made anew, a conversation that went back."""
    session, breaks = world.open(mode=None), []
    world.server.script(Reply.text("begun"))
    await turn(session, "begin")
    for number, move in enumerate(moves):
        if move in ("plan", "default"):
            session.use_mode(move)
            continue
        if move == "resume":
            await session.aclose()
            breaks.append(len(world.requests))
            session = world.open(mode=None, continue_newest=True)
        elif move == "back":
            await rewind(session, (await points(session))[-1].id, conversation=True, files=False)
            breaks.append(len(world.requests))
        elif move == "delete":
            (world.project / "src/MEWCODE.md").unlink(missing_ok=True)
        elif move.startswith("change"):
            name = "lib/MEWCODE.md" if move == "change lib" else "docs/style.md"
            write(world.project / name, f"Version {number} 版\n")
        world.server.script(*_replies(move, number))
        await turn(session, f"prompt {number}")
    await session.aclose()
    return breaks


def _replies(move: str, number: int) -> Iterator[Reply]:
    if move.startswith("read"):
        yield reading({"read lib": "lib/x.py", "read deep": "lib/deep/x.py", "read src": "src/x.py"}[move])
    elif move == "look":
        yield looks(f"m{number}", 2)
    yield Reply.text(f"answer {number}")
