"""Chunks of a Chat Completions stream."""

from __future__ import annotations

DONE = b"[DONE]"


def chunk(finish: str | None = None, usage: dict | None = None, **delta) -> dict:
    body: dict = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return body if usage is None else {**body, "usage": usage}


def item(
    arguments: object = None, *, index: int | None = None, ident: str | None = None, name: str | None = None
) -> dict:
    """One entry of a delta's ``tool_calls``; what is not given is not there."""
    entry: dict = {} if index is None else {"index": index}
    if ident is not None:
        entry["id"] = ident
    function = {} if name is None else {"name": name}
    return {**entry, "function": {**function, "arguments": arguments}}
