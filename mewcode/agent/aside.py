"""A question aside: the model sees the conversation and answers, and nothing of it stays.

The request is that of the conversation's next step, with ``tool_choice: none``, so the cached prefix holds.
It may run while a turn does. What it used is counted with the session's tokens: it was paid for.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mewcode.agent.agent import Agent
from mewcode.agent.conversation import Conversation, NoArchive, new_message
from mewcode.agent.model_step import model_step
from mewcode.agent.ports import Emit
from mewcode.core.message import Message, Text, ToolResult
from mewcode.providers.retry import RetryPolicy

_ASIDE = (
    "The user asks this aside, beside the conversation. Answer it in a few lines from what you know and what "
    "stands above; no tool can be used. The answer is shown to the user and then forgotten: it changes "
    "nothing of the task."
)
_RUNNING = "(still running)"


async def ask_aside(agent: Agent, question: str, emit: Emit, retry: RetryPolicy | None = None) -> str:
    """The model's answer; its stream events go to ``emit``. Raises `ProviderError`. The conversation and its
    archive are as before, also when this is cancelled.

    The prompt must be settled (`Session.prepare`).
    """
    words = f"<system-reminder>\n{_ASIDE}\n</system-reminder>"
    asked = new_message("user", (Text(words), Text(question)), "user")
    messages = (*settled(agent.conversation.messages), asked)
    apart = Conversation(NoArchive(), messages)
    request = msgspec.structs.replace(agent.request("none"), messages=messages)
    try:
        message, _ = await model_step(agent.provider, request, apart, emit, retry or agent.retry)
    finally:
        for model, usage in apart.usage.items():
            agent.conversation.count(model, usage)
    return message.text


def settled(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation as it can be sent in the middle of a step: calls that still run have a stand-in for
    their result, since no provider takes a call without one."""
    last = max((place for place, item in enumerate(messages) if item.role == "assistant"), default=-1)
    if last < 0 or not messages[last].tool_calls:
        return tuple(messages)
    answered = {result.call_id for message in messages[last:] for result in message.tool_results}
    missing = [call for call in messages[last].tool_calls if call.id not in answered]
    stand_ins = [new_message("tool", (ToolResult(call.id, (Text(_RUNNING),)),), "tool") for call in missing]
    # Before what the user said meanwhile, if anything: results follow their calls.
    end = max(
        (place + 1 for place in range(last, len(messages)) if messages[place].tool_results), default=last + 1
    )
    return (*messages[:end], *stand_ins, *messages[end:])
