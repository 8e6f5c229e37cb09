"""Session files of Claude Code: ``~/.claude/projects/<folder>/<session>.jsonl``.

A line is an entry with a ``type``. Those with a ``uuid`` form a tree by ``parentUuid``: ``user`` (what was
typed, and tools' results as blocks of ``message.content``), ``assistant`` (a block a line; lines of one
answer share ``message.id``), ``system`` and others. What a sub-agent did has ``isSidechain``. A compaction is
a ``system`` entry ``compact_boundary`` without a parent, whose ``logicalParentUuid`` says what it follows;
behind it stands the summary. Where tools ran side by side, each result follows its own call, and only one of
them leads on. Titles are entries too: ``custom-title``, ``ai-title``, ``summary``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, Usage
from mewcode.sessions.import_blocks import (
    answer_of,
    call_of,
    image_of,
    object_in,
    objects_in,
    result_of,
    text_in,
    time_of,
    usage_of,
    words_of,
)
from mewcode.sessions.import_source import Compacted, Event, Lines, Original, Said

_USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_SYNTHETIC = "<synthetic>"
"""In place of a model's name: what the program itself put there, such as an error of the service."""
_ADDED = ("<local-command-", "<system-reminder>", "<bash-stdout>", "<bash-stderr>")
"""How a user's message begins that nobody typed."""


class _Node(msgspec.Struct):
    """An entry with a place in the tree. ``before``: the entry of the main conversation before it in the
    file. ``reply``: the answer that it is a part of. ``calls``, ``results``: ids of calls."""

    number: int
    parent: str | None
    before: _Node | None
    is_said: bool
    reply: str = ""
    model: str = ""
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


class _Survey:
    """What a first pass finds."""

    def __init__(self) -> None:
        self.original = Original("claude-code", lambda: iter(()), provider="anthropic")
        self._nodes: dict[str, _Node] = {}
        self._last: _Node | None = None
        self._leaf: _Node | None = None
        self._usage: dict[str, tuple[str, Usage]] = {}
        self._titles: dict[str, str] = {}
        self._aside = 0

    def take(self, number: int, value: dict[str, Any]) -> None:
        kind = value.get("type")
        if kind in ("custom-title", "ai-title", "summary"):
            self._titles[kind] = text_in(value, "customTitle", "aiTitle", "summary", "title")
            return
        uuid = value.get("uuid")
        if not isinstance(uuid, str) or uuid in self._nodes:
            return
        self._count(value)
        if value.get("isSidechain") is True:
            self._aside += 1
            return
        self._learn(value)
        parent = value.get("parentUuid") or value.get("logicalParentUuid")
        known = parent if isinstance(parent, str) else None
        node = _Node(number, known, self._last, is_said=kind in ("user", "assistant"))
        self._last = self._nodes[uuid] = node
        if node.is_said:
            self._describe(node, object_in(value, "message"))
            self._leaf = node

    def _describe(self, node: _Node, message: dict[str, Any]) -> None:
        node.reply, node.model = text_in(message, "id"), text_in(message, "model")
        content = message.get("content")
        parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
        ids = [(part.get("type"), part.get("id"), part.get("tool_use_id")) for part in parts]
        node.calls = tuple(own for kind, own, _ in ids if kind == "tool_use" and isinstance(own, str))
        node.results = tuple(of for kind, _, of in ids if kind == "tool_result" and isinstance(of, str))

    def _learn(self, value: dict[str, Any]) -> None:
        known = self.original
        known.id = text_in(value, "sessionId") or known.id
        known.cwd = known.cwd or text_in(value, "cwd")
        known.branch = text_in(value, "gitBranch") or known.branch
        known.began = known.began or time_of(value.get("timestamp"))

    def _count(self, value: dict[str, Any]) -> None:
        message = object_in(value, "message")
        model = text_in(message, "model")
        if value.get("type") == "assistant" and model and model != _SYNTHETIC and message.get("usage"):
            usage = usage_of(message["usage"], _USAGE)
            self._usage[text_in(message, "id") or str(len(self._usage))] = (model, usage)

    def branch(self) -> set[int]:
        """The numbers of the lines that lead to the last thing said, with what belongs to them."""
        chosen: dict[int, _Node] = {}
        place = self._leaf
        while place is not None and place.number not in chosen:
            chosen[place.number] = place
            parent = None if place.parent is None else self._nodes.get(place.parent)
            # The entry that a line follows is not always in the file: what stands before it is.
            place = place.before if parent is None and place.parent is not None else parent
        replies = {node.reply for node in chosen.values() if node.reply}
        self._add(chosen, [node for node in self._nodes.values() if node.reply in replies])
        open_calls = {call for node in chosen.values() for call in node.calls}
        open_calls -= {call for node in chosen.values() for call in node.results}
        self._add(chosen, [node for node in self._nodes.values() if open_calls.intersection(node.results)])
        return set(chosen)

    def _add(self, chosen: dict[int, _Node], found: list[_Node]) -> None:
        chosen.update((node.number, node) for node in found)

    def finish(self, chosen: set[int]) -> Original:
        found = self.original
        models = (node.model for node in self._nodes.values() if node.number in chosen)
        found.model = next((model for model in models if model and model != _SYNTHETIC), "")
        own = self._titles.get("custom-title", "")
        found.title = own or self._titles.get("ai-title", "") or self._titles.get("summary", "")
        found.made_title = not own
        found.is_aside = self._leaf is None and self._aside > 0
        for model, usage in self._usage.values():
            found.used[model] = found.used.get(model, Usage()) + usage
        return found


