"""One request as the fake model server received it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Protocol: TypeAlias = Literal["anthropic", "openai"]


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request. Header names are lower case; `json` is None when the body is no JSON.

    `time` is `time.monotonic()` at the arrival of the last byte. `connection` numbers the TCP connections,
    so that equal numbers mean a connection that was kept alive. `generates` says that the request asks the
    model for an answer, as opposed to listing models or counting tokens.
    """

    index: int
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    json: object
    protocol: Protocol
    time: float
    connection: int
    generates: bool

    @property
    def payload(self) -> dict[str, object]:
        """The JSON object of the body; empty when there is none."""
        return self.json if isinstance(self.json, dict) else {}

    @property
    def model(self) -> str:
        """The model asked for, or the empty string."""
        return str(self.payload.get("model") or "")

    @property
    def stream(self) -> bool:
        """Whether a stream was asked for."""
        return self.payload.get("stream") is True

    @property
    def messages(self) -> list[dict[str, object]]:
        """The messages as sent, in the protocol's own form."""
        sent = self.payload.get("messages")
        return [item for item in sent if isinstance(item, dict)] if isinstance(sent, list) else []

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools offered, in order, in either protocol."""
        names: list[str] = []
        offered = self.payload.get("tools")
        for tool in offered if isinstance(offered, list) else []:
            if isinstance(tool, dict):
                function = tool.get("function")
                names.append(str((function if isinstance(function, dict) else tool).get("name")))
        return names
