"""Tables of commands, drawn by rich. Loaded with the first one: rich takes its time to import."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from mewcode.infra.terminal_text import safe_text
from mewcode.repl.cell_width import cell_width
from mewcode.repl.commands import Table, Tables
from mewcode.repl.theme import Theme

# The first column takes no more than this part of the width, however long a name in it is.
_FIRST_SHARE = 0.4


def tables_text(tables: Tables, theme: Theme, width: int) -> str:
    """The tables one below the other as lines of ANSI text, no wider than ``width``. Cells are text, never
    markup."""
    plain = [table for table in tables.tables if not table.header]
    cells = [cell_width(row[0]) for table in plain for row in table.rows]
    first = min(max(cells, default=0), int(width * _FIRST_SHARE)) if len(plain) > 1 else None
    shown = [table_text(table, theme, width, None if table.header else first) for table in tables.tables]
    if tables.note:
        shown.append(theme.paint("dim", safe_text(tables.note)) + "\n")
    return "\n".join(shown)


def table_text(table: Table, theme: Theme, width: int, first_width: int | None = None) -> str:
    """One table. ``first_width``: cells of its first column, None for what it needs."""
    drawn = RichTable(
        box=box.SIMPLE_HEAD if table.header else None, show_header=bool(table.header), pad_edge=False
    )
    columns = table.header or ("",) * max(map(len, table.rows), default=1)
    for number, name in enumerate(columns):
        is_first = number == 0
        drawn.add_column(
            name,
            style="bold" if is_first and theme.styles else "",
            overflow="fold",
            width=first_width if is_first else None,
        )
    for row in table.rows:
        drawn.add_row(*(Text(safe_text(cell)) for cell in row))
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=bool(theme.styles),
        color_system="256" if theme.styles else None,
        highlight=False,
        markup=False,
        legacy_windows=False,
    )
    console.print(drawn)
    return theme.paint("heading", table.title) + "\n" + out.getvalue().rstrip() + "\n"
