"""Tables as text: within the width, safe to show, first columns equally wide."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl.cell_width import cell_width
from mewcode.repl.commands import Table, Tables
from mewcode.repl.tables import tables_text
from mewcode.repl.theme import THEMES

PLAIN = THEMES["no-color"]


def test_first_columns_line_up() -> None:
    tables = Tables(
        (Table("one", (("a", "x"),)), Table("two", (("a longer name", "x"),))), note="and a word below"
    )
    lines = tables_text(tables, PLAIN, 60).splitlines()
    assert lines[0] == "one"
    assert len({line.index("x") for line in lines if line.endswith("x")}) == 1
    assert lines[-1] == "and a word below"


def test_a_table_with_a_header_has_widths_of_its_own() -> None:
    tables = Tables((Table("one", (("a", "1"),), ("name", "count")), Table("two", (("b" * 90, "2"),))))
    text = tables_text(tables, PLAIN, 80)
    assert "count" in text
    assert all(cell_width(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_cells_are_text_and_no_markup(theme) -> None:  # type: ignore[no-untyped-def]
    text = tables_text(Tables((Table("t", (("[red]a[/]", "b\x1b[2Jc"),)),)), theme, 40)
    assert "[red]a[/]" in text
    assert "\x1b[2J" not in text


@given(
    st.lists(st.tuples(st.text(max_size=40), st.text(max_size=80)), min_size=1, max_size=4),
    st.integers(20, 120),
)
@settings(max_examples=40, deadline=None)
def test_no_line_is_wider_than_the_screen(rows: list[tuple[str, str]], width: int) -> None:
    tables = Tables((Table("one", tuple(rows)), Table("two", tuple(rows), ("a", "b"))))
    for line in tables_text(tables, PLAIN, width).splitlines():
        assert cell_width(line) <= width
