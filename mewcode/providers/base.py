"""The seam between the loop and a model's service.

A *protocol* translates and does no I/O: `WireProtocol.build` makes a request out of values, an `Assembler`
makes `StreamEvent`s out of server events. One transport carries both (`providers.http_provider`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any, Literal, Protocol

import msgspec

from mewcode.core.message import Message
from mewcode.core.stream import StreamEvent
from mewcode.core.tool_spec import ToolSpec
from mewcode.providers.catalog import ModelInfo


class Endpoint(msgspec.Struct, frozen=True):
    """Where a service is, and who asks. ``base_url`` has no trailing slash; ``api_key`` may be empty (a
    local server); ``bearer``: the key goes into ``Authorization`` even where the protocol has its own header.
    """

    base_url: str
    api_key: str = ""
    bearer: bool = False
    headers: dict[str, str] = {}


class ModelRequest(msgspec.Struct, frozen=True):
    """All that one request says. ``system``: texts in order, the last ends the cached part of the prompt.
    ``messages``: a tuple, or `MessagesSoFar` of a conversation.

    ``tool_choice`` "none" keeps the tools in the prompt, so that its cached prefix holds, and forbids calls.
    ``effort`` "low" asks a model that thinks to think as little as it can.
    ``schema``: the JSON schema to which a model that takes one is held; others are not told of it, so an
    answer is to be checked all the same. The services take an object, each object in it with all its
    properties ``required`` and ``"additionalProperties": false``; no recursion, no limits of numbers or
    lengths. ``temperature``: None leaves it to the service; a model that takes none is not told of it.
    """

    model: ModelInfo
    system: tuple[str, ...]
    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    effort: Literal["usual", "low"] = "usual"
    schema: dict[str, Any] | None = None
    temperature: float | None = None


class HttpRequest(msgspec.Struct, frozen=True):
    """A request ready to be sent. ``headers`` hold the key: they are never logged or shown. An empty ``body``
    means none."""

    method: Literal["GET", "POST"]
    url: str
    headers: dict[str, str]
    body: bytes = b""


class ServerEvent(msgspec.Struct, frozen=True):
    """One server-sent event: its name (empty where none was given) and its data lines, joined."""

    name: str
    data: bytes


class Assembler(Protocol):
    """Makes stream events of one answer. Neither method raises: what is wrong becomes `Failed`."""

    def feed(self, event: ServerEvent) -> Iterable[StreamEvent]:
        """The events that this server event completes; nothing after a `Done` or `Failed`."""
        ...

    def finish(self) -> Iterable[StreamEvent]:
        """The body has ended: `Failed` when the answer was not complete."""
        ...


class WireProtocol(Protocol):
    """A provider's language. Pure: no I/O, no clock."""

    name: str

    def build(self, request: ModelRequest, endpoint: Endpoint) -> HttpRequest:
        """The streaming request, for any conversation, one that another protocol's model began included.
        What says the same has the same body to the byte."""
        ...

    def assembler(self) -> Assembler:
        """A new one, for one answer."""
        ...

    def models_request(self, endpoint: Endpoint) -> HttpRequest:
        """The request for the list of models."""
        ...


class Provider(Protocol):
    """A model's service, ready to use.

    ``stream`` yields as `core.stream` says and raises nothing but cancellation; closing the generator ends
    the connection. ``list_models`` raises `ProviderError`. ``warm`` may be called ahead of time, in a thread,
    to load what a request needs.
    """

    name: str

    def warm(self) -> None: ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]: ...

    async def list_models(self) -> tuple[str, ...]: ...

    async def aclose(self) -> None: ...
