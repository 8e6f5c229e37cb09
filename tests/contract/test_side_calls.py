"""What a side call sends and how it copes, over both protocols."""

from __future__ import annotations

import asyncio

import pytest

from mewcode.agent.side_call import MOST_OUTPUT, side_call
from mewcode.core.errors import ProviderError
from mewcode.core.message import Usage
from mewcode.providers.catalog import Catalog, ModelInfo
from mewcode.providers.retry import RetryPolicy
from tests.support import fake_llm as fake
from tests.support.fake_llm import Gate, Reply

QUICK = RetryPolicy(max_attempts=3, base=0.001, cap=0.002, longest_wait=1.0)


def ask(wire, model: ModelInfo | None = None, limit: float = 20.0) -> tuple[str, dict[str, Usage]]:
    counted: dict[str, Usage] = {}

    async def scenario() -> str:
        provider = wire.provider()
        try:
            chosen = model or wire.model
            return await side_call(
                provider, chosen, "Be short.", "What is it?", counted.__setitem__, retry=QUICK, limit=limit
            )
        finally:
            await provider.aclose()

    return asyncio.run(scenario()), counted


def test_it_offers_no_tool_and_asks_for_little(wire) -> None:
    wire.server.script(Reply.of(fake.thinking("hm", "sig"), fake.text("```\nAn answer\n```")))
    answer, counted = ask(wire)
    assert answer == "An answer"
    body = wire.sent()
    assert "tools" not in body
    assert "tool_choice" not in body
    assert "temperature" not in body
    assert "thinking" not in body
    assert body["max_tokens"] == MOST_OUTPUT
    if wire.name == "anthropic":
        assert body["output_config"] == {"effort": "low"}
    assert list(counted) == ["fake-large"]
    assert counted["fake-large"].output_tokens > 0


def test_a_model_that_reasons_is_told_to_do_so_little(openai_wire) -> None:
    openai_wire.server.script(Reply.text("Yes"))
    ask(openai_wire, Catalog.load().find("gpt-5"))
    body = openai_wire.sent()
    assert (body["reasoning_effort"], body["max_completion_tokens"]) == ("low", MOST_OUTPUT)
    assert "max_tokens" not in body


def test_a_model_with_a_budget_gets_none(anthropic_wire) -> None:
    anthropic_wire.server.script(Reply.text("Yes"))
    ask(anthropic_wire, Catalog.load().find("claude-haiku-4-5"))
    assert not {"thinking", "output_config"} & anthropic_wire.sent().keys()


def test_it_tries_again_a_few_times(wire) -> None:
    wire.server.script(Reply.error(503), Reply.error(500), Reply.text("whole"))
    assert ask(wire)[0] == "whole"
    wire.server.script(*[Reply.error(503)] * 3)
    with pytest.raises(ProviderError):
        ask(wire)
    assert len(wire.server.generations) == 6


def test_it_does_not_wait_for_ever(wire) -> None:
    wire.server.script(Reply.text(["half ", Gate("never")]))
    with pytest.raises(ProviderError, match=r"no answer within 0.2 s"):
        ask(wire, limit=0.2)
    wire.server.release("never")


def test_an_answer_without_text_is_none(wire) -> None:
    wire.server.script(Reply.text("<think>I wonder"))
    with pytest.raises(ProviderError, match="empty"):
        ask(wire)
