"""What the catalogue knows of a session, gathered line by line from its file. Pure: no file, no clock."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from mewcode.core.message import Text, Usage
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.sessions.earlier import count_of
from mewcode.sessions.plain import number
from mewcode.sessions.record import LABEL_TYPES, WireMessage, decode_line, totals_of
from mewcode.sessions.salvage import UNPARSABLE, salvage
from mewcode.sessions.wire import ORIGINS

TITLE_LIMIT = 200
"""Characters of a title or a tag that count."""
BRIEF_LIMIT = 2_000
"""Characters of a brief that count."""
_TEXT_LIMIT = 200_000
"""Characters of one message that are indexed: what is longer is a dump, and its beginning says of what."""
_MOST_TAGS = 100
"""Tags of a session that count: all are held with each entry of the list."""
_BOM = b"\xef\xbb\xbf"


class SessionState(msgspec.Struct):
    """All that the lines so far say. ``title``: the user's own, ``auto``: a model's, "" for none. ``models``,
    ``cost_usd``: the last totals; ``used``: tokens of what came after; ``carried_*``: what of that
    and of the turns was the session's that this one was forked off. ``broken``: lines that are none.
    ``named``: the model that an assistant's record without one inherits. ``brief_ts``: Unix time of the
    brief."""

    title: str = ""
    auto: str = ""
    first_prompt: str = ""
    last_ts: float = 0.0
    messages: int = 0
    turns: int = 0
    model: str = ""
    named: str = ""
    cwd: str = ""
    branch: str = ""
    parent_session: str = ""
    tags: list[str] = []
    pinned: bool = False
    models: dict[str, Usage] = {}
    used: dict[str, Usage] = {}
    cost_usd: float | None = 0.0
    carried_tokens: int = 0
    carried_cost: float = 0.0
    carried_turns: int = 0
    brief: str = ""
    brief_ts: float = 0.0
    lines: int = 0
    broken: int = 0

    @property
    def shown_title(self) -> str:
        """The title that counts, "" where nothing was said yet."""
        return self.title or self.auto or self.first_prompt

    @property
    def tokens(self) -> int:
        """All that were sent and received, over all requests of this session."""
        total = sum(usage.context_tokens for part in (self.models, self.used) for usage in part.values())
        return max(0, total - self.carried_tokens)

    @property
    def own_cost_usd(self) -> float | None:
        """What this session's requests cost; None where a price is unknown."""
        return None if self.cost_usd is None else max(0.0, self.cost_usd - self.carried_cost)


class IndexedMessage(msgspec.Struct, frozen=True):
    """``id``: the message's own, may be empty. ``key``: the same for the same message. ``turn``: the number
    of the user's message that it belongs to, counted from 1 in file order, in a fork from where it left off;
    0 before the first."""

    id: str
    key: int
    turn: int
    role: str
    ts: float
    text: str


def records_in(line: bytes, *, is_first: bool = False) -> tuple[list[WireMessage | dict[str, Any]], bool]:
    """The records of a line, those saved from a broken one included; and whether the line is broken."""
    if is_first and line.startswith(_BOM):
        line = line[len(_BOM) :]
    record = decode_line(line)
    if not isinstance(record, str):
        return [record], False
    if not line.strip():
        return [], False
    return (salvage(line)[0] if record in UNPARSABLE else []), True


def fold_line(state: SessionState, line: bytes, is_new: Callable[[int], bool]) -> Iterator[IndexedMessage]:
    """Takes a line into the state, and gives the messages to index. ``is_new``: whether the session has no
    message of that key yet; a record that was written twice counts once."""
    records, is_broken = records_in(line, is_first=state.lines == 0)
    state.lines += 1
    state.broken += is_broken
    for record in records:
        if not isinstance(record, WireMessage):
            _control(state, record)
        elif record.of:
            _copy(state, record)
        elif is_new(key := message_key(record)):
            _message(state, record)
            # A reminder is the program's words, a recalled note says its own: neither is the conversation's.
            text = "" if record.origin in ("reminder", "recall") else message_text(record)
            turn = state.carried_turns + state.turns
            yield IndexedMessage(record.id, key, turn, record.role, record.ts, text)


