"""A screen as lines, and the parts that lists on a screen of their own have in common. Needs no terminal and
nothing that is slow to load."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mewcode.infra.terminal_text import safe_line
from mewcode.repl.cell_width import cell_width, cut_cells
from mewcode.repl.theme import Theme

SPLIT = 140
"""From this width on a preview stands beside the list."""
HEADER_FROM, DETAILS_FROM, HELP_FROM = 10, 6, 5
"""Heights from which on there is a row for the columns, one for the details, one for the keys."""
REVERSE, RESET = "\x1b[7m", "\x1b[0m"


class ShownPages(Protocol):
    """The lines of a preview that are seen; see `pages.Pages`."""

    def shown(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Frame:
    """``lines`` from top to bottom (ANSI), each as wide as the screen at most; ``cursor`` as column and row,
    None where it is hidden."""

    lines: tuple[str, ...]
    cursor: tuple[int, int] | None


def list_width(width: int) -> int:
    """Cells of the list beside a preview; 0 where that takes all."""
    return width // 2 if width >= SPLIT else 0


def preview_size(width: int, height: int) -> tuple[int, int]:
    """Width and rows of a preview's lines, which have a title above and a word on keys below."""
    left = list_width(width)
    return (width - left - 2 if left else width), max(1, height - 2)


def preview_frame(
    title: str, pages: ShownPages | None, note: str, foot: str, width: int, height: int, theme: Theme
) -> Frame:
    """A preview on a part of the screen that is so large. ``note`` stands in place of lines while there are
    none."""
    rows = max(1, height - 2)
    body = pages.shown()[:rows] if pages is not None else []
    if not body and note:
        body = [theme.paint("dim", cut_cells(safe_line(note, width + 1), width))]
    lines = [theme.paint("bold", cut_cells(title, width)), *body]
    lines += [""] * (height - 1 - len(lines))
    lines.append(theme.paint("dim", cut_cells(foot, width)))
    return Frame(tuple(lines), None)


def beside(left: Frame, right: Frame, width: int, theme: Theme) -> Frame:
    """Both, of which the first has ``width`` cells, with a bar between them; the cursor is the first's."""
    bar = theme.paint("dim", "│ ")
    pairs = zip(left.lines, right.lines, strict=True)
    return Frame(tuple(one + " " * (width - _cells(one)) + bar + other for one, other in pairs), left.cursor)


def list_frame(
    top: Sequence[str],
    body: Sequence[str],
    bottom: Sequence[str],
    height: int,
    cursor: tuple[int, int] | None,
) -> Frame:
    """What stands above a list, the list, and what stands at the foot of the screen."""
    blank = [""] * (height - len(top) - len(body) - len(bottom))
    return Frame((*top, *body, *blank, *bottom), cursor)


def filter_row(text: str, placeholder: str, width: int, theme: Theme) -> str:
    """The line that is typed into; of a long text its end is seen."""
    sign = theme.paint("user", "❯") + " "
    if not text:
        return sign + theme.paint("dim", cut_cells(placeholder, width - 2))
    while cell_width(text) > width - 3:
        text = text[1:]
    return sign + text


def filter_cursor(text: str, width: int) -> tuple[int, int]:
    """Where the cursor is in the second row, which is a `filter_row`."""
    return min(2 + cell_width(text), width - 1), 1


def padded(text: str, width: int) -> str:
    """The text in so many cells, cut or filled up."""
    shown = cut_cells(text, width)
    return shown + " " * (width - cell_width(shown))


def _cells(line: str) -> int:
    return cell_width(re.sub(r"\x1b\[[0-9;]*m", "", line))
