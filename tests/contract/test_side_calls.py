"""What a side call sends and how it copes, over both protocols."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from mewcode.agent.side_call import MOST_OUTPUT, side_call
from mewcode.core.errors import BadRequest, ProviderError
from mewcode.core.message import Usage
from mewcode.providers.catalog import Catalog, ModelInfo
from mewcode.providers.retry import RetryPolicy
from tests.support import fake_llm as fake
from tests.support.fake_llm import Gate, Reply

QUICK = RetryPolicy(max_attempts=3, base=0.001, cap=0.002, longest_wait=1.0)


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "about": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "about"],
    "additionalProperties": False,
}


def ask(
    wire,
    model: ModelInfo | None = None,
    limit: float = 20.0,
    schema: dict[str, Any] | None = None,
) -> tuple[str, dict[str, Usage]]:
    counted: dict[str, Usage] = {}

    async def scenario() -> str:
        provider = wire.provider()
        try:
            chosen = model or wire.model
            return await side_call(
                provider,
                chosen,
                "Be short.",
                "What is it?",
                counted.__setitem__,
                retry=QUICK,
                limit=limit,
                schema=schema,
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


def takes_schemas(wire) -> ModelInfo:
    return msgspec.structs.replace(wire.model, schema=True)


def schema_in(body: dict[str, Any]) -> object:
    """The schema that a request asks for, in either protocol; None where it asks for none."""
    if "response_format" in body:
        form = body["response_format"]
        assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
        return form["json_schema"]["schema"]
    return body.get("output_config", {}).get("format", {}).get("schema")


def test_a_model_that_takes_a_schema_is_held_to_it(wire) -> None:
    wire.server.script(Reply.text('{"name": "it", "about": []}'))
    answer, _ = ask(wire, takes_schemas(wire), schema=SCHEMA)
    assert answer == '{"name": "it", "about": []}'
    assert schema_in(wire.sent()) == SCHEMA
    if wire.name == "anthropic":
        assert wire.sent()["output_config"]["effort"] == "low"


def test_without_an_effort_the_schema_stands_alone(anthropic_wire) -> None:
    anthropic_wire.server.script(Reply.text("{}"))
    ask(anthropic_wire, Catalog.load().find("claude-haiku-4-5"), schema=SCHEMA)
    form = {"type": "json_schema", "schema": SCHEMA}
    assert anthropic_wire.sent()["output_config"] == {"format": form}


def test_a_model_that_takes_none_is_not_told_of_it(wire) -> None:
    wire.server.script(Reply.text("{}"))
    ask(wire, schema=SCHEMA)
    assert schema_in(wire.sent()) is None


@pytest.mark.parametrize("status", [400, 422])
def test_where_a_schema_is_refused_the_model_is_asked_without(wire, status: int) -> None:
    wire.server.script(Reply.error(status), Reply.text("whole"))
    assert ask(wire, takes_schemas(wire), schema=SCHEMA)[0] == "whole"
    first, second = (request.json for request in wire.server.generations)
    assert (schema_in(first), schema_in(second)) == (SCHEMA, None)


def test_a_request_that_is_refused_without_a_schema_is_not_sent_again(wire) -> None:
    wire.server.script(Reply.error(400), Reply.error(400))
    with pytest.raises(BadRequest):
        ask(wire, takes_schemas(wire), schema=SCHEMA)
    assert len(wire.server.generations) == 2
    wire.server.script(Reply.error(404), Reply.error(400))
    with pytest.raises(BadRequest):
        ask(wire, takes_schemas(wire), schema=SCHEMA)
    with pytest.raises(BadRequest):
        ask(wire, schema=SCHEMA)
    assert len(wire.server.generations) == 4