def read_claude(lines: Lines) -> Original:
    """The main conversation: the branch that leads to the last thing said, without what sub-agents did.

    Raises what reading the lines does, else nothing.
    """
    survey = _Survey()
    for number, value in lines.values():
        survey.take(number, value)
    chosen = survey.branch()
    original = survey.finish(chosen)
    original.skipped = lines.skipped
    original.events = lambda: _events(lines, chosen)
    return original


def _events(lines: Lines, chosen: set[int]) -> Iterator[Event]:
    answer: Said | None = None  # the parts of an answer that came so far
    reply = ""
    is_new = False  # a compaction came, its summary did not yet
    for number, value in lines.values():
        if number not in chosen:
            continue
        ts = time_of(value.get("timestamp"))
        kind, message = value.get("type"), object_in(value, "message")
        if kind == "assistant" and (blocks := _answer(value, message)):
            if answer is not None and reply and reply == message.get("id"):
                answer = Said(_joined(answer.message, blocks), answer.ts)
                continue
            if answer is not None:
                yield answer
            elif is_new:
                yield Compacted((), ts)
            is_new = False
            answer, reply = Said(answer_of(blocks, text_in(message, "model")), ts), text_in(message, "id")
            continue
        is_boundary = kind == "system" and value.get("subtype") == "compact_boundary"
        said = _spoken(value, message) if kind in ("user", "attachment") else []
        if answer is not None and (said or is_boundary):
            yield answer
            answer = None
        is_new = is_new or is_boundary
        if said and (is_new or value.get("isCompactSummary") is True):
            yield Compacted(tuple(_as_summary(spoken) for spoken in said), ts)
            is_new = False
        else:
            yield from (Said(spoken, ts) for spoken in said)
    if answer is not None:
        yield answer


def _joined(message: Message, blocks: tuple[Text | Thinking | ToolCall, ...]) -> Message:
    return msgspec.structs.replace(message, content=(*message.content, *blocks))


def _as_summary(message: Message) -> Message:
    return msgspec.structs.replace(message, origin="compaction") if message.role == "user" else message


def _answer(value: dict[str, Any], message: dict[str, Any]) -> tuple[Text | Thinking | ToolCall, ...]:
    if value.get("isApiErrorMessage") is True or message.get("model") == _SYNTHETIC:
        return ()
    blocks: list[Text | Thinking | ToolCall] = []
    for part in objects_in(message.get("content")):
        kind = part.get("type")
        if kind == "tool_use":
            blocks.append(call_of(part.get("id"), part.get("name"), part.get("input")))
        elif kind == "thinking" and (thought := text_in(part, "thinking")):
            blocks.append(Thinking(thought))
        elif kind == "text" and (words := text_in(part, "text")):
            blocks.append(Text(words))
    return tuple(blocks)


def _spoken(value: dict[str, Any], message: dict[str, Any]) -> list[Message]:
    """The results of tools, a message each, then what the user said; also in the middle of a turn."""
    content = message.get("content")
    if value.get("type") == "attachment":
        attachment = object_in(value, "attachment")
        if attachment.get("type") != "queued_command":
            return []
        content = attachment.get("prompt")
    results: list[Message] = []
    blocks: list[Text | Image] = []
    for part in objects_in(content):
        if part.get("type") == "tool_result":
            parts = map(_shown, objects_in(part.get("content")))
            shown = tuple(block for block in parts if block is not None)
            results.append(result_of(part.get("tool_use_id"), shown, is_error=part.get("is_error") is True))
        elif shown_part := _shown(part):
            blocks.append(shown_part)
    if not blocks:
        return results
    first = blocks[0].text if isinstance(blocks[0], Text) else ""
    is_added = value.get("isMeta") is True or first.startswith(_ADDED)
    return [*results, words_of(tuple(blocks), "reminder" if is_added else "user")]


def _shown(part: dict[str, Any]) -> Text | Image | None:
    kind = part.get("type")
    if kind == "text":
        words = text_in(part, "text")
        return Text(words) if words else None
    if kind == "image":
        source = object_in(part, "source")
        return image_of(source.get("media_type"), source.get("data"))
    return Text("[document]") if kind == "document" else None
