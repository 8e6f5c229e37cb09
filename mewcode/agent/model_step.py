"""One step of the model: a request, sent again where that is right, until a whole answer is there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import msgspec

from mewcode.agent.conversation import Conversation, new_message
from mewcode.agent.ports import Emit
from mewcode.core.errors import StreamBroken
from mewcode.core.events import RetryScheduled, StreamWithdrawn
from mewcode.core.message import Message, Text, Thinking, ToolCall, Usage
from mewcode.core.stream import BlockDelta, BlockEnd, BlockStart, Done, Failed, StopReason, UsageReport
from mewcode.providers.base import ModelRequest, Provider
from mewcode.providers.retry import RetryPolicy

Sleep = Callable[[float], Awaitable[None]]


class _Attempt:
    """What has arrived of one answer."""

    def __init__(self) -> None:
        self.blocks: dict[int, Text | Thinking | ToolCall] = {}
        self.growing: dict[int, list[str]] = {}
        self.usage = Usage()
        self.shown = False

    def content(self) -> tuple[Text | Thinking | ToolCall, ...]:
        """The blocks in the order in which they began, without empty ones."""
        whole = (self.blocks[index] for index in sorted(self.blocks))
        return tuple(block for block in whole if not isinstance(block, Text) or block.text)

    def refuse_cut_call(self) -> None:
        """At the output limit, a last call without arguments may be one whose arguments never came."""
        last = max(self.blocks, default=None)
        if last is not None:
            block = self.blocks[last]
            if isinstance(block, ToolCall) and not block.args:
                self.blocks[last] = msgspec.structs.replace(
                    block, invalid=block.invalid or "(nothing: the answer was cut off at the output limit)"
                )

    def kept(self) -> tuple[Text | Thinking, ...]:
        """What stays when the user interrupts: text, and thinking that is whole. No call: none was run."""
        for index, parts in self.growing.items():
            self.blocks[index] = Text("".join(parts))
        return tuple(block for block in self.content() if not isinstance(block, ToolCall))


async def model_step(
    provider: Provider,
    request: ModelRequest,
    conversation: Conversation,
    emit: Emit,
    policy: RetryPolicy,
    sleep: Sleep = asyncio.sleep,
) -> tuple[Message, StopReason]:
    """The model's answer, added to the conversation, and why it stopped.

    Raises `ProviderError` when the service refuses or no attempt is left. When cancelled, the text that had
    come is added to the conversation first. An answer with nothing in it is returned but not added: no
    provider would take it back.
    """
    for number in range(1, policy.max_attempts + 1):
        attempt = _Attempt()
        try:
            ending = await _receive(provider, request, attempt, emit)
        except asyncio.CancelledError:
            _keep_partial(attempt, request, conversation, emit)
            raise
        conversation.count(request.model.name, attempt.usage)
        if isinstance(ending, Done):
            if ending.stop_reason in ("max_tokens", "context_window"):
                attempt.refuse_cut_call()
            return _whole(attempt, request, conversation, emit), ending.stop_reason
        if attempt.shown:
            emit(StreamWithdrawn(ending.error.message))
        delay = policy.delay(number, ending.error)
        if delay is None:
            raise ending.error
        emit(RetryScheduled(number + 1, policy.max_attempts, delay, ending.error.message))
        await sleep(delay)
    raise StreamBroken("no attempt was made", "Set max_attempts to at least 1.")


async def _receive(provider: Provider, request: ModelRequest, attempt: _Attempt, emit: Emit) -> Done | Failed:
    async with aclosing(provider.stream(request)) as stream:
        async for event in stream:
            if isinstance(event, BlockDelta):
                if event.kind == "text":
                    attempt.growing.setdefault(event.index, []).append(event.text)
                emit(event)
            elif isinstance(event, BlockStart):
                attempt.shown = True
                emit(event)
            elif isinstance(event, BlockEnd):
                attempt.growing.pop(event.index, None)
                attempt.blocks[event.index] = event.block
                emit(event)
            elif isinstance(event, UsageReport):
                attempt.usage = event.usage
                emit(event)
            else:
                return event
    return Failed(StreamBroken("the answer broke off before its end", "Try again."))


def _whole(attempt: _Attempt, request: ModelRequest, conversation: Conversation, emit: Emit) -> Message:
    content = attempt.content()
    message = new_message("assistant", content, "model", request.model.name, attempt.usage)
    if content:
        # The last answer of a turn has no calls; it is made durable at once.
        conversation.add(message, emit, sync=not message.tool_calls)
    return message


def _keep_partial(attempt: _Attempt, request: ModelRequest, conversation: Conversation, emit: Emit) -> None:
    conversation.count(request.model.name, attempt.usage)
    kept = attempt.kept()
    if any(isinstance(block, Text) for block in kept):
        conversation.add(
            new_message("assistant", kept, "model", request.model.name, attempt.usage), emit, sync=True
        )
