"""What the fake model server refuses of the form that an answer is to have, as the real services do."""

from __future__ import annotations

import pytest

from tests.support.fake_llm_anthropic_check import anthropic_violation
from tests.support.fake_llm_client import HEADERS, body
from tests.support.fake_llm_openai_check import openai_violation
from tests.support.fake_llm_reply import Dialect, JsonObject

SENT = {**HEADERS, "content-type": "application/json"}
LOOSE: JsonObject = {"type": "object", "properties": {}}
STRICT: JsonObject = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
FORM: JsonObject = {"type": "json_schema", "schema": STRICT}


def refused(config: object) -> str | None:
    """Why the Anthropic service refuses the usual request with this ``output_config``."""
    return anthropic_violation(body("anthropic", output_config=config), SENT, counts_only=False)


def refused_openai(form: object) -> str | None:
    """Why the OpenAI service refuses the usual request with this ``response_format``."""
    return openai_violation(body("openai", response_format=form), Dialect())


def with_schema(schema: object) -> JsonObject:
    return {"format": {**FORM, "schema": schema}}


def answer_of(schema: JsonObject, **more: object) -> JsonObject:
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": schema, **more},
    }


def listing(items: JsonObject) -> JsonObject:
    """A schema with another one within it."""
    return {**STRICT, "properties": {"name": {"type": "array", "items": {"anyOf": [items]}}}}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("low", "output_config: Input should be an object"),
        ({"verbosity": "low"}, "output_config.verbosity: Extra inputs"),
        ({"effort": "least"}, "output_config.effort: Input should be low or"),
        ({"format": {"type": "json"}}, "format.type: Input should be 'json_schema'"),
        ({"format": {**FORM, "name": "x"}}, "format.name: Extra inputs"),
        (with_schema(None), "format.schema: a schema is an object"),
        (with_schema(LOOSE), "'additionalProperties' must be"),
        (with_schema(listing(LOOSE)), "'additionalProperties' must be"),
        (with_schema(listing({"type": "string", "maxLength": 5})), "'maxLength' is not"),
        (with_schema(listing({"$ref": "#"})), "recursive schemas"),
    ],
)
def test_anthropic_refuses_forms(config: object, message: str) -> None:
    assert message in str(refused(config))


@pytest.mark.parametrize(
    "config",
    [
        {"effort": "low", "format": FORM},
        with_schema({**STRICT, "required": []}),
        with_schema(listing(STRICT)),
    ],
)
def test_anthropic_accepts_forms(config: JsonObject) -> None:
    assert refused(config) is None


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("json_schema", "'response_format.type' must be one of"),
        ({"type": "json_schema"}, "Missing required parameter: 'response_format.json_schema'"),
        (answer_of(STRICT, name="an answer"), "json_schema.name': 'an answer'"),
        (answer_of({"type": "array", "items": STRICT}), "root must be of type 'object'"),
        (answer_of(listing(LOOSE)), "'additionalProperties' must be"),
        (answer_of({**STRICT, "required": []}), "'name' is missing"),
        (answer_of(listing({"$ref": "#"})), "recursive schemas"),
    ],
)
def test_openai_refuses_forms(form: object, message: str) -> None:
    assert message in str(refused_openai(form))


@pytest.mark.parametrize("form", [answer_of(STRICT), answer_of(LOOSE, strict=False), {"type": "json_object"}])
def test_openai_accepts_forms(form: JsonObject) -> None:
    assert refused_openai(form) is None
