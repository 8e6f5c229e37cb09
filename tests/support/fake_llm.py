"""A fake model server for tests and benchmarks.

In a test:

    with FakeLLM([Reply.calls(("read", {"path": "a.py"})), Reply.text("done")]) as server:
        ...  # let the program talk to `server.url` or `server.openai_url`
        assert server.generations[0].tool_names == ["read"]

As a process, which prints its base URL as the first line and serves until it is terminated:

    python -m tests.support.fake_llm --script FILE.json [--port 0]
    python -m tests.support.fake_llm --bench-stream KB EVENTS

The script is a list of replies in their JSON form (`Reply.from_json`), or an object with any of `replies`,
`default`, `dialect`, `validate`, `api_key` and `models`.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from .fake_llm_bulk import bulk_reply, markdown
from .fake_llm_reply import (
    Block,
    Comment,
    Cut,
    Dialect,
    Faults,
    Gate,
    Happening,
    Piece,
    Raw,
    RedactedThinking,
    Reply,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    UnknownEvent,
    Usage,
    text,
    thinking,
    tool_call,
)
from .fake_llm_request import RecordedRequest
from .fake_llm_server import FakeLLM, Rule

__all__ = [
    "Block",
    "Comment",
    "Cut",
    "Dialect",
    "FakeLLM",
    "Faults",
    "Gate",
    "Happening",
    "Piece",
    "Raw",
    "RecordedRequest",
    "RedactedThinking",
    "Reply",
    "Rule",
    "StreamError",
    "Text",
    "Thinking",
    "ToolCall",
    "UnknownEvent",
    "Usage",
    "bulk_reply",
    "markdown",
    "server_from_script",
    "text",
    "thinking",
    "tool_call",
]


def server_from_script(script: object, *, port: int = 0) -> FakeLLM:
    """The server that a script's JSON describes, not yet started. Raises ValueError on a bad script."""
    settings = {"replies": script} if isinstance(script, list) else script
    if not isinstance(settings, dict):
        raise ValueError("script: it must be a list of replies or an object")
    known = ("replies", "default", "dialect", "validate", "api_key", "models")
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise ValueError(f"script: unknown key {unknown[0]!r}; there are {', '.join(known)}")
    default = settings.get("default")
    shell = Reply.from_json({"dialect": settings.get("dialect") or {}})
    key = settings.get("api_key")
    return FakeLLM(
        [Reply.from_json(item) for item in settings.get("replies", [])],
        default=None if default is None else Reply.from_json(default),
        validate=settings.get("validate") is not False,
        dialect=shell.dialect,
        api_key=None if key is None else str(key),
        models=[str(name) for name in settings.get("models", ("fake-large", "fake-small"))],
        port=port,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; problems go to standard error at the end and make the exit code 1."""
    parser = argparse.ArgumentParser(prog="fake_llm", description="A fake model server.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--script", type=Path, metavar="FILE", help="replies as JSON")
    source.add_argument(
        "--bench-stream", type=int, nargs=2, metavar=("KB", "EVENTS"), help="answer all with markdown"
    )
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.bench_stream is not None:
        server = FakeLLM(default=bulk_reply(*options.bench_stream), validate=False, port=options.port)
    else:
        try:
            server = server_from_script(json.loads(options.script.read_bytes()), port=options.port)
        except (OSError, ValueError) as error:
            parser.error(f"{options.script}: {error}")
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # ahead of the threads, which inherit it
    with server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        signal.sigwait(ends)
    for problem in server.problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if server.problems else 0


if __name__ == "__main__":
    sys.exit(main())
