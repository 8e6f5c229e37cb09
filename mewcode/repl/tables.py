"""Tables of commands, drawn by rich. Loaded with the first one: rich takes its time to import."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from mewcode.infra.terminal_text import safe_text
from mewcode.repl.commands import Table
from mewcode.repl.theme import Theme


def table_text(table: Table, theme: Theme, width: int) -> str:
    """The table as lines of ANSI text, no wider than ``width``. Cells are text, never markup."""
    drawn = RichTable(
        box=box.SIMPLE_HEAD if table.header else None, show_header=bool(table.header), pad_edge=False
    )
    columns = table.header or ("",) * max(map(len, table.rows), default=1)
    for number, name in enumerate(columns):
        drawn.add_column(name, style="bold" if number == 0 and theme.styles else "", overflow="fold")
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
