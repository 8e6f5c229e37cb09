"""`mewcode.Agent`: the agent without a front end, against the fake model server."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mewcode
from mewcode.core.errors import ConfigError, NotConfigured, SessionError
from mewcode.core.events import ApprovalAnswer, MessageAdded, TurnEnded, TurnStarted
from mewcode.core.message import Image, text_of
from mewcode.core.outcome import ToolOutcome
from tests.support.event_order import check_order
from tests.support.fake_llm import FakeLLM, Gate, Reply
from tests.support.sample_agent import SamplePerson
from tests.support.sample_session import project_in

MODEL = "claude-opus-5-5"


class WeatherArgs(msgspec.Struct):
    city: str


class Weather(mewcode.Tool[WeatherArgs]):
    """A tool that a user of the library writes; its description may be a property of its own."""

    name = "weather"
    read_only = True
    args_type = WeatherArgs
    description = "Tells the weather of a city."

    async def run(self, args: WeatherArgs, context: Any) -> ToolOutcome:
        return ToolOutcome.text(f"It rains in {args.city}.")


@pytest.fixture
def agent(fake_llm: FakeLLM, tmp_path: Path):
    """Makes agents that talk to the fake server."""

    def make(**settings: Any) -> mewcode.Agent:
        environ = {
            "HOME": str(tmp_path / "home"),
            "PATH": os.environ["PATH"],
            "ANTHROPIC_BASE_URL": fake_llm.url,
            "ANTHROPIC_API_KEY": "test-key",
        }
        return mewcode.Agent(**{"cwd": project_in(tmp_path), "model": MODEL, "environ": environ, **settings})

    return make


async def ask(agent: mewcode.Agent, prompt: str, **more: Any) -> tuple[list[mewcode.AgentEvent], Any]:
    events = []
    async with agent.run(prompt, **more) as run:
        async for event in run:
            events.append(event)
    check_order(events)
    return events, run.result


def results(agent: mewcode.Agent) -> list[str]:
    return [text_of(result.content) for message in agent.messages for result in message.tool_results]


def test_two_turns(agent, fake_llm: FakeLLM, tmp_path: Path) -> None:
    fake_llm.script(
        Reply.calls(("list_dir", {"path": "."})), Reply.text("Empty."), Reply.text("Still empty.")
    )

    async def scenario() -> None:
        async with agent() as mew:
            events, result = await ask(mew, "What is here?")
            assert isinstance(events[0], TurnStarted)
            assert events[0].session_id == mew.session_id
            assert isinstance(events[-1], TurnEnded)
            assert (result.text, result.stop, result.steps, result.exit_code) == ("Empty.", "done", 2, 0)
            assert result.cost_usd > 0
            _, result = await ask(mew, "And now?")
            assert (result.text, result.steps) == ("Still empty.", 1)
            roles = [message.role for message in mew.messages]
            assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]
            assert all(isinstance(message, mewcode.Message) for message in mew.messages)

    asyncio.run(scenario())
    assert len(fake_llm.generations[-1].messages) == 5
    assert list((tmp_path / "project/.mewcode/sessions").iterdir())


def test_the_documented_form(agent, fake_llm: FakeLLM, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir(exist_ok=True)
    (tmp_path / "project/test_it.py").write_text("assert 1 == 2\n")
    edit = {"path": "test_it.py", "edits": [{"old_text": "1 == 2", "new_text": "2 == 2"}]}
    fake_llm.script(
        Reply.calls(("read_file", {"path": "test_it.py"})),
        Reply.calls(("edit_file", edit)),
        Reply.text("Fixed."),
    )

    async def scenario() -> str:
        async with agent(cwd=str(tmp_path / "project"), mode="accept-edits") as mew:
            async with mew.run("fix the failing test") as run:
                async for event in run:
                    assert event
            return run.result.text

    assert asyncio.run(scenario()) == "Fixed."
    assert (tmp_path / "project/test_it.py").read_text() == "assert 2 == 2\n"


def test_a_tool_of_the_users_own(agent, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.calls(("weather", {"city": "Köln"})), Reply.text("Rain."))

    async def scenario() -> list[str]:
        async with agent(tools=[Weather()]) as mew:
            await ask(mew, "How is it there?")
            return results(mew)

    assert asyncio.run(scenario()) == ["It rains in Köln."]
    names = fake_llm.generations[0].tool_names
    assert "weather" in names
    assert names == sorted(names)
    [told] = [tool for tool in fake_llm.generations[0].payload["tools"] if tool["name"] == "weather"]
    assert told["description"] == "Tells the weather of a city."
    assert told["input_schema"]["required"] == ["city"]


def test_two_tools_of_one_name_are_refused(agent) -> None:
    class Shell(Weather):
        name = "bash"

    with pytest.raises(ValueError, match="bash"):
        agent(tools=[Shell()])


def test_without_a_person_what_would_ask_is_denied(agent, fake_llm: FakeLLM, tmp_path: Path) -> None:
    fake_llm.script(Reply.calls(("write_file", {"path": "x", "content": "x"})), Reply.text("Not allowed."))

    async def scenario() -> list[str]:
        async with agent() as mew:
            _, result = await ask(mew, "write")
            assert (result.stop, result.exit_code) == ("done", 0), "a denied call changes no exit code"
            return results(mew)

    [denied] = asyncio.run(scenario())
    assert denied.startswith("permission denied: ")
    assert "no user is here" in denied
    assert not (tmp_path / "project/x").exists()


@pytest.mark.parametrize("how", ["allow", "person", "deny"])
def test_rules_and_persons_decide(how: str, agent, fake_llm: FakeLLM, tmp_path: Path) -> None:
    person = SamplePerson(ApprovalAnswer("once"))
    settings = {
        "allow": {"allow": ["write_file(x)"]},
        "person": {"person": person},
        "deny": {"mode": "bypass", "deny": ["write_file(x)"]},
    }[how]
    fake_llm.script(Reply.calls(("write_file", {"path": "x", "content": "hi\n"})), Reply.text("ok"))

    async def scenario() -> None:
        async with agent(**settings) as mew:
            await ask(mew, "write")

    asyncio.run(scenario())
    assert (tmp_path / "project/x").exists() == (how != "deny")
    assert len(person.asked) == (how == "person")


def test_leaving_early_leaves_nothing_running(agent, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(["half ", Gate("held"), "a sentence"]), Reply.text("next"))

    async def scenario() -> None:
        mine = asyncio.current_task()
        async with agent() as mew:
            async with mew.run("begin") as run:
                async for event in run:
                    if event.__struct_config__.tag == "block_delta":
                        break
            await fake_llm.disconnect_seen()
            assert run.result.stop == "interrupted"
            assert asyncio.all_tasks() == {mine}
            _, result = await ask(mew, "again")
            assert result.text == "next"
        assert asyncio.all_tasks() == {mine}

    asyncio.run(scenario())
    fake_llm.release("held")
    assert "half" in fake_llm.generations[-1].body.decode()
    assert not [thread for thread in threading.enumerate() if "sync" in thread.name.lower()]


def test_an_error_of_the_users_code_ends_the_turn(agent, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(["half ", Gate("held")]))

    async def scenario() -> None:
        async with agent() as mew, mew.run("begin") as run:
            async for event in run:
                if isinstance(event, MessageAdded):
                    raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        asyncio.run(scenario())
    fake_llm.release("held")


def test_one_turn_at_a_time(agent, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("ok"))

    async def scenario() -> None:
        async with agent() as mew, mew.run("one") as run:
            with pytest.raises(RuntimeError, match="running"):
                mew.run("two")
            with pytest.raises(RuntimeError, match="has not ended"):
                _ = run.result
            async for _ in run:
                pass

    asyncio.run(scenario())


def test_resume_and_images(agent, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("one"), Reply.text("two"))
    picture = Image("image/png", "iVBORw0KGgo=")

    async def scenario() -> None:
        async with agent() as first:
            await ask(first, "look", images=[picture])
        async with agent(resume=first.session_id, model=None) as second:
            assert second.session_id == first.session_id
            assert [message.role for message in second.messages] == ["user", "assistant"]
            await ask(second, "again")

    asyncio.run(scenario())
    assert [block["type"] for block in fake_llm.generations[1].messages[0]["content"]] == ["text", "image"]
    assert fake_llm.generations[1].model == MODEL


def test_limits(agent, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.calls(("list_dir", {"path": "."})), Reply.text("report"))

    async def scenario() -> None:
        async with agent(max_turns=1) as mew:
            _, result = await ask(mew, "go")
            assert (result.stop, result.text) == ("limit", "report")
        fake_llm.script(Reply.calls(("list_dir", {"path": "."})))
        async with agent(max_cost=0.000001) as mew:
            _, result = await ask(mew, "go")
            assert (result.stop, result.steps, result.exit_code) == ("budget", 1, 1)

    asyncio.run(scenario())


def test_what_is_wrong_is_said_at_once(agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mewcode.setup.find_local_server", lambda: None)
    with pytest.raises(NotConfigured):
        mewcode.Agent(cwd=tmp_path, environ={"HOME": str(tmp_path)})
    with pytest.raises(ConfigError):
        agent(provider="nobody")
    with pytest.raises(ConfigError):
        agent(allow=["bash("])
    with pytest.raises(SessionError):
        agent(resume="nothing")
