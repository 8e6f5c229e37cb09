"""Text of unknown origin as lines of a width: cut, wrapped, folded."""

from __future__ import annotations

from collections.abc import Sequence

from mewcode.infra.terminal_text import safe_text
from mewcode.repl.cell_width import cut_cells
from mewcode.repl.line_wrap import cut_lines
from mewcode.repl.theme import Style, Theme

TAB = 4


def shown_line(text: str, width: int) -> str:
    """One line made safe, tabs expanded, cut to ``width`` cells. Costs by the width."""
    width = max(0, width)
    limit = 32 * width + 512
    if len(text) > limit:
        text = text[:limit] + "…"
    return cut_cells(safe_text(text).replace("\n", " ").expandtabs(TAB), width)


def cut_line(theme: Theme, style: Style, text: str, width: int) -> str:
    """`shown_line`, painted."""
    return theme.paint(style, shown_line(text, width))


def more(theme: Theme, count: int, width: int, style: Style = "dim") -> str:
    """The line that stands for ``count`` lines that are not shown."""
    words = f"… {count:,} more line{'s' if count != 1 else ''}"
    return theme.paint(style, cut_cells(words, width))


def head_and_tail(
    lines: Sequence[str], head: int, tail: int, theme: Theme, style: Style, width: int
) -> list[str]:
    """The first and the last lines, and between them how many are left out (never just one)."""
    if len(lines) <= head + tail + 1:
        return [cut_line(theme, style, line, width) for line in lines]
    shown = [cut_line(theme, style, line, width) for line in lines[:head]]
    shown.append(more(theme, len(lines) - head - tail, width))
    return shown + [cut_line(theme, style, line, width) for line in lines[len(lines) - tail :] if tail]


def wrapped_whole(text: str, theme: Theme, style: Style, width: int, max_lines: int) -> list[str]:
    """All of a text that is safe already, wrapped wherever the width is reached so that every space shows;
    what goes beyond ``max_lines`` is announced."""
    lines: list[str] = []
    texts = text.removesuffix("\n").split("\n")
    for number, line in enumerate(texts):
        room = max_lines - len(lines)
        limit = room * width + 1
        shown = line[:limit].expandtabs(TAB)
        ranges = cut_lines(shown, width)
        lines += [theme.paint(style, shown[start:end]) for start, end in ranges[:room]]
        # By characters as well: what takes no cells could hide that something is left out.
        whole = len(ranges) <= room and len(line) <= limit
        if not whole or (len(lines) >= max_lines and number + 1 < len(texts)):
            hidden = len(texts) - number - (1 if whole else 0)
            lines.append(more(theme, hidden, width, "warn"))
            break
    return lines
