"""Text with styles by range, and its way to ANSI lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mewcode.repl.line_wrap import break_lines
from mewcode.repl.theme import Style, Theme

Styles = tuple[Style, ...]
Run = tuple[int, int, Styles]
_RESET = "\x1b[0m"


class StyledText:
    """``text`` (a ``\\n`` is a hard break) and its ``runs``: (start, end, styles), in order, disjoint; what
    no run covers is plain."""

    __slots__ = ("runs", "text")

    def __init__(self, text: str, runs: list[Run] | None = None) -> None:
        self.text = text
        self.runs: list[Run] = runs or []

    def __add__(self, other: StyledText) -> StyledText:
        shift = len(self.text)
        moved = [(start + shift, end + shift, styles) for start, end, styles in other.runs]
        return StyledText(self.text + other.text, self.runs + moved)

    def from_index(self, start: int) -> StyledText:
        """The part from ``start`` on."""
        runs = [(max(a, start) - start, b - start, styles) for a, b, styles in self.runs if b > start]
        return StyledText(self.text[start:], runs)


class Painter:
    """A theme that paints several styles on one text: each piece is painted once and reset, so a style
    within another does not end it."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        # Without any style, what only a style would tell is written out.
        self.colourless = not theme.styles
        self._openings: dict[Styles, str] = {(): ""}

    def paint(self, styles: Styles, text: str) -> str:
        """``text`` in all of the styles, the later ones over the earlier."""
        opening = self._openings.get(styles)
        if opening is None:
            codes = ";".join(filter(None, (self.theme.styles.get(style, "") for style in styles)))
            opening = self._openings[styles] = f"\x1b[{codes}m" if codes else ""
        return f"{opening}{text}{_RESET}" if opening and text else text

    def wrapped(self, styled: StyledText, width: int, base: Styles = ()) -> list[str]:
        """The lines of the text, each complete in itself and at most ``width`` cells."""
        return self.lines(styled, break_lines(styled.text, width), base)

    def lines(self, styled: StyledText, ranges: Iterable[tuple[int, int]], base: Styles = ()) -> list[str]:
        """One painted line per range; the ranges in order."""
        text, runs = styled.text, styled.runs
        if not runs:
            return [self.paint(base, text[start:end]) for start, end in ranges]
        result: list[str] = []
        at = 0
        for start, end in ranges:
            while at < len(runs) and runs[at][1] <= start:
                at += 1
            result.append(self._line(text, runs, at, start, end, base))
        return result

    def _line(self, text: str, runs: Sequence[Run], at: int, start: int, end: int, base: Styles) -> str:
        parts: list[str] = []
        while at < len(runs) and runs[at][0] < end:
            first, last, styles = runs[at]
            if first > start:
                parts.append(self.paint(base, text[start:first]))
                start = first
            last = min(last, end)
            parts.append(self.paint(base + styles, text[start:last]))
            start = last
            at += 1
        parts.append(self.paint(base, text[start:end]))
        return "".join(parts)
