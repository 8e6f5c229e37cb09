"""A model's service with a window of its own: it counts all of a request with a tokenizer of its own, refuses
what does not fit in the words of the real ones, reports what it counted, and writes summaries of what it is
shown."""

from __future__ import annotations

import re
import string
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from mewcode.context.summary import SECTIONS, Summary, read

from .fake_llm import FakeLLM, RecordedRequest, Reply, Text, Thinking, ToolCall, Usage
from .fake_llm_reply import joined

_CLASSES = (
    (string.ascii_letters.encode(), 0.29),
    (string.digits.encode(), 0.80),
    (string.whitespace.encode(), 0.12),
)
_SIGN, _WIDE = 0.55, 0.90
_BESIDE = 5
"""Tokens around a message."""

Rule = Callable[[RecordedRequest], Reply]


def count(text: str) -> int:
    """Tokens of a text: fewer of a letter than of a sign or a character of three bytes."""
    data = text.encode("utf-8", "surrogatepass")
    wide = (len(data) - len(text)) // 2
    left = len(data) - 3 * wide
    tokens = _WIDE * wide
    for letters, weight in _CLASSES:
        found = len(data) - len(data.translate(None, letters))
        tokens += weight * found
        left -= found
    return round(tokens + _SIGN * max(left, 0))


def is_aside(request: RecordedRequest) -> bool:
    """Whether it is a question beside a conversation: no tool is offered."""
    return "tools" not in request.payload


def tokens_of(request: RecordedRequest) -> int:
    """Tokens of all that a request puts before the model."""
    body = request.payload
    texts = "\n".join(_texts([body.get(part) for part in ("system", "tools", "messages")]))
    return count(texts) + _BESIDE * len(request.messages)


def most_output_of(request: RecordedRequest) -> int:
    """Tokens that the answer may have."""
    body = request.payload
    value = body.get("max_tokens") or body.get("max_completion_tokens") or 0
    assert isinstance(value, int)
    return value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("cache_control", "type", "signature"):
                yield key
                yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def messages_sent(request: RecordedRequest) -> bytes:
    """The messages' bytes, without the system prompt, and the cache's breakpoints, which wander."""
    body = request.body.replace(b',"cache_control":{"type":"ephemeral"}', b"")
    return body[body.index(b'{"role":"user"') : body.rindex(b'],"stream"')]


def results_in(request: RecordedRequest) -> str:
    """The text of the tool results that end the request; empty where it ends in other words."""
    last = request.messages[-1]
    if request.protocol == "anthropic":
        blocks = last["content"] if isinstance(last["content"], list) else []
        return "\n".join(_texts([block for block in blocks if block.get("type") == "tool_result"]))
    return "\n".join(_texts(last["content"])) if last["role"] == "tool" else ""


@dataclass
class Sent:
    """What a service was sent, in tokens. ``cached``: those that repeat the request before."""

    requests: int = 0
    tokens: int = 0
    cached: int = 0
    largest: int = 0

    def add(self, tokens: int, cached: int) -> None:
        self.requests += 1
        self.tokens += tokens
        self.cached += cached
        self.largest = max(self.largest, tokens)


