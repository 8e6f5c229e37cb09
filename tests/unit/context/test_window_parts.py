"""What a window is filled with, and what would free most."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from talk import TURNS, conversation, model, result, step, user

from mewcode.context.meter import TokenMeter
from mewcode.context.parts import Parts, measure
from mewcode.context.thresholds import Thresholds
from mewcode.core.message import Message, Text, Thinking, ToolResult
from mewcode.core.tool_spec import ToolSpec

LIMITS = Thresholds(200_000, 64_000)
MODULES = {"identity": "You are an agent. " * 40, "instructions": "Use tabs. " * 900, "environment": ""}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = (
    ToolSpec("read_file", "Reads a file. " * 20, SCHEMA),
    ToolSpec("mcp__tracker__search", "Finds issues. " * 90, SCHEMA),
    ToolSpec("mcp__tracker__open", "Opens an issue. " * 90, SCHEMA),
)


def measured(messages: list[Message], total: int | None = None) -> Parts:
    return measure(TokenMeter(), "m", LIMITS, MODULES, TOOLS, messages, total=total)


def by_name(parts: Parts) -> dict[str, int]:
    return {part.name: part.tokens for part in parts.parts}


def test_each_kind_has_its_part() -> None:
    messages = [
        user("s", "summary " * 50, "compaction"),
        user("n", "a note " * 50, "recall"),
        user("m", "<system-reminder>news</system-reminder>", "reminder"),
        user("u", "look " * 50),
        Message("t", "assistant", (Thinking("hm " * 50), Text("I look. " * 50)), "model"),
        *step("c1", "read_file", "x y " * 400, path="a.py"),
        *step("c2", "grep", "x y " * 300, pattern="x"),
        *step("c3", "bash", "x y " * 200, command="make"),
        *step("c4", "web_fetch", "x y " * 100, url="https://e.org"),
        *step("c5", "edit_file", "x y " * 100, path="a.py"),
        Message(
            "r6",
            "tool",
            (ToolResult("c9", (Text("lost"),)), Text("<system-reminder>x</system-reminder>")),
            "tool",
        ),
    ]
    parts = measured(messages)
    names = by_name(parts)
    assert list(names)[:2] == ["identity", "instructions"]
    assert "environment" not in names  # it says nothing
    for name in (
        "tools",
        "MCP tools",
        "files read",
        "searches",
        "command output",
        "web pages",
        "other results",
    ):
        assert names[name] > 20
    for name in ("user", "assistant", "thinking", "tool calls", "reminders", "recalled notes", "summary"):
        assert names[name] > 5
    assert names["files read"] > names["searches"] > names["command output"]
    assert parts.fixed == sum(names[name] for name in ("identity", "instructions", "tools", "MCP tools"))


@given(TURNS, st.integers(1, 400_000) | st.none())
@settings(max_examples=50, deadline=None)
def test_the_parts_make_up_the_whole(turns: list, total: int | None) -> None:
    messages = conversation(turns)
    parts = measured(messages, total)
    assert parts.used == sum(part.tokens for part in parts.parts)
    assert total is None or abs(parts.used - total) <= 1
    whole = parts.used + parts.free + parts.headroom + parts.reserve
    assert whole == max(LIMITS.window, parts.used + parts.reserve)
    assert parts.share == parts.used / LIMITS.window
    assert min(parts.free, parts.headroom) >= 0
    assert all(part.tokens > 0 for part in parts.parts)


def test_without_a_total_they_are_what_the_meter_says() -> None:
    meter = TokenMeter()
    messages = conversation([(800, True, [[("read_file", 1, 4_000, "ok")]], True)] * 3)
    messages = [m for m in messages if m.usage is None]
    parts = measure(meter, "m", LIMITS, MODULES, TOOLS, messages)
    assert abs(parts.used - meter.conversation("m", messages, tuple(MODULES.values()), TOOLS)) <= 30


def test_the_three_things_that_free_most() -> None:
    messages = [
        user("u"),
        *step("c1", "read_file", "x y " * 9_000, path="src/big.py"),
        *step("c2", "read_file", "x y " * 9_000, path="src/big.py"),
        *step("c3", "bash", "x y " * 8_000, command="pytest -q"),
        *step(
            "c4", "read_file", "[read_file src/old.py: left out to save room; read it again if you need it]"
        ),
    ]
    largest = measured(messages).largest
    assert [item.name for item in largest] == ["read_file src/big.py", 'bash "pytest -q"', "instructions"]
    assert largest[0].tokens > 2 * largest[1].tokens
    assert all(item.advice for item in largest)
    none = [item.name for item in measured([user("u"), model("a", "ok"), result("c")]).largest]
    assert none == ["instructions", "MCP server tracker"]
