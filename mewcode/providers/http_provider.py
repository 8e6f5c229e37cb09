"""A provider made of a protocol and a transport."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing

from mewcode.core.codec import decode_json
from mewcode.core.errors import BadRequest, ProviderError, StreamBroken
from mewcode.core.stream import BlockDelta, Done, Failed, StreamEvent
from mewcode.providers.base import Endpoint, ModelRequest, ServerEvent, WireProtocol
from mewcode.providers.sse import SseDecoder
from mewcode.providers.transport import Transport, load


class HttpProvider:
    """`Provider` over HTTP. One attempt a call: retries are the loop's, which can show them."""

    def __init__(self, name: str, protocol: WireProtocol, endpoint: Endpoint, transport: Transport) -> None:
        self.name = name
        self._protocol = protocol
        self._endpoint = endpoint
        self._transport = transport

    def warm(self) -> None:
        load()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        assembler = self._protocol.assembler()
        decoder = SseDecoder()
        body = self._transport.stream(self._protocol.build(request, self._endpoint))
        first = True
        try:
            async with aclosing(body):
                async for chunk in body:
                    if first and chunk.strip():
                        first = False
                        start = chunk.lstrip()[:1]
                        if start == b"<":
                            yield Failed(_web_page())
                            return
                        # A server that ignores "stream": true answers with one JSON object.
                        if start == b"{":
                            whole = chunk + b"".join([more async for more in body])
                            for item in assembler.feed(ServerEvent("whole", whole)):
                                yield item
                            break
                    for item in _joined(
                        part for event in decoder.feed(chunk) for part in assembler.feed(event)
                    ):
                        if isinstance(item, Done):
                            await _drain(body)
                        yield item
                        if isinstance(item, Done | Failed):
                            return
            for event in decoder.finish():
                for item in assembler.feed(event):
                    yield item
            for item in assembler.finish():
                yield item
        except ProviderError as error:
            # A connection that is lost when all but the formal end has come has cost nothing.
            rest = list(assembler.finish())
            if isinstance(rest[-1] if rest else None, Done):
                for item in rest:
                    yield item
            else:
                yield Failed(error)
        except ValueError as error:
            yield Failed(StreamBroken(str(error)))

    async def list_models(self) -> tuple[str, ...]:
        """The names that the service offers, in its order. Raises `ProviderError`."""
        body = await self._transport.fetch(self._protocol.models_request(self._endpoint))
        try:
            entries = decode_json(body)["data"]
            return tuple(str(entry["id"]) for entry in entries)
        except (ValueError, KeyError, TypeError) as error:
            raise BadRequest(
                "the service's list of models cannot be read", "Name the model with --model or MEWCODE_MODEL."
            ) from error

    async def aclose(self) -> None:
        await self._transport.aclose()


def _web_page() -> BadRequest:
    return BadRequest(
        "the service answered with a web page, not as a model's API",
        "Check the base URL (for Chat Completions it ends in /v1) and the proxy.",
    )


def _joined(events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
    """The events, neighbouring deltas of one block made one: a chunk that was waiting brings hundreds, and
    all that follows costs by the event."""
    first: BlockDelta | None = None
    texts: list[str] = []
    for event in events:
        if first is not None:
            if isinstance(event, BlockDelta) and event.index == first.index:
                texts.append(event.text)
                continue
            yield BlockDelta(first.index, first.kind, "".join(texts))
            first = None
        if isinstance(event, BlockDelta):
            first, texts = event, [event.text]
        else:
            yield event
    if first is not None:
        yield BlockDelta(first.index, first.kind, "".join(texts))


# Seconds. The end of the body is nearly always there already.
_DRAIN_LIMIT = 0.25


async def _drain(body: AsyncGenerator[bytes, None]) -> None:
    """Reads what follows the last event, so that the connection can carry the next request; a server that
    dawdles or breaks off here has lost nothing but that."""
    try:
        async with asyncio.timeout(_DRAIN_LIMIT):
            async for _ in body:
                pass
    except (TimeoutError, ProviderError):
        return
