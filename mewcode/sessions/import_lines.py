"""The records of an imported session: what its original's events come to, as one of our own files. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from mewcode.core.ids import new_id
from mewcode.core.message import Message
from mewcode.core.tokens import message_tokens
from mewcode.sessions.import_source import Compacted, Event, Kept, Original, RolledBack, Said
from mewcode.sessions.record import (
    Totals,
    compact_record,
    encode_message,
    encode_record,
    rewind_record,
    title_record,
    usage_record,
)

_WORDS_KEPT = 20_000
"""Tokens of the user's own messages that stay behind a compaction which keeps them: as many as Codex CLI
keeps."""


class RecordLines:
    """Turns an original's events into lines. ``messages``: those written so far, ``last_ts``: the latest time
    that one of them named, as Unix time."""

    def __init__(self, original: Original, *, now: float) -> None:
        """``now``: the time of what is said of the session only today."""
        self.messages = 0
        self.last_ts = min(original.began, now)
        self._original = original
        self._now = now
        self._head: str | None = None
        self._turns = 0
        self._before_turns: list[str | None] = []  # what each turn of the branch follows
        self._words: deque[tuple[Message, int]] = deque()  # the newest of the user's, with their tokens
        self._kept = 0  # tokens of these
        self._model = ""

    def lines(self) -> Iterator[bytes]:
        """All but the session record. Raises what reading the original does."""
        original = self._original
        for event in original.events():
            yield from self._take(event)
        if original.used:  # it was used elsewhere: here it has cost nothing
            yield encode_record(usage_record(Totals(original.used), ts=self.last_ts) | {"carried": True})
        if original.title:
            yield encode_record(title_record(original.title, ts=self._now, auto=original.made_title))

    def _take(self, event: Event) -> Iterator[bytes]:
        if isinstance(event, Kept):
            self.messages += event.is_message
            self._at(event.ts)
            yield event.line
        elif isinstance(event, Said):
            yield self._message(event.message, event.ts)
        elif isinstance(event, RolledBack):
            yield from self._roll_back(event)
        else:
            yield from self._compact(event)

    def _at(self, ts: float) -> float:
        if 0 < ts <= self._now:
            self.last_ts = max(self.last_ts, ts)
        return self.last_ts

    def _message(self, message: Message, ts: float, *, of: str = "") -> bytes:
        message = _named(message)
        if message.is_said and not of:
            self._turns += 1
            self._before_turns.append(self._head)
            self._keep(message)
        line = encode_message(
            message, ts=self._at(ts), parent=self._head, model=self._model_to_write(message), of=of
        )
        self._head = message.id
        self.messages += not of
        return line

    def _model_to_write(self, message: Message) -> str | None:
        """Its name where this record must bear it: on the first message, and where it changes."""
        named = self._model or self._original.model
        if message.role == "assistant" and message.model:
            named = message.model
        if not named or named == self._model:
            return None
        self._model = named
        return named

    def _keep(self, message: Message) -> None:
        tokens = message_tokens(message)
        self._words.append((message, tokens))
        self._kept += tokens
        while len(self._words) > 1 and self._kept > _WORDS_KEPT:
            self._kept -= self._words.popleft()[1]

    def _roll_back(self, event: RolledBack) -> Iterator[bytes]:
        taken = min(event.turns, len(self._before_turns))
        if not taken:
            return
        to = self._before_turns[-taken]
        del self._before_turns[-taken:]
        for _ in range(min(taken, len(self._words))):
            self._kept -= self._words.pop()[1]
        yield encode_record(rewind_record(new_id(), ts=self._at(event.ts), to=to, before=self._head))
        self._head = to

    def _compact(self, event: Compacted) -> Iterator[bytes]:
        kept = [message for message, _ in self._words] if event.keeps_words else []
        self._before_turns.clear()
        if not event.keeps_words:
            self._words.clear()
            self._kept = 0
        marker, about = new_id(), {name: getattr(self._original, name) for name in ("mode", "provider")}
        record: dict[str, Any] = compact_record(
            marker,
            ts=self._at(event.ts),
            parent=self._head,
            about=about | {"model": self._model},
            turns=self._turns,
            totals=Totals(),
            messages=len(kept) + len(event.messages),
        )
        yield encode_record(record)
        self._head = marker
        for message in kept:
            yield self._message(message, event.ts, of=message.id)
        for message in event.messages:
            yield self._message(message, event.ts)


def _named(message: Message) -> Message:
    return Message(new_id(), message.role, message.content, message.origin, message.model)
