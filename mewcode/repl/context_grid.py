"""A model's window as a grid of a hundred cells: each kind of content has a sign and a colour of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mewcode.context.words import share
from mewcode.repl.cell_width import cell_width
from mewcode.repl.screen_lines import shown_line
from mewcode.repl.theme import Style, Theme

CELLS = 100
_ROW = 10
_GRID_WIDTH = 2 * _ROW + 1  # each sign with a blank behind it, and room to the legend
_LEAST_LEGEND = 34  # cells: less stands below the grid
_MOST_LABEL = 44


class Region(NamedTuple):
    """A part of the window: ``sign`` is one cell wide."""

    label: str
    tokens: int
    sign: str
    style: Style


def cells_of(tokens: Sequence[int], cells: int = CELLS) -> list[int]:
    """How many of the cells each number of tokens takes; together they take all. Each is less than one cell
    off. Without any tokens the last takes all."""
    whole = sum(tokens)
    if whole <= 0:
        return [0] * (len(tokens) - 1) + [cells]
    taken = [cells * part // whole for part in tokens]
    by_rest = sorted(range(len(tokens)), key=lambda place: -(cells * tokens[place] % whole))
    for place in by_rest[: cells - sum(taken)]:
        taken[place] += 1
    return taken


def grid_lines(used: Sequence[Region], free: Region, kept: Sequence[Region], theme: Theme) -> list[str]:
    """Ten lines of ten signs: what is used, what is free, and what is ``kept`` for other things at the end.
    Where anything is used, a cell says so, however large the window is."""
    order = [*used, *kept, free]
    counts = cells_of([max(0, region.tokens) for region in order])
    largest = max(range(len(used)), key=lambda place: used[place].tokens, default=None)
    if largest is not None and used[largest].tokens > 0 and not sum(counts[: len(used)]):
        most = max(range(len(counts)), key=counts.__getitem__)
        counts[largest], counts[most] = 1, counts[most] - 1
    by_place = list(zip(order, counts, strict=True))
    shown = [*by_place[: len(used)], by_place[-1], *by_place[len(used) : -1]]
    painted = [theme.paint(region.style, region.sign) for region, number in shown for _ in range(number)]
    return [" ".join(painted[start : start + _ROW]) for start in range(0, CELLS, _ROW)]


def legend_lines(regions: Sequence[Region], window: int, theme: Theme, width: int) -> list[str]:
    """A line for each region: sign, label, tokens, share of the window. At most ``width`` cells wide."""
    sizes = [f"{region.tokens:,}" for region in regions]
    parts = [share(region.tokens, window) for region in regions]
    size_width, part_width = max(map(len, sizes), default=0), max(map(len, parts), default=0)
    room = max(1, min(_MOST_LABEL, width - 2 - size_width - part_width - 4))
    labels = [shown_line(region.label, room) for region in regions]
    room = max(map(cell_width, labels), default=0)
    return [
        f"{theme.paint(region.style, region.sign)} {label}{' ' * (room - cell_width(label))}"
        f"  {size:>{size_width}}  {part:>{part_width}}"
        for region, label, size, part in zip(regions, labels, sizes, parts, strict=True)
    ]


def map_lines(
    used: Sequence[Region], free: Region, kept: Sequence[Region], window: int, theme: Theme, width: int
) -> list[str]:
    """The grid with its legend beside it, below it where there is no room."""
    grid = grid_lines(used, free, kept, theme)
    regions = (*used, free, *kept)
    beside = width - 1 - _GRID_WIDTH - 2
    if beside < _LEAST_LEGEND:
        return [*grid, "", *legend_lines(regions, window, theme, width - 1)]
    legend = legend_lines(regions, window, theme, beside)
    rows = max(len(grid), len(legend))
    grid += [" " * (_GRID_WIDTH - 2)] * (rows - len(grid))
    legend += [""] * (rows - len(legend))
    return [f"{left}   {right}".rstrip() for left, right in zip(grid, legend, strict=True)]
