"""A terminal's screen as an SVG picture, for the README: what the emulator holds, nothing added."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

import pyte
from pyte.screens import Char

ThemeName = Literal["dark", "light"]

_CELL = (8.4, 18.0)
_MARGIN = 12.0
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# Background, text and edge of each.
_PALETTES: dict[ThemeName, tuple[str, str, str]] = {
    "dark": ("#1b1d23", "#d7dae0", "#3b4048"),
    "light": ("#ffffff", "#24292f", "#d0d7de"),
}
_NAMED = {
    "black": "#3b4048",
    "red": "#e06c75",
    "green": "#98c379",
    "brown": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": "#d7dae0",
}


def svg(
    screen: pyte.Screen, theme: ThemeName = "dark", title: str = "MewCode in a terminal", top: int = 0
) -> str:
    """The visible screen from line ``top`` on, without the empty lines at its end; ``title`` is what a screen
    reader says."""
    rows = [[screen.buffer[y][x] for x in range(screen.columns)] for y in range(top, screen.lines)]
    while rows and all(cell.data == " " for cell in rows[-1]):
        rows.pop()
    background, foreground, edge = _PALETTES[theme]
    width = screen.columns * _CELL[0] + 2 * _MARGIN
    height = len(rows) * _CELL[1] + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="{escape(_FONT)}" font-size="14" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="8" '
        f'fill="{background}" stroke="{edge}"/>',
    ]
    for y, row in enumerate(rows):
        parts += _row(row, y, foreground, background)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _row(row: Sequence[Char], y: int, foreground: str, background: str) -> list[str]:
    parts: list[str] = []
    x = 0
    while x < len(row):
        style, is_wide = _style(row[x], foreground, background), _is_wide(row, x)
        end = x
        while end < len(row) and _style(row[end], foreground, background) == style:
            if _is_wide(row, end) != is_wide:  # its letters are spread evenly: they are of one width
                break
            end += 1
        text = "".join(cell.data for cell in row[x:end])
        left, top = _MARGIN + x * _CELL[0], _MARGIN + y * _CELL[1]
        fill, back, extra = style
        if back:
            parts.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{(end - x) * _CELL[0]:.1f}" '
                f'height="{_CELL[1]}" fill="{back}"/>'
            )
        if text.strip():
            parts.append(
                f'<text x="{left:.1f}" y="{top + 13.5:.1f}" fill="{fill}" xml:space="preserve" '
                f'textLength="{(end - x) * _CELL[0]:.1f}"{extra}>{escape(text)}</text>'
            )
        x = end
    return parts


def _is_wide(row: Sequence[Char], x: int) -> bool:
    """Whether a cell is half of a letter of two."""
    return not row[x].data or (x + 1 < len(row) and not row[x + 1].data)


def _style(cell: Char, foreground: str, background: str) -> tuple[str, str, str]:
    fill, back = _colour(cell.fg, foreground), _colour(cell.bg, "")
    if cell.reverse:
        fill, back = back or background, fill
    extra = ' font-weight="bold"' if cell.bold else ""
    extra += ' font-style="italic"' if cell.italics else ""
    extra += ' text-decoration="underline"' if cell.underscore else ""
    return fill, back, extra


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return _NAMED.get(name.removeprefix("bright"), f"#{name}")
