"""The live part: its lines, where it begins after a resize, what its last line says."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.data_structures import Point
from prompt_toolkit.layout.screen import Char, Screen

from mewcode.repl.cell_width import cell_width
from mewcode.repl.layout import Drawn, Lines
from mewcode.repl.reflow import rows_above
from mewcode.repl.statusline import background_text, status_text


def cells_of(lines: list[str]) -> Screen:
    cells = Screen()
    for row, line in enumerate(lines):
        column = 0
        for text in line:
            char = Char(text)
            cells.data_buffer[row][column] = char
            column += char.width
    return cells


def wrapped(line: str, columns: int) -> int:
    """As a terminal does it, character by character."""
    rows, filled = 1, 0
    for text in line:
        width = cell_width(text)
        if filled + width > columns:
            rows, filled = rows + 1, 0
        filled += width
    return rows


@settings(max_examples=200, deadline=None)
@given(
    lines=st.lists(st.text("ab字", max_size=60), min_size=1, max_size=6),
    columns=st.integers(2, 70),
)
def test_rows_above_the_cursor_are_those_of_a_terminal_that_wraps(lines: list[str], columns: int) -> None:
    cells = cells_of([*lines, "❯ "])
    expected = sum(wrapped(line, columns) for line in lines)
    assert rows_above(cells, Point(0, len(lines)), columns) == expected


def test_the_cursor_moves_along_with_its_line() -> None:
    cells = cells_of(["above", "x" * 50])
    assert rows_above(cells, Point(45, 1), 20) == 1 + 2
    assert rows_above(cells, Point(45, 1), 80) == 1
    assert rows_above(cells, Point(19, 1), 20) == 1
    assert rows_above(cells, Point(20, 1), 20) == 2


def test_lines_say_whether_they_changed_and_are_parsed_into_runs() -> None:
    lines = Lines()
    assert lines.show(["\x1b[1mab\x1b[0mc", ""])
    assert not lines.show(["\x1b[1mab\x1b[0mc", ""])
    content = lines.create_content(80, 24)
    assert content.line_count == lines.preferred_height(80, 24, False, None) == 2
    assert [text for _, text, *_ in content.get_line(0)] == ["ab", "c"]
    assert content.get_line(1) == []


def test_a_drawing_that_is_the_same_needs_no_frame() -> None:
    drawn = Drawn("> ")
    assert drawn.show(["a"], "status", takes_input=True)
    assert not drawn.show(["a"], "status", takes_input=True)
    assert drawn.show(["a"], "status", takes_input=False)
    assert drawn.show(["a"], "other", takes_input=False)


def session(**more: object) -> SimpleNamespace:
    processes = {"b1": SimpleNamespace(running=True), "b2": SimpleNamespace(running=False)}
    return SimpleNamespace(
        archive=SimpleNamespace(failing=None),
        model=SimpleNamespace(name="some-model", context_window=1000),
        mode="default",
        context_tokens=420,
        agent=SimpleNamespace(cost_usd=1.5),
        tools=SimpleNamespace(session=SimpleNamespace(shell=SimpleNamespace(background=processes))),
        background=SimpleNamespace(running=("index", "warm", "index")),
        **more,
    )


def test_the_status_line_says_what_waits_and_what_runs() -> None:
    background = background_text(session(), 2)
    assert background == "2 queued · 1 command running · indexing"
    assert status_text(session(), "~/x", "main", 120, "", background) == (
        "some-model · default · 42 % context · $1.50 · 2 queued · 1 command running · indexing · ~/x · main"
    )
    assert background_text(None, 0) == ""
    deep = "~/src/" + "deep/" * 20 + "work"
    assert status_text(session(), deep, "main", 80) == (
        "some-model · default · 42 % context · $1.50 · …/work · main"
    )


@settings(max_examples=50, deadline=None)
@given(width=st.integers(20, 120))
def test_the_status_line_fits(width: int) -> None:
    text = status_text(
        session(), "~/a/long/folder/name", "branch", width, "DEMO", background_text(session(), 12)
    )
    assert len(text) < width
    assert text.startswith("DEMO")
