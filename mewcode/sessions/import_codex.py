"""Session files of Codex CLI: ``~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl``.

A line is ``{"timestamp", "type", "payload"}``: ``session_meta`` first, ``response_item`` (an item of OpenAI's
Responses API: message, reasoning, a call of a tool or its output), ``turn_context`` (the model of what
comes), ``compacted`` (the conversation begins anew), ``event_msg`` (of which tokens, names and turns taken
back count here). Older files hold the items bare, behind a line with ``id`` and ``timestamp``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mewcode.core.codec import decode_json
from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, Usage
from mewcode.sessions.import_blocks import (
    answer_of,
    call_of,
    image_at,
    object_in,
    objects_in,
    result_of,
    text_in,
    time_of,
    usage_of,
    words_of,
)
from mewcode.sessions.import_source import Compacted, Event, Lines, Original, RolledBack, Said

LINE_TYPES = frozenset({"session_meta", "response_item", "turn_context", "compacted", "event_msg"})
ITEM_TYPES = frozenset(
    {
        "message", "reasoning", "local_shell_call", "function_call", "function_call_output",
        "custom_tool_call", "custom_tool_call_output", "web_search_call",
    }
)  # fmt: skip
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_USAGE = ("input_tokens", "output_tokens", "cached_input_tokens", "")
_OWN_WORDS = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions")
"""How messages begin that the program put into the conversation about its own surroundings."""
_ADDED = ("<turn_aborted>", "<user_shell_command>", "<skill>", "<subagent_notification>")
"""How a user's message begins that nobody typed, and that belongs to the conversation."""

_Blocks = list[Text | Thinking | ToolCall]


def read_codex(lines: Lines) -> Original:
    """The conversation in the order of its items. Raises what reading the lines does, else nothing."""
    found = Original("codex", lambda: _events(lines), provider="openai")
    tokens, last_model, is_known = Usage(), "", False
    for _, value in lines.values():
        kind, payload, ts = parse_line(value)
        found.began = found.began or ts
        if kind == "session_meta" and not is_known:  # a fork's file holds that of what it was forked off too
            is_known = True
            _learn(found, payload)
        elif kind == "turn_context":
            last_model = text_in(payload, "model") or last_model
            found.model = found.model or last_model
            found.cwd = found.cwd or text_in(payload, "cwd")
        elif kind == "event_msg" and payload.get("type") == "token_count":
            usage = usage_of(object_in(payload, "info").get("total_token_usage"), _USAGE)
            tokens = usage if usage != Usage() else tokens
        elif kind == "event_msg" and payload.get("type") == "thread_name_updated":
            found.title = text_in(payload, "thread_name")
    if tokens != Usage():
        fresh = max(0, tokens.input_tokens - tokens.cache_read_tokens)
        found.used[last_model] = Usage(fresh, tokens.output_tokens, tokens.cache_read_tokens)
    found.skipped = lines.skipped
    return found


def parse_line(value: dict[str, Any]) -> tuple[str, dict[str, Any], float]:
    """The kind of a line, what it holds, and Unix time; an empty kind for a line that means nothing here."""
    kind, ts = value.get("type"), time_of(value.get("timestamp"))
    payload = value.get("payload")
    if isinstance(payload, dict):
        return (kind if isinstance(kind, str) and kind in LINE_TYPES else ""), payload, ts
    if isinstance(kind, str) and kind in ITEM_TYPES:
        return "response_item", value, ts
    if kind is None and ts and isinstance(value.get("id"), str):
        return "session_meta", value, ts
    return "", {}, 0.0


def _learn(found: Original, meta: dict[str, Any]) -> None:
    found.id = text_in(meta, "id")
    found.cwd = text_in(meta, "cwd")
    found.branch = text_in(object_in(meta, "git"), "branch")
    found.provider = text_in(meta, "model_provider") or found.provider
    found.began = time_of(meta.get("timestamp")) or found.began
    found.is_aside = "subagent" in object_in(meta, "source")


def _events(lines: Lines) -> Iterator[Event]:
    teller = _Teller()
    for _, value in lines.values():
        kind, payload, ts = parse_line(value)
        teller.ts = ts or teller.ts
        if kind == "response_item":
            yield from (Said(message, teller.ts) for message in teller.take(payload))
        elif kind == "turn_context":
            teller.model = text_in(payload, "model") or teller.model
        elif kind == "compacted":
            yield from (Said(message, teller.ts) for message in teller.flush())
            yield _compacted(payload, teller.model, teller.ts)
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            yield from (Said(message, teller.ts) for message in teller.flush())
            turns = payload.get("num_turns")
            if type(turns) is int and turns > 0:
                yield RolledBack(turns, teller.ts)
    yield from (Said(message, teller.ts) for message in teller.flush())


