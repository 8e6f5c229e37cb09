"""One small request, to see whether a service answers and takes the key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from mewcode._version import __version__
from mewcode.core.errors import ConnectionFailed, ProviderError
from mewcode.core.ids import new_id
from mewcode.core.message import Message, Text
from mewcode.core.stream import Done, Failed
from mewcode.providers.base import ModelRequest, Provider
from mewcode.providers.catalog import Catalog
from mewcode.providers.registry import Service, make_provider

# Tokens. Some services refuse an answer of less.
_SMALLEST_ANSWER = 16
_LOOK = "Check the address, the network and the proxy settings."


@dataclass(frozen=True, slots=True)
class Trial:
    """``models`` are the names that the service lists, in its order. ``error``: why it did not answer as it
    should; None where it did."""

    models: tuple[str, ...] = ()
    error: ProviderError | None = None


def list_models(service: Service, limit: float) -> Trial:
    """Asks for the list of models, which costs nothing. Takes at most ``limit`` seconds; raises nothing that
    a network can cause."""

    async def listed(provider: Provider) -> Trial:
        return Trial(await provider.list_models())

    return _tried(service, limit, listed)


def send_message(service: Service, model: str, limit: float) -> Trial:
    """Asks ``model`` for a word, where a list says nothing about the key. Likewise bounded."""

    async def answered(provider: Provider) -> Trial:
        info = msgspec.structs.replace(
            Catalog.load().find(model), max_output=_SMALLEST_ANSWER, thinking="none"
        )
        request = ModelRequest(info, (), (Message(new_id(), "user", (Text("Say hi."),)),))
        async with aclosing(provider.stream(request)) as events:
            async for event in events:
                if isinstance(event, Failed):
                    return Trial(error=event.error)
                if isinstance(event, Done):
                    return Trial()
        return Trial()

    return _tried(service, limit, answered)


def _tried(service: Service, limit: float, ask: Callable[[Provider], Awaitable[Trial]]) -> Trial:
    async def asked() -> Trial:
        provider = make_provider(service, f"mewcode/{__version__}")
        try:
            async with asyncio.timeout(limit):
                return await ask(provider)
        except TimeoutError:
            return Trial(error=ConnectionFailed(f"no answer within {limit:g} s", _LOOK))
        except ProviderError as error:
            return Trial(error=error)
        finally:
            await provider.aclose()

    return asyncio.run(asked())
