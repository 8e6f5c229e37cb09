"""Sessions as hypothesis makes them: what is written, and what must be read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from mewcode.core.message import Message, Text, ToolCall, ToolResult, Usage
from mewcode.sessions.record import (
    Base,
    Fork,
    Totals,
    compact_record,
    encode_message,
    encode_record,
    reads_record,
    rewind_record,
    session_record,
    state_record,
    title_record,
    usage_record,
)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), st.integers(0, 2)),
        st.tuples(st.just("turn"), st.integers(0, 2)),
        st.tuples(st.just("rewind"), st.integers(0, 10_000)),
        st.tuples(st.just("compact"), st.integers(0, 5)),
        st.tuples(st.just("compact_to_words"), st.integers(1, 3)),
        st.tuples(st.just("torn_compact"), st.integers(0, 5)),
        st.tuples(st.just("state"), st.sampled_from(["plan", "default", "accept-edits"])),
        st.tuples(st.just("usage"), st.integers(0, 1)),
        st.tuples(st.just("reads"), st.integers(0, 3)),
        st.tuples(st.just("title"), st.integers(0, 3)),
    ),
    max_size=14,
)


class Way(msgspec.Struct, frozen=True):
    """Where a conversation stands. ``spoken``: its messages; ``written``: those of its history;
    ``since``: those since the last marker that are no copies."""

    spoken: tuple[Message, ...] = ()
    written: tuple[Message, ...] = ()
    since: tuple[Message, ...] = ()


class Script:
    """A session that is written step by step."""

    def __init__(self, name: str = "s") -> None:
        self.lines: list[bytes] = []
        self.way = Way()
        self.ways: dict[str | None, Way] = {None: Way()}
        self.head: str | None = None
        self.count = 0
        self.turns = 0
        self.totals = Totals({}, 0.0)
        self.about = {"mode": "default", "provider": "p", "model": "m0"}
        self.titles = ["", ""]
        self.record(session_record(name, ts=1.0, cwd="/w", **self.about))

    def record(self, record: dict[str, Any]) -> None:
        self.lines.append(encode_record(record))

    def run(self, steps: list[tuple[str, Any]]) -> Script:
        for name, value in steps:
            getattr(self, name)(value)
        return self

    def turn(self, calls: int) -> None:
        self.turns += 1
        self.say("user", (Text(f"question {self.turns} 中" * 3),), "user")
        names = [f"call-{self.count}-{number}" for number in range(calls)]
        if names:
            self.say("assistant", tuple(ToolCall(name, "bash", {"n": 1}) for name in names), "model")
        for name in names:
            self.say("tool", (ToolResult(name, (Text("output " * 20),)),), "tool")
        self.say("assistant", (Text(f"answer {self.turns} " * 5),), "model")

    def say(self, role: Any, content: tuple[Any, ...], origin: Any, of: str = "") -> None:
        self.count += 1
        model, usage = ("m1", Usage(3, 2)) if role == "assistant" else ("", None)
        message = Message(f"id{self.count}", role, content, origin, model, usage)
        line = encode_message(message, ts=float(self.count), parent=self.head, model=model or None)
        way = self.way
        if of:
            line = line[:-2] + b',"of":' + msgspec.json.encode(of) + b"}\n"
            self.way = Way((*way.spoken, message), self.ways[of].written + way.since, way.since)
        else:
            self.way = Way((*way.spoken, message), (*way.written, message), (*way.since, message))
            if usage:
                used = self.totals.models.get("m1", Usage()) + usage
                self.totals = Totals({"m1": used}, self.totals.cost_usd)
                self.about["model"] = "m1"
        self.lines.append(line)
        self.head = message.id
        self.ways[self.head] = self.way

    def rewind(self, number: int) -> None:
        to = list(self.ways)[number % len(self.ways)]
        self.record(rewind_record(f"r{len(self.lines)}", ts=2.0, to=to, before=self.head))
        self.head, self.way = to, self.ways[to]

    def compact(self, kept: int) -> None:
        """A summary, then copies of the last messages."""
        self._compact(self.way.spoken[len(self.way.spoken) - kept :] if kept else ())

    def compact_to_words(self, kept: int) -> None:
        """A summary, then copies of old words of the user's: all that stood before is history still."""
        self._compact([message for message in self.way.spoken if message.origin == "user"][:kept])

    def _compact(self, copied: Sequence[Message]) -> None:
        before = self.way.written
        self.count += 1
        name = f"id{self.count}"
        marker = compact_record(
            name,
            ts=3.0,
            parent=self.head,
            about=self.about,
            turns=self.turns,
            totals=self.totals,
            messages=1 + len(copied),
        )
        self.record(marker)
        self.way = Way((), self.way.written, ())
        self.head = name
        self.ways[name] = self.way
        self.say("user", (Text("summary"),), "compaction")
        for message in copied:
            self.say(message.role, message.content, message.origin, message.id)
        self.way = msgspec.structs.replace(self.way, written=before + self.way.since)
        self.ways[self.head] = self.way

    def torn_compact(self, kept: int) -> None:
        """A compaction in whose middle the program ended: it is as if it had not been."""
        way, head, ways = self.way, self.head, dict(self.ways)
        self.compact(kept)
        self.lines.pop()
        self.way, self.head, self.ways = way, head, ways

    def state(self, mode: str) -> None:
        self.about["mode"] = mode
        self.record(state_record(ts=4.0, mode=mode))

    def usage(self, with_turns: int) -> None:
        self.record(usage_record(self.totals, ts=5.0, turns=self.turns * with_turns))

    def reads(self, number: int) -> None:
        self.record(reads_record({f"/w/{number}": {"at": self.count}}, ts=6.0))

    def title(self, number: int) -> None:
        text = ["", "one", "two", "three"][number]
        is_made = self.count % 2 == 0
        self.titles[is_made] = text
        self.record(title_record(text, ts=7.0, auto=is_made))

    def write(self, folder: Path) -> Path:
        """Writes the session; a fork with what it continues."""
        folder.mkdir(exist_ok=True)
        (folder / "conversation.jsonl").write_bytes(b"".join(self.lines))
        return folder


class ForkScript(Script):
    """A session that continues another one from one of its messages."""

    def __init__(self, before: Script, number: int) -> None:
        super().__init__("f")
        self.base = b"".join(before.lines)
        self.count, self.turns, self.totals = before.count, before.turns, before.totals
        self.ways = dict(before.ways)
        self.head = list(self.ways)[number % len(self.ways)]
        self.way = self.ways[self.head]
        fork = Fork("s", self.head, [Base("base-0.jsonl", len(self.base))])
        self.lines.clear()
        self.record(session_record("f", ts=8.0, cwd="/w", **self.about, fork=fork))

    def write(self, folder: Path) -> Path:
        super().write(folder)
        # what the older session says after the fork does not count
        (folder / "base-0.jsonl").write_bytes(self.base + b'{"role":"user","content":"later"}\n')
        return folder