def message_key(wire: WireMessage) -> int:
    """A number for the message: of its id, role and text. One without an id is like no other."""
    if not wire.id:
        # Two of the same words are two: where they stand tells them apart, and their time.
        return 0
    text = f"{wire.id}\0{wire.role}\0{message_text(wire)}"
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True) or 1


def message_text(wire: WireMessage) -> str:
    """The words of a message: what was said, what tools were asked and what they answered."""
    content = wire.content
    parts = (
        [content] if isinstance(content, str) else [item.text for item in content if isinstance(item, Text)]
    )
    for call in wire.tool_calls:
        parts += [call.name, *_strings(call.args, 20)]
    for result in wire.tool_results:
        if isinstance(result.content, str):
            parts.append(result.content)
        else:
            parts += [item.text for item in result.content if isinstance(item, Text)]
    return "\n".join(part for part in parts if part)[:_TEXT_LIMIT]


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item, depth - 1)


def _message(state: SessionState, wire: WireMessage) -> None:
    state.messages += 1
    state.last_ts = wire.ts or state.last_ts
    if isinstance(wire.model, str):
        state.named = wire.model
        state.model = wire.model or state.model
    origin = ORIGINS[wire.role] if wire.origin is msgspec.UNSET else wire.origin
    if wire.role == "user" and origin == "user":
        state.turns += 1
        if not state.first_prompt:
            state.first_prompt = safe_line(_spoken(wire), TITLE_LIMIT)
    if wire.usage is not None:
        state.used[state.named] = state.used.get(state.named, Usage()) + wire.usage


def _copy(state: SessionState, wire: WireMessage) -> None:
    """A message that a compaction took along: it was counted where it stands first."""
    if isinstance(wire.model, str):
        state.named = wire.model


def _spoken(wire: WireMessage) -> str:
    if isinstance(wire.content, str):
        return wire.content
    return "".join(item.text for item in wire.content if isinstance(item, Text))


def _control(state: SessionState, record: dict[str, Any]) -> None:
    kind = record["type"]
    if kind in LABEL_TYPES:
        _label(state, record)
        return
    state.last_ts = number(record.get("ts")) or state.last_ts
    if kind == "usage":
        _totals(state, record)
        return
    for name in ("model", "cwd", "branch", "parent_session"):
        value = record.get(name)
        if isinstance(value, str) and value:
            setattr(state, name, value)
    if kind in ("session", "compact"):
        state.named = state.model
    if kind == "compact" and isinstance(record.get("usage"), dict):
        _totals(state, record["usage"])


def _totals(state: SessionState, record: dict[str, Any]) -> None:
    totals = totals_of(record)
    state.models, state.cost_usd, state.used = totals.models, totals.cost_usd, {}
    if record.get("carried") is True:
        state.carried_tokens = sum(usage.context_tokens for usage in totals.models.values())
        state.carried_cost = totals.cost_usd or 0.0
        state.carried_turns = count_of(record.get("turns"))


def _label(state: SessionState, record: dict[str, Any]) -> None:
    kind = record["type"]
    if kind == "title" and record.get("auto") is True:
        state.auto = label_text(record.get("title"))
    elif kind == "title":
        state.title = label_text(record.get("title"))
    elif kind == "pin":
        state.pinned = record.get("pinned") is True
    elif kind == "brief":
        text = record.get("text")
        state.brief = safe_text(text)[:BRIEF_LIMIT] if isinstance(text, str) else ""
        state.brief_ts = number(record.get("ts"))
    elif kind == "tag":
        removed, added = _tags(record.get("remove")), _tags(record.get("add"))
        tags = dict.fromkeys([tag for tag in state.tags if tag not in removed] + added)
        state.tags = list(tags)[:_MOST_TAGS]


def label_text(value: Any) -> str:
    """A title or tag as it counts: one line, safe to show; "" for what is no text."""
    return safe_line(value, TITLE_LIMIT) if isinstance(value, str) else ""


def _tags(value: Any) -> list[str]:
    tags = map(label_text, value) if isinstance(value, list) else ()
    return [tag for tag in tags if tag]