@dataclass
class WindowService:
    """Answers the requests of a server. ``work`` is the model in a conversation; ``summary`` the model that
    is asked for one, by default one that does it well. Requests that were accepted go to ``seen`` first.

    ``refused`` are the tokens, with those of the answer asked for, of requests that were too long.
    """

    server: FakeLLM
    window: int
    work: Rule
    summary: Rule = field(default=lambda request: Reply.text(good_summary(request)))
    seen: Callable[[RecordedRequest], None] = field(default=lambda request: None)
    turns: Sent = field(default_factory=Sent)
    asides: Sent = field(default_factory=Sent)
    refused: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._last = b""
        self._guard = threading.Lock()
        self.server.respond_with(self._answer)

    def _answer(self, request: RecordedRequest) -> Reply:
        with self._guard:
            tokens, output = tokens_of(request), most_output_of(request)
            if (refusal := self._refusal(request, tokens, output)) is not None:
                self.refused.append((tokens, output))
                self._slim(request)
                return refusal
            if is_aside(request):
                self.asides.add(tokens, 0)
                reply, cached = self.summary(request), 0
            else:
                sent = messages_sent(request)
                rest = len(request.body) - len(sent)  # what stands before them is taken to be the same
                cached = min(tokens * (rest + _common(self._last, sent)) // len(request.body), tokens - 1)
                cached, self._last = cached if self._last else 0, sent
                self.turns.add(tokens, cached)
                self.seen(request)
                reply = self.work(request)
            self._slim(request)
            if reply.is_error:
                return reply
            return replace(reply, usage=Usage(tokens - cached, _said(reply), cached))

    def _refusal(self, request: RecordedRequest, tokens: int, output: int) -> Reply | None:
        window = self.window
        if tokens + output <= window:
            return None
        if request.protocol == "anthropic":
            said = f"prompt is too long: {tokens} tokens > {window} maximum"
            if tokens <= window:
                said = (
                    f"input length and `max_tokens` exceed context limit: {tokens} + {output} > {window}, "
                    "decrease input length or `max_tokens` and try again"
                )
            return Reply.error(400, message=said)
        if tokens > window:
            sent, part = f"your messages resulted in {tokens} tokens", "messages"
        else:
            whole = f"({tokens} in the messages, {output} in the completion)"
            sent, part = f"you requested {tokens + output} tokens {whole}", "messages or completion"
        said = (
            f"This model's maximum context length is {window} tokens. However, {sent}. "
            f"Please reduce the length of the {part}."
        )
        error = {"message": said, "type": "invalid_request_error", "param": "messages"}
        return Reply.error(400, {"error": {**error, "code": "context_length_exceeded"}})

    def _slim(self, request: RecordedRequest) -> None:
        """Forgets the body: a session of 500 turns sends gigabytes."""
        self.server.requests[request.index] = replace(request, body=b"", json=None)


def _said(reply: Reply) -> int:
    texts = []
    for block in reply.blocks:
        if isinstance(block, (Text, Thinking)):
            texts.append(joined(block.pieces))
        elif isinstance(block, ToolCall):
            texts.append(f"{block.name} {joined(block.pieces())}")
    return count("\n".join(texts)) + 3


def _common(old: bytes, new: bytes) -> int:
    """The length of what both begin with."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


_MARKED: dict[str, tuple[str, ...]] = {
    "Decisions": (r"Decision: [^\n]*",),
    "Errors and failed attempts": (r"FAILED [^\n\"]*",),
    "Forbidden": (r"Never [^\n]*?\.(?=\s)", r"绝不要[^\n]*?。"),
    "Files": (r"\[call\] write_file \{[^\n]*?\"path\":\"([^\"]+)\"",),
    "Goal": (r"I want [^\n]*?\.(?=\s)", r"我要[^\n]*?。"),
    "Open tasks": (r"\[call\] todo (\{[^\n]*)",),
}
"""What a session of `tests.support.long_session` says that has to be known later."""
_NEWEST = ("Open tasks",)


def good_summary(request: RecordedRequest) -> str:
    """A summary as a model should write it, of what it is shown and of nothing else."""
    shown = "\n".join(_texts(request.messages))
    earlier = read(_between(shown, "earlier-record") or "-")
    conversation = _between(shown, "conversation")
    found: dict[str, list[str]] = {}
    for heading in SECTIONS:
        lines = earlier.section(heading).splitlines() if isinstance(earlier, Summary) else []
        for pattern in _MARKED.get(heading, ()):
            hits = re.finditer(pattern, conversation)
            lines += [(hit[1] if hit.lastindex else hit[0]).strip() for hit in hits]
        lines = [line for line in dict.fromkeys(lines) if line and line != "None."]
        found[heading] = lines[-1:] if heading in _NEWEST else lines
    found["Goal"] = found["Goal"] or ["Work on the project as the user says."]
    asked = re.search(r"at most ([\d,]+) tokens", shown)
    return _within(found, int(asked[1].replace(",", "")) if asked else 2_000)


def _within(found: dict[str, list[str]], most: int) -> str:
    """Of the files those in the middle are left out where it gets too long."""
    while True:
        bodies = ("\n".join(found[heading]) or "None." for heading in SECTIONS)
        text = "\n\n".join(f"## {heading}\n{body}" for heading, body in zip(SECTIONS, bodies, strict=True))
        files = found["Files"]
        if count(text) <= most or len(files) < 3:
            return text
        del files[1 : 1 + max(1, len(files) // 4)]


def _between(text: str, tag: str) -> str:
    found = re.search(rf"<{tag}>\n(.*)\n</{tag}>", text, re.DOTALL)
    return found[1] if found else ""
