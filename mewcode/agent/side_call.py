"""A side call: one question to the model beside the conversation, for a title, a brief or a summary. No tool
is offered, and nothing of it is kept.

It goes to the small model where one is set, with little thought and a short answer. A temperature is sent
only where one is asked for, and to no model that takes none. What it used is counted with the session's
tokens: it was paid for.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any

import msgspec

from mewcode.agent.conversation import Conversation, NoArchive, new_message
from mewcode.agent.model_step import model_step
from mewcode.core.errors import BadRequest, PromptTooLong, StreamBroken
from mewcode.core.events import AgentEvent
from mewcode.core.message import Message, Text, Usage
from mewcode.core.stream import StopReason
from mewcode.providers.base import ModelRequest, Provider
from mewcode.providers.catalog import ModelInfo
from mewcode.providers.retry import RetryPolicy

_LOG = logging.getLogger("mewcode.side_call")

MOST_OUTPUT = 1_024
"""Tokens of an answer, thought included."""
TIME_LIMIT = 30.0
"""Seconds for all attempts together."""
_RETRY = RetryPolicy(max_attempts=3, base=1.0, cap=4.0, longest_wait=10.0)

# With these a service refuses what it does not know in a request.
_REFUSED = (400, 422)

# What a model that thinks in its text begins with; where the first mark is missing, the server took it away.
_THOUGHT = r"\A.*</think(?:ing)?>"
_OPEN_THOUGHT = r"\A\s*<think(?:ing)?>.*\Z"
_FENCE = r"```[^\n]*\n(.*?)(?:\n[ \t]*```|\Z)"


async def side_call(
    provider: Provider,
    model: ModelInfo,
    system: str,
    text: str,
    count: Callable[[str, Usage], None],
    *,
    retry: RetryPolicy = _RETRY,
    limit: float = TIME_LIMIT,
    schema: dict[str, Any] | None = None,
) -> str:
    """The answer's text, as `plain_answer` makes it; never empty. ``count`` is told what each model used,
    also where this fails or is cancelled. ``schema``: see `ModelRequest`; not every model is held to it.

    Raises `ProviderError`, also where ``limit`` seconds were not enough.
    """
    whole, _ = await side_answer(
        provider, model, system, text, count, retry=retry, limit=limit, schema=schema
    )
    answer = plain_answer(whole)
    if not answer:
        raise StreamBroken("the answer was empty", "It is left out.")
    return answer


async def side_answer(
    provider: Provider,
    model: ModelInfo,
    system: str,
    text: str,
    count: Callable[[str, Usage], None],
    *,
    retry: RetryPolicy = _RETRY,
    limit: float = TIME_LIMIT,
    most_output: int = MOST_OUTPUT,
    schema: dict[str, Any] | None = None,
    temperature: float | None = None,
) -> tuple[str, StopReason]:
    """As `side_call`: the answer's text as it is (it may hold fences of its own, or be empty), and why it
    ended. ``most_output``: tokens of it, thought included."""
    small = msgspec.structs.replace(model, max_output=min(model.max_output, most_output))
    if model.is_unknown:
        temperature = None  # it may refuse one
    asked = new_message("user", (Text(text),), "user")
    apart = Conversation(NoArchive(), (asked,))
    request = ModelRequest(small, (system,), (asked,), effort="low", schema=schema, temperature=temperature)
    try:
        async with asyncio.timeout(limit):
            message, reason = await _ask(provider, request, apart, retry)
    except TimeoutError:
        raise StreamBroken(f"no answer within {limit:g} s", "It is left out.") from None
    finally:
        for name, usage in apart.usage.items():
            count(name, usage)
    return message.text, reason


async def _ask(
    provider: Provider, request: ModelRequest, apart: Conversation, retry: RetryPolicy
) -> tuple[Message, StopReason]:
    """The answer; where the service refuses the request with its schema, the one without."""
    try:
        return await model_step(provider, request, apart, _say_nothing, retry)
    except BadRequest as error:
        is_of_schema = request.schema is not None and request.model.schema and error.status in _REFUSED
        if not is_of_schema or isinstance(error, PromptTooLong):
            raise
        _LOG.info("%s is asked again without a schema: HTTP %d", request.model.name, error.status)
    return await model_step(
        provider, msgspec.structs.replace(request, schema=None), apart, _say_nothing, retry
    )


def _say_nothing(event: AgentEvent) -> None:
    return


def plain_answer(text: str) -> str:
    """What a model meant to say: without thinking in tags before it, and out of the code fence around it."""
    text = re.sub(_THOUGHT, "", text, count=1, flags=re.DOTALL | re.IGNORECASE)
    text = re.sub(_OPEN_THOUGHT, "", text, flags=re.DOTALL | re.IGNORECASE)
    fenced = re.search(_FENCE, text, re.DOTALL)
    if fenced and fenced[1].strip():
        text = fenced[1]
    return text.strip()
