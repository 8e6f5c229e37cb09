"""How a model is asked to choose, over both protocols: with no warmth where it takes a temperature."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from mewcode.agent.side_call import side_answer
from mewcode.memory.recall.selection import SCHEMA
from mewcode.providers.catalog import Catalog, ModelInfo
from tests.support.fake_llm import Reply

NOTHING = '{"selected_memories": []}'


def ask(wire, model: ModelInfo) -> None:
    async def scenario() -> None:
        provider = wire.provider()
        try:
            answer, _ = await side_answer(
                provider,
                model,
                "Choose.",
                "Which?",
                lambda *_: None,
                most_output=256,
                schema=SCHEMA,
                temperature=0.0,
            )
            assert answer == NOTHING
        finally:
            await provider.aclose()

    wire.server.script(Reply.text(NOTHING))
    asyncio.run(scenario())


def test_a_known_model_that_takes_a_temperature_is_sent_one(wire) -> None:
    ask(wire, msgspec.structs.replace(wire.model, temperature=True, thinking="none", schema=True))
    body = wire.sent()
    assert (body["temperature"], body["max_tokens"]) == (0.0, 256)
    assert str(SCHEMA["required"]) in str(body)
    wire.server.assert_clean()


@pytest.mark.parametrize("name", ["gpt-5", "claude-opus-5-5", "nobody-knows-it"])
def test_others_are_not(name: str, wire) -> None:
    ask(wire, Catalog.load().find(name))
    assert "temperature" not in wire.sent()
    wire.server.assert_clean()
