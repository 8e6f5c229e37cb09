"""`/context` and `/compact`: the map of the window, its words, and what is said of pruning and compaction."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.context.parts import Freeable, Part, Parts
from mewcode.context.report import ahead_words, due_words, report_object, report_text, rows
from mewcode.context.thresholds import Thresholds
from mewcode.context.words import folded_summary, pruned_words, share
from mewcode.core.events import (
    AgentEvent,
    Compacted,
    CompactionFailed,
    CompactionStarted,
    Pruned,
    RunResult,
    StepStarted,
    TurnEnded,
)
from mewcode.core.message import Message, Text, Usage
from mewcode.repl.cell_width import cell_width
from mewcode.repl.context_grid import CELLS, Region, cells_of, grid_lines
from mewcode.repl.context_view import use_text
from mewcode.repl.plain_turn import PlainTurn
from mewcode.repl.replay import replay, replay_plain
from mewcode.repl.theme import THEMES, Theme, ThemeName
from mewcode.repl.turn_view import TurnView

PLAIN = THEMES["no-color"]
SGR = re.compile(r"\x1b\[[0-9;]*m")
SYSTEM = ("identity", "tone", "work", "instructions", "recent")
MESSAGES = (
    "user", "assistant", "thinking", "tool calls", "files read", "searches", "command output", "web pages",
    "other results", "reminders", "recalled notes", "summary",
)  # fmt: skip


def parts_of(window: int = 200_000, each: int = 4_000, *, largest: bool = True) -> Parts:
    """A window that holds so many tokens of everything there is."""
    limits = Thresholds(window, 8_000)
    parts = (
        *(Part("system", name, each) for name in SYSTEM),
        Part("tools", "tools", each),
        Part("tools", "MCP tools", each),
        *(Part("messages", name, each) for name in MESSAGES),
    )
    used = sum(part.tokens for part in parts)
    top = (
        Freeable("read_file src/大文件\x1b[2J.py", 12_000, "left out when room is needed"),
        Freeable("MCP server github", 3_200, "turn off the server where it is not needed"),
        Freeable("instructions", 2_000, "shorten MEWCODE.md"),
    )
    return Parts(
        "some-model", window, parts, used, max(0, limits.compact_at - used),
        window - limits.output_reserve - max(used, limits.compact_at), limits.output_reserve,
        limits.prune_at(), limits.prepare_at, limits.compact_at, top if largest else (),
    )  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(tokens=st.lists(st.integers(0, 2_000_000), min_size=1, max_size=20))
def test_cells_are_shared_out_to_the_last(tokens: list[int]) -> None:
    cells = cells_of(tokens)
    assert sum(cells) == CELLS
    whole = sum(tokens)
    if whole:
        assert all(abs(taken - CELLS * part / whole) < 1 for taken, part in zip(cells, tokens, strict=True))


@settings(max_examples=100, deadline=None)
@given(used=st.lists(st.integers(0, 1_000_000), max_size=12), free=st.integers(0, 1_000_000))
def test_the_grid_is_a_hundred_signs_and_shows_that_something_is_used(used: list[int], free: int) -> None:
    regions = [Region(str(number), tokens, "#", "plain") for number, tokens in enumerate(used)]
    kept = [Region("kept", 100_000, "x", "plain")]
    lines = grid_lines(regions, Region("free", free, ".", "plain"), kept, PLAIN)
    signs = "".join(lines).replace(" ", "")
    assert len(lines) == 10
    assert len(signs) == CELLS
    assert re.fullmatch(r"#*\.*x*", signs), "what is free stands between"
    assert ("#" in signs) == (sum(used) > 0)


@pytest.mark.parametrize("theme", list(THEMES.values()), ids=list(THEMES))
@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50), (56, 24), (30, 24), (20, 10)])
def test_no_line_is_too_wide_and_none_is_unsafe(theme: Theme, width: int, height: int) -> None:
    text = use_text(parts_of(), theme, width, height)
    assert text.endswith("\n")
    shown = SGR.sub("", text)
    assert "\x1b" not in shown
    assert max(map(cell_width, shown.split("\n"))) < width
    if theme is PLAIN:
        assert "\x1b" not in text


def test_a_full_map_fits_a_small_screen_and_a_tall_one_shows_each_part() -> None:
    small = use_text(parts_of(), PLAIN, 80, 24)
    assert small.count("\n") + 3 <= 24, "the input and the status line stand below"
    assert "some-model: 76,000 of 200,000 tokens (38 %)" in small
    assert "■ system prompt" in small
    assert "identity" not in small
    assert "▣ instructions" in small
    assert "▤ recent sessions" in small
    assert re.search(r"○ dialogue: the model +12,000 +6 %", small)
    assert re.search(r"^.{20}  . others +\d", small, re.MULTILINE), "the smallest are one"
    assert "× kept free" in small
    assert "12,000  read_file src/大文件" in small
    tall = use_text(parts_of(), PLAIN, 200, 50)
    for name in ("system prompt: identity", "thinking", "tool calls", "kept for the answer", "summary"):
        assert name in tall
    # Without colours each region of a kind is told by its sign alone.
    legend = [line.split("   ", 1)[-1] for line in tall.split("\n")]
    signs = [line[0] for line in legend if re.match(r"\S \w.*\d %$", line)]
    assert len(set(signs)) >= len(signs) - 2, "but for the sections that are MewCode's own words"


def test_an_empty_session_and_one_without_room() -> None:
    fresh = use_text(parts_of(1_000_000, 20, largest=False), PLAIN, 80, 24)
    assert "What would free most" not in fresh
    assert re.match(r". (· ){8}·", fresh.split("\n")[1]), "a cell says that something is there"
    assert fresh[fresh.index("\n") + 1] != "·"
    full = parts_of(80_000, 4_000)
    assert full.free == 0
    assert "with the next request" in due_words(full)
    grid = use_text(full, PLAIN, 80, 24)
    assert "· free" in grid
    assert grid.count("·") == 1
    stopped = use_text(parts_of(), PLAIN, 80, 24, "3 attempts failed")
    assert "nothing is summed up by itself any more: 3 attempts failed; /compact tries it" in stopped
    assert due_words(parts_of()) == "compaction comes at about 179,000 tokens; 103,000 (52 %) away"


def test_the_report_as_lines_and_as_data() -> None:
    parts = parts_of()
    text = report_text(parts)
    assert text.startswith("some-model: 76,000 of 200,000 tokens (38 %)\n")
    for name, tokens in rows(parts):
        assert re.search(rf"^{re.escape(name)} +{tokens:,} ", text, re.MULTILINE)
    assert "  instructions: 2,000 tokens; shorten MEWCODE.md\n" in text
    assert sum(tokens for _, tokens in rows(parts)) == parts.window
    data = report_object(parts, "20261101-101010-abcd")
    assert data["type"] == "context"
    assert data["session_id"] == "20261101-101010-abcd"
    assert data["parts"][0] == {"group": "system", "name": "identity", "tokens": 4_000}
    assert data["used"] + data["free"] + data["headroom"] + data["reserve"] == data["window"]
    assert [item["tokens"] for item in data["largest"]] == [12_000, 3_200, 2_000]


@pytest.mark.parametrize(
    ("tokens", "window", "shown"),
    [
        (0, 100, "0 %"),
        (5, 0, "0 %"),
        (1, 1_000_000, "under 0.1 %"),
        (5, 1_000, "0.5 %"),
        (610, 1_000, "61 %"),
    ],
)
def test_shares(tokens: int, window: int, shown: str) -> None:
    assert share(tokens, window) == shown


COMPACTED = Compacted(
    "asked", 152_000, 18_400, 214, "## Goal\n目标", "small-model", seconds=12.4, files=("a\x1b[2J.py",)
)


class Shown:
    def __init__(self, theme: ThemeName = "no-color") -> None:
        self.now = 0.0
        self.committed: list[str] = []
        self.view = TurnView(
            THEMES[theme],
            self.committed.append,
            lambda: 80,
            lambda: self.now,
            lambda: 200_000,
        )

    def take(self, *events: AgentEvent) -> str:
        before = len(self.committed)
        for event in events:
            self.view.handle(event)
        return "".join(self.committed[before:])


def test_a_compaction_is_seen_while_it_goes_on_and_leaves_a_line() -> None:
    shown = Shown()
    assert shown.take(StepStarted(1), CompactionStarted("threshold", 152_000, 200_000)) == ""
    shown.now = 7.0
    working = shown.view.live_lines(5)[-1]
    assert "compacting 152,000 tokens (76 % of the window) · 7 s · esc to stop" in working
    text = shown.take(COMPACTED)
    assert text.split("\n")[1] == "● compacted: 152,000 -> 18,400 tokens, 214 messages summed up"
    assert "ctrl-o shows the summary · written by small-model in 12 s · read again: a.py" in text
    assert "目标" not in text
    assert "compacting" not in shown.view.live_lines(5)[-1]


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Pruned(12, 122_000, 86_000), "pruned 12 old results: 61 % -> 43 %"),
        (Pruned(1, 122_000, 121_000), "pruned 1 old result: 61 % -> 60 %"),
        (Compacted("resumed", 9_000, 4_000, 1), "compacted: 9,000 -> 4,000 tokens, 1 message left out"),
        (
            CompactionFailed("threshold", "the summary was empty", "Try /compact."),
            "not compacted: the summary",
        ),
        (CompactionFailed("asked", "", stopped=True), "compaction stopped; the conversation is as it was"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_each_way_to_make_room_is_said_on_the_screen_and_in_plain_lines(event: AgentEvent, line: str) -> None:
    shown = Shown()
    assert shown.take(CompactionStarted("too_long", 9_000, 10_000), event).startswith(f"\n● {line}")
    written: list[str] = []
    view = PlainTurn(written.append, lambda: 200_000)
    view.handle(CompactionStarted("too_long", 9_000, 10_000))
    view.handle(event)
    said = "".join(written)
    assert said.startswith("the service says that the request is too long: compacting 9,000 tokens (90 %")
    assert f"\n{line}" in said


def test_without_a_known_window_tokens_are_said() -> None:
    assert pruned_words(Pruned(2, 9_000, 4_000), 0) == "pruned 2 old results: 9,000 -> 4,000 tokens"


def test_what_happens_by_itself_is_dim_and_an_end_of_the_turn_ends_it() -> None:
    dim = THEMES["dark"].styles["dim"]
    shown = Shown("dark")
    assert f"\x1b[{dim}m● pruned" in shown.take(Pruned(12, 122_000, 86_000))
    assert f"\x1b[{dim}m● compacted" in shown.take(Compacted("threshold", 2, 1, 1, "x"))
    assert "\x1b[38" not in shown.take(COMPACTED).split("\n")[1], "what was asked for is said aloud"
    shown.take(CompactionStarted("threshold", 1, 2))
    shown.take(TurnEnded(RunResult("", "interrupted", 1, Usage(), None, 5)))
    assert "compacting" not in shown.view.live_lines(5)[-1]


def said(number: int) -> tuple[Message, ...]:
    return (
        Message(f"u{number}", "user", (Text(f"问题 {number}"),)),
        Message(f"a{number}", "assistant", (Text(f"Answer {number}"),), "model"),
    )


SUMMARY = Message("s", "user", (Text("## Goal\nsecret words of the summary " + "长" * 400),), "compaction")


@pytest.mark.parametrize(("exchanges", "lines"), [(1, 2), (2, 1), (9, 1)])
@pytest.mark.parametrize("is_whole", [True, False])
def test_a_summary_is_replayed_in_one_line(exchanges: int, lines: int, is_whole: bool) -> None:
    messages = (SUMMARY, *said(1), *said(2))
    drawn = replay(messages, PLAIN, 80, exchanges, is_whole=is_whole)
    plain = replay_plain(messages, exchanges, is_whole=is_whole)
    for text in (drawn, plain):
        first = text.strip().split("\n")[0]
        assert first.startswith("◦ a summary stands for what came before: about ")
        assert "secret words" not in text
        assert text.count("earlier exchange") == lines - 1
    assert "ctrl-o shows it" in drawn
    assert "ctrl-o" not in plain
    assert cell_width(folded_summary(SUMMARY, "ctrl-o")) < 80


def test_what_summaries_ahead_of_time_used_is_said():
    assert ahead_words(0, 3) == ""
    words = ahead_words(12_345, 3)
    assert words == "summaries ahead of time: 12,345 tokens so far; at most 3 are tried before one is needed"
    assert words in report_text(parts_of(), ahead=words)
    shown = " ".join(use_text(parts_of(), PLAIN, 80, 24, ahead=words).split())
    assert words in shown
