"""A session beyond its turns: model, mode, and a new conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mewcode.agent.session import Session
from mewcode.core.errors import BadRequest, NotConfigured
from mewcode.core.message import Usage
from mewcode.sessions.archive import SessionWriter
from tests.support.sample_session import hold, project_in, records, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer, call

OPUS, HAIKU = "claude-opus-5-5", "claude-haiku-4-5"


class Offering(ScriptedProvider):
    """Offers these models."""

    def __init__(self, names: tuple[str, ...], *answers: Any) -> None:
        super().__init__(*answers)
        self.names, self.asked, self.ended, self.warmed = names, 0, 0, 0

    def warm(self) -> None:
        self.warmed += 1

    async def list_models(self) -> tuple[str, ...]:
        self.asked += 1
        return self.names

    async def aclose(self) -> None:
        self.ended += 1


def texts(provider: ScriptedProvider, number: int = -1) -> list[str]:
    return [message.text for message in provider.requests[number].messages]


# The model.


def test_a_turn_settles_model_and_prompt_by_itself(tmp_path: Path) -> None:
    provider = ScriptedProvider(answer("hi"), answer("ho"))

    async def scenario(session: Session) -> None:
        assert (session.model.name, session.agent.system) == ("sample-model", ())
        await take_turn(session)
        await take_turn(session)

    hold(tmp_path, provider, scenario)
    assert [request.model.name for request in provider.requests] == ["sample-model"] * 2
    assert provider.requests[0].system == provider.requests[1].system
    assert "- Model: sample-model" in provider.requests[0].system[-1]


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (("gpt-oss:20b", HAIKU, OPUS), OPUS),  # the catalogue's order is the order of preference
        (("qwen3:8b", "gpt-oss:20b"), "qwen3:8b"),  # none is known: the service's first
    ],
)
def test_without_a_name_the_service_is_asked_once(
    offered: tuple[str, ...], chosen: str, tmp_path: Path
) -> None:
    provider = Offering(offered, answer("hi"), answer("ho"))

    async def scenario(session: Session) -> None:
        await session.prepare()
        assert session.model.name == chosen
        await take_turn(session)
        await take_turn(session)

    hold(tmp_path, provider, scenario, model=None)
    assert provider.asked == 1
    assert provider.ended == 1


def test_a_service_without_models_is_named_in_the_turns_result(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        _, result = await take_turn(session)
        assert (result.stop, result.exit_code, result.steps) == ("error", 2, 0)
        assert "offers no model" in result.error
        assert "--model" in result.hint
        assert session.agent.conversation.messages == []
        with pytest.raises(NotConfigured):
            await session.prepare()

    hold(tmp_path, Offering(()), scenario, model=None)


def test_a_turn_works_once_the_service_answers(tmp_path: Path) -> None:
    class Waking(Offering):
        async def list_models(self) -> tuple[str, ...]:
            if not self.asked:
                self.asked += 1
                raise BadRequest("not now")
            return await super().list_models()

    async def scenario(session: Session) -> None:
        assert (await take_turn(session))[1].error == "not now"
        assert (await take_turn(session))[1].text == "hi"

    hold(tmp_path, Waking(("a-model",), answer("hi")), scenario, model=None)


def test_warming_does_ahead_what_a_turn_would_wait_for(tmp_path: Path) -> None:
    provider = Offering(("a-model",), answer("hi"))

    async def scenario(session: Session) -> None:
        await session.warm()
        assert (session.model.name, bool(session.agent.system)) == ("a-model", True)
        await take_turn(session)

    hold(tmp_path, provider, scenario, model=None)
    assert (provider.warmed, provider.asked) == (1, 1)


def test_warming_that_fails_leaves_it_to_the_turn(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        await session.warm()
        assert session.model.name == ""
        _, result = await take_turn(session)
        assert "offers no model" in result.error

    hold(tmp_path, Offering(()), scenario, model=None)


def test_the_cost_goes_by_the_price_of_the_config_also_for_a_model_used_before(tmp_path: Path) -> None:
    used = Usage(1_000_000, 0)
    provider = ScriptedProvider(answer("one", usage=used), answer("two", usage=used))
    project_in(tmp_path)
    folder = tmp_path / "home" / ".mewcode"
    folder.mkdir()
    price = "price: {input: 7, output: 7}"
    (folder / "config.yaml").write_text(f"models: {{{OPUS}: {{{price}}}, local: {{{price}}}}}\n")

    async def scenario(session: Session) -> None:
        await take_turn(session)
        session.use_model("local")
        await take_turn(session)
        assert session.agent.cost_usd == pytest.approx(14)

    hold(tmp_path, provider, scenario, model=OPUS)


def test_another_model_from_the_next_request_on(tmp_path: Path) -> None:
    provider = ScriptedProvider(answer("one"), answer("two"), answer("three"))

    async def scenario(session: Session) -> None:
        await take_turn(session)
        assert session.tools.session.vision is True
        assert session.use_model("small-local").name == "small-local"
        assert session.tools.session.vision is False
        assert (session.find_model(HAIKU).vision, session.model.name) == (True, "small-local")
        await take_turn(session)
        assert session.agent.cost_usd is None, "the price of one of them is unknown"

    session = hold(tmp_path, provider, scenario, model=OPUS)
    first, second = provider.requests
    assert (first.model.name, second.model.name) == (OPUS, "small-local")
    assert second.system == first.system, "the prompt's text stays, so that its prefix holds"
    assert set(session.usage_by_model) == {OPUS, "small-local"}
    states = [record for record in records(session) if record.get("type") == "state"]
    assert [state["model"] for state in states] == ["small-local"]

    async def resumed(session: Session) -> None:
        await take_turn(session)

    hold(tmp_path, provider, resumed, model=None, continue_newest=True)
    assert provider.requests[-1].model.name == "small-local"


# The mode.


def test_plan_mode_is_told_with_the_next_message_and_archived(tmp_path: Path) -> None:
    provider = ScriptedProvider(*(answer(str(number)) for number in range(4)))

    async def scenario(session: Session) -> None:
        await take_turn(session, "one")
        session.use_mode("plan")
        assert len(session.agent.conversation.messages) == 2, "nothing is said before there is a message"
        await take_turn(session, "two")
        await take_turn(session, "three")
        session.use_mode("default")
        await take_turn(session, "four")

    session = hold(tmp_path, provider, scenario)
    said = texts(provider)
    assert said[0:4:2] == ["one", "two"]
    assert said[2:4] == ["two", said[3]]
    assert "Plan mode is on" in said[3]
    assert said[3].startswith("<system-reminder>\n")
    assert said[5] == "three"
    assert "Plan mode is off" in said[8]
    origins = [record.get("origin") for record in records(session) if record.get("role") == "user"]
    assert origins == [None, None, "reminder", None, None, "reminder"]
    modes = [record["mode"] for record in records(session) if record.get("type") == "state"]
    assert modes == ["plan", "default"]


@pytest.mark.parametrize("modes", [("accept-edits", "default"), ("default",), ("bypass", "dont-ask")])
def test_other_modes_are_none_of_the_models_business(modes: tuple[str, ...], tmp_path: Path) -> None:
    provider = ScriptedProvider(answer("ok"))

    async def scenario(session: Session) -> None:
        for mode in modes:
            session.use_mode(mode)
            assert session.mode == mode
        await take_turn(session, "one")

    hold(tmp_path, provider, scenario)
    assert texts(provider) == ["one"]


def test_a_conversation_that_begins_in_plan_mode_says_so(tmp_path: Path) -> None:
    provider = ScriptedProvider(*(answer(str(number)) for number in range(3)))

    async def scenario(session: Session) -> None:
        await take_turn(session, "one")
        session.clear()
        await take_turn(session, "two")

    hold(tmp_path, provider, scenario, mode="plan")
    for number, prompt in enumerate(("one", "two")):
        first, reminder = texts(provider, number)
        assert first == prompt
        assert "Plan mode is on" in reminder

    async def resumed(session: Session) -> None:
        assert session.mode == "plan", "a session's mode comes back with it"
        await take_turn(session, "three")

    hold(tmp_path, provider, resumed, continue_newest=True)
    assert "Plan mode is on" in texts(provider)[-1]


def test_a_resumed_session_never_comes_back_as_one_that_asks_nothing(tmp_path: Path) -> None:
    provider = ScriptedProvider(answer("one"))

    async def scenario(session: Session) -> None:
        await take_turn(session)

    async def resumed(session: Session) -> None:
        assert session.mode == "default"

    hold(tmp_path, provider, scenario, mode="bypass")
    hold(tmp_path, provider, resumed, continue_newest=True)


# Another conversation.


def test_clear_begins_anew_and_loses_nothing(tmp_path: Path) -> None:
    todo = call("todo", {"items": [{"text": "a thing", "status": "pending"}]})
    provider = ScriptedProvider(answer(todo), answer("one"), answer("two"))

    async def scenario(session: Session) -> None:
        await take_turn(session, "first")
        old, reads, model = session.id, session.tools.session.reads, session.model
        assert session.tools.session.todos
        session.clear()
        assert session.id != old
        assert session.agent.session_id == session.id
        assert session.agent.conversation.messages == []
        assert (session.usage_by_model, session.context_tokens) == ({}, 0)
        assert session.tools.session.todos == []
        assert session.tools.session.reads is not reads
        assert session.model == model
        folder = session.archive.folder.parent
        assert [path.name for path in folder.iterdir()] == [old], "an empty conversation is no file"
        SessionWriter.open(folder / old).close()  # nobody holds it
        assert [record.get("type") for record in records(session, old)][-1] == "usage"
        await take_turn(session, "second")

    hold(tmp_path, provider, scenario)
    assert texts(provider) == ["second"]
    assert provider.requests[-1].tools == provider.requests[0].tools


def test_clear_makes_the_prompt_anew(tmp_path: Path) -> None:
    provider = ScriptedProvider(answer("one"), answer("two"))
    head = project_in(tmp_path) / ".git" / "HEAD"
    head.parent.mkdir()
    head.write_text("ref: refs/heads/one\n")

    async def scenario(session: Session) -> None:
        await take_turn(session)
        head.write_text("ref: refs/heads/two\n")
        session.clear()
        await take_turn(session)

    hold(tmp_path, provider, scenario)
    branches = [f"- Git branch: {name}" in provider.requests[place].system[-1] for place, name in
                ((0, "one"), (1, "two"))]  # fmt: skip
    assert branches == [True, True]