def _compacted(payload: dict[str, Any], model: str, ts: float) -> Compacted:
    history = payload.get("replacement_history")
    if not isinstance(history, list):
        summary = text_in(payload, "message")
        words = (words_of((Text(summary),), "compaction"),) if summary else ()
        return Compacted(words, ts, keeps_words=True)
    teller = _Teller(model, is_replaced=True)
    messages = [message for item in objects_in(history) for message in teller.take(item)]
    return Compacted((*messages, *teller.flush()), ts)


class _Teller:
    """Puts the items of an answer, of which each has a line of its own, together to one message."""

    def __init__(self, model: str = "", *, is_replaced: bool = False) -> None:
        """``is_replaced``: the items repeat what was said before."""
        self.model = model
        self.ts = 0.0
        self._is_replaced = is_replaced
        self._blocks: _Blocks = []

    def take(self, item: dict[str, Any]) -> list[Message]:
        """The messages that are complete with this item."""
        kind = text_in(item, "type")
        if kind in _OUTPUTS:
            content, is_error = _output(item.get("output"))
            return [*self.flush(), result_of(item.get("call_id"), content, is_error=is_error)]
        if kind == "message" and item.get("role") != "assistant":
            words = self._words(item)
            return [*self.flush(), words] if words else []
        self._blocks += _answer(item)
        return []

    def flush(self) -> list[Message]:
        """The answer as far as it came."""
        blocks, self._blocks = tuple(self._blocks), []
        return [answer_of(blocks, self.model)] if blocks else []

    def _words(self, item: dict[str, Any]) -> Message | None:
        if item.get("role") != "user":  # the program's own instructions
            return None
        blocks = _contents(item.get("content"))
        first = blocks[0].text.lstrip() if blocks and isinstance(blocks[0], Text) else ""
        if not blocks or first.startswith(_OWN_WORDS):
            return None
        if self._is_replaced:
            return words_of(blocks, "compaction")
        return words_of(blocks, "reminder" if first.startswith(_ADDED) else "user")


def _answer(item: dict[str, Any]) -> _Blocks:
    kind = item.get("type")
    if kind == "message":
        return [block for block in _contents(item.get("content")) if isinstance(block, Text)]
    if kind == "reasoning":
        parts = [*objects_in(item.get("summary")), *objects_in(item.get("content"))]
        thought = "\n\n".join(filter(None, (text_in(part, "text") for part in parts)))
        return [Thinking(thought)] if thought else []
    if kind == "function_call":
        return [call_of(item.get("call_id"), item.get("name"), item.get("arguments"))]
    if kind == "custom_tool_call":
        return [call_of(item.get("call_id"), item.get("name"), {"input": item.get("input")})]
    if kind == "local_shell_call":
        command = object_in(item, "action").get("command")
        return [call_of(item.get("call_id") or item.get("id"), "local_shell", {"command": command})]
    if kind == "web_search_call":  # the service answers it itself: there is no output
        sought = text_in(object_in(item, "action"), "query", "url", "pattern")
        return [Text(f"[web search: {sought}]" if sought else "[web search]")]
    return []


def _contents(value: Any) -> tuple[Text | Image, ...]:
    blocks: list[Text | Image] = []
    for part in objects_in(value):
        if part.get("type") == "input_image":
            blocks.append(image_at(part.get("image_url")))
        elif words := text_in(part, "text"):
            blocks.append(Text(words))
    return tuple(blocks)


def _output(value: Any) -> tuple[tuple[Text | Image, ...], bool]:
    """What a tool gave, and whether it failed: text, a list of parts, or an object; the shell's as JSON text
    with its exit code."""
    is_error = False
    if isinstance(value, dict):
        is_error = value.get("success") is False
        value = value.get("content", value.get("output"))
    if isinstance(value, str) and value.startswith('{"output"'):
        try:
            held = decode_json(value)
        except (ValueError, RecursionError):
            held = None
        if isinstance(held, dict) and isinstance(held.get("output"), str):
            is_error = is_error or object_in(held, "metadata").get("exit_code") not in (0, None)
            value = held["output"]
    return _contents(value), is_error
