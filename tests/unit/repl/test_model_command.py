"""`/model`: what the services in reach offer, and a switch between them in mid-session."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mewcode.agent.session import Session
from mewcode.assembly import open_session
from mewcode.core.errors import ConnectionFailed, NotConfigured
from mewcode.core.message import Text, Thinking
from mewcode.providers.base import Endpoint
from mewcode.providers.ready import ready_services
from mewcode.providers.registry import Named
from mewcode.providers.registry import Service as Model
from mewcode.repl.commands import Desk, Outcome, Pick, Say, builtin_commands
from tests.support.sample_session import hold, project_in, records, sample_setup, take_turn
from tests.support.scripted_provider import Hold, ScriptedProvider, answer

ENVIRON = {"ANTHROPIC_API_KEY": "a-key", "OPENAI_API_KEY": "o-key"}


class Service(ScriptedProvider):
    """Offers models, or fails; counts how often it was closed."""

    def __init__(self, *answers: Any, offers: tuple[str, ...] | Exception = ("scripted-model",)) -> None:
        super().__init__(*answers)
        self.offers, self.ended = offers, 0

    async def list_models(self) -> tuple[str, ...]:
        if isinstance(self.offers, Exception):
            raise self.offers
        return self.offers

    async def aclose(self) -> None:
        self.ended += 1


def with_services(
    tmp_path: Path,
    scenario: Callable[[Session], Awaitable[None]],
    own: Service,
    others: dict[str, Callable[[], Service]],
    **options: Any,
) -> Session:
    def absent() -> Service:  # a server that happens to run on this machine
        return Service(offers=())

    async def prepared(session: Session) -> None:
        object.__setattr__(session.around, "make", lambda service: others.get(service.name, absent)())
        await scenario(session)

    return hold(tmp_path, own, prepared, environ=ENVIRON, **options)


async def give(session: Session, line: str) -> Outcome:
    return await builtin_commands().run(Desk(session), line)


def test_the_picker_shows_windows_prices_and_services(tmp_path: Path) -> None:
    others = {
        "anthropic": lambda: Service(offers=("claude-opus-5-5",)),
        "openai": lambda: Service(offers=ConnectionFailed("no way there")),
    }

    async def scenario(session: Session) -> None:
        picker = await give(session, "/model")
        assert isinstance(picker, Pick)
        assert picker.title == "choose a model\nopenai: no way there"
        assert [option.label for option in picker.options] == ["sample-model", "own-model", "claude-opus-5-5"]
        assert picker.options[0].description.startswith("sample · 128k window")
        described = picker.options[2].description
        assert described.startswith("anthropic · ")
        assert "window" in described
        assert "per million" in described
        assert picker.selected == 0
        assert [name for name, _ in builtin_commands().commands["model"].choices(session)] == [
            "sample-model", "own-model", "anthropic:claude-opus-5-5"
        ]  # fmt: skip

    with_services(tmp_path, scenario, Service(offers=("own-model",)), others)


def test_a_switch_to_another_service_and_back_goes_on(tmp_path: Path) -> None:
    thought = Thinking("hm", signature="s", protocol="openai")
    own = Service(answer(thought, Text("one")))
    other = Service(answer("two"), offers=("claude-opus-5-5",))
    others = {"anthropic": lambda: other, "openai": lambda: Service(offers=())}

    async def scenario(session: Session) -> None:
        await take_turn(session, "first")
        picker = await give(session, "/model")
        assert isinstance(picker, Pick)
        place = [option.label for option in picker.options].index("claude-opus-5-5")
        outcome = picker.then(str(place))
        assert isinstance(outcome, Say)
        assert outcome.text == "model: claude-opus-5-5 (anthropic)"
        assert (session.service.name, session.provider) == ("anthropic", other)
        assert session.model.vision
        await take_turn(session, "second")
        session.clear()
        assert session.agent.provider is other, "also in a new conversation"

    session = with_services(tmp_path, scenario, own, others)
    [first], [second] = own.requests, [request for request in other.requests if request.messages]
    assert second.system == first.system
    assert second.tools == first.tools
    assert [message.text for message in second.messages] == ["first", "one", "second"]
    assert own.ended == 1, "closed after the switch"
    assert other.ended >= 1
    assert session.service.protocol == "anthropic"
    folders = sorted(path.name for path in session.archive.folder.parent.iterdir())
    states = [
        record for name in folders for record in records(session, name) if record.get("type") == "state"
    ]
    assert [(state.get("provider"), state.get("model")) for state in states] == [
        ("anthropic", "claude-opus-5-5")
    ]


def test_a_question_aside_is_answered_before_its_service_is_closed(tmp_path: Path) -> None:
    gate = Hold()
    own = Service([gate, *answer("aside")])
    others = {"anthropic": lambda: Service(), "openai": lambda: Service()}

    async def scenario(session: Session) -> None:
        asking = session.background.start("aside", session.ask_aside("why?", lambda event: None))
        await gate.reached.wait()
        session.use_provider(session.around.service("anthropic"), "claude-haiku-4-5")
        await asyncio.sleep(0)
        assert own.ended == 0
        gate.release.set()
        assert await asking == "aside"

    with_services(tmp_path, scenario, own, others)
    assert own.ended == 1


def test_by_name(tmp_path: Path) -> None:
    other = Service()
    others = {"anthropic": lambda: other, "openai": lambda: Service()}

    async def scenario(session: Session) -> None:
        assert (await give(session, "/model qwen3:8b")).text == "model: qwen3:8b"  # type: ignore[union-attr]
        assert (session.service.name, session.model.name) == ("sample", "qwen3:8b")
        await give(session, "/model anthropic:claude-haiku-4-5")
        assert (session.service.name, session.model.name) == ("anthropic", "claude-haiku-4-5")
        with pytest.raises(NotConfigured, match="nowhere"):
            session.around.service("nowhere")

    with_services(tmp_path, scenario, Service(), others)


def test_a_service_that_is_down_is_named_where_nothing_else_is_offered(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        outcome = await give(session, "/model")
        assert outcome == Say("sample: down", "")

    down = Service(offers=ConnectionFailed("down"))
    hold(tmp_path, down, scenario, model=None)


def test_a_continued_session_talks_to_the_service_it_talked_to(tmp_path: Path) -> None:
    import asyncio

    project_in(tmp_path)
    others = {"anthropic": lambda: Service(answer("two")), "openai": lambda: Service()}

    async def scenario(session: Session) -> None:
        await take_turn(session, "first")
        session.use_provider(session.around.service("anthropic"), "claude-haiku-4-5")
        await take_turn(session, "second")

    session = with_services(tmp_path, scenario, Service(answer("one")), others)

    async def again(**options: Any) -> tuple[str, str]:
        setup = sample_setup(tmp_path, environ=ENVIRON, resume=session.id, **options)
        continued = open_session(setup, None)
        try:
            return continued.service.name, continued.model.name
        finally:
            await continued.aclose()

    assert asyncio.run(again()) == ("anthropic", "claude-haiku-4-5")
    assert asyncio.run(again(provider="openai", service=None)) == ("openai", "claude-haiku-4-5")


def test_which_services_are_in_reach() -> None:
    def keyless(name: str, base_url: str) -> str | None:
        return None

    def ready(named: dict[str, Named], environ: dict[str, str], **more: Any) -> dict[str, Model]:
        options = {"find_key": keyless, "answers": lambda url: False} | more
        return {service.name: service for service in ready_services(named, environ, **options)}

    named = {
        "mine": Named("openai", "http://h/v1", "MINE_KEY"),
        "local": Named("openai", "http://127.0.0.1:9/v1"),
        "cloud": Named("bedrock"),
    }
    found = ready(named, {"MINE_KEY": "k"})
    assert set(found) == {"mine", "local", "cloud"}
    assert found["mine"].endpoint.api_key == "k"
    assert list(ready({}, ENVIRON)) == ["anthropic", "openai"]
    assert list(ready({}, {"OPENAI_BASE_URL": "http://h/v1"})) == ["openai"]
    assert ready({}, {}) == {}
    assert ready({"mine": named["mine"]}, {}) == {}
    kept = ready({"mine": named["mine"]}, {}, find_key=lambda name, url: "kept" if name == "mine" else None)
    assert kept["mine"].endpoint.api_key == "kept"


def test_services_known_by_name_are_in_reach_with_a_key_that_is_set_or_kept() -> None:
    def kept(name: str, base_url: str) -> str | None:
        return f"for {base_url}" if name in ("anthropic", "deepseek", "ollama") else None

    ready = ready_services({}, {"GROQ_API_KEY": "g"}, kept, answers=lambda url: False)
    assert {service.name: service.endpoint.api_key for service in ready} == {
        "anthropic": "for https://api.anthropic.com",
        "deepseek": "for https://api.deepseek.com/v1",
        "groq": "g",
    }


def test_servers_on_this_machine_are_in_reach_where_they_answer_in_time() -> None:
    asked: list[str] = []
    never = threading.Event()

    def answers(url: str) -> bool:
        asked.append(url)
        if ":8000" in url:  # takes too long
            never.wait(20)
        return ":1234" not in url

    used = Model("local", "openai", Endpoint("http://127.0.0.1:8080/v1"))
    try:
        ready = ready_services({}, {}, lambda name, url: None, in_use={"local": used}, answers=answers)
    finally:
        never.set()
    assert [(service.name, service.endpoint.base_url) for service in ready] == [
        ("ollama", "http://127.0.0.1:11434/v1")
    ]
    assert "http://127.0.0.1:8080/v1" not in asked, "it is there already, under its own name"


def test_the_key_of_a_service_switched_to_is_withheld_from_commands(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        shell, said = session.tools.session.shell, bytearray()
        await shell.run('echo "[$GROQ_API_KEY]"', 20, said.extend)
        assert said == b"[g-key]\n", "a key of a service that is not used is none of ours"
        await give(session, "/model groq:some-model")
        said.clear()
        await shell.run('echo "[$GROQ_API_KEY]"', 20, said.extend)
        assert said == b"[]\n"
        assert "GROQ_API_KEY" in session.around.secret_names

    async def prepared(session: Session) -> None:
        object.__setattr__(session.around, "make", lambda service: Service())
        await scenario(session)

    hold(tmp_path, Service(), prepared, environ={"GROQ_API_KEY": "g-key"})
