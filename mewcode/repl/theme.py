"""Colours of the screen: light, dark, high contrast, none. Styles are SGR parameters, painted by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ThemeName = Literal["dark", "light", "high-contrast", "no-color"]

Style = Literal[
    "plain",
    "bold",
    "italic",
    "strike",
    "underline",
    "dim",
    "heading",
    "code",
    "quote",
    "link",
    "bullet",
    "rule",
    "user",
    "accent",
    "ok",
    "warn",
    "error",
    "added",
    "removed",
    "added_word",
    "removed_word",
    "keyword",
    "string",
    "comment",
    "number",
    "name",
]

# Shapes that hold in every theme but the colourless one too: they are no colours.
_SHAPES: dict[Style, str] = {
    "plain": "",
    "bold": "1",
    "italic": "3",
    "strike": "9",
    "underline": "4",
    "heading": "1",
}

_DARK: dict[Style, str] = _SHAPES | {
    "dim": "38;5;245",
    "heading": "1;38;5;117",
    "code": "38;5;180",
    "quote": "38;5;250",
    "link": "4;38;5;111",
    "bullet": "38;5;245",
    "rule": "38;5;240",
    "user": "1;38;5;114",
    "accent": "38;5;117",
    "ok": "38;5;114",
    "warn": "38;5;221",
    "error": "38;5;210",
    "added": "38;5;114",
    "removed": "38;5;210",
    "added_word": "48;5;22;38;5;157",
    "removed_word": "48;5;52;38;5;217",
    "keyword": "38;5;176",
    "string": "38;5;150",
    "comment": "38;5;245",
    "number": "38;5;180",
    "name": "38;5;111",
}

_LIGHT: dict[Style, str] = _SHAPES | {
    "dim": "38;5;242",
    "heading": "1;38;5;25",
    "code": "38;5;94",
    "quote": "38;5;240",
    "link": "4;38;5;26",
    "bullet": "38;5;242",
    "rule": "38;5;248",
    "user": "1;38;5;28",
    "accent": "38;5;25",
    "ok": "38;5;28",
    "warn": "38;5;130",
    "error": "38;5;124",
    "added": "38;5;28",
    "removed": "38;5;124",
    "added_word": "48;5;194;38;5;22",
    "removed_word": "48;5;224;38;5;88",
    "keyword": "38;5;90",
    "string": "38;5;28",
    "comment": "38;5;242",
    "number": "38;5;94",
    "name": "38;5;25",
}

# The sixteen colours that the user's terminal defines itself, bold where it matters.
_HIGH_CONTRAST: dict[Style, str] = _SHAPES | {
    "dim": "",
    "heading": "1;4",
    "code": "1;36",
    "quote": "3",
    "link": "1;4;34",
    "bullet": "1",
    "rule": "",
    "user": "1;32",
    "accent": "1;36",
    "ok": "1;32",
    "warn": "1;33",
    "error": "1;31",
    "added": "1;32",
    "removed": "1;31",
    "added_word": "7;32",
    "removed_word": "7;31",
    "keyword": "1;35",
    "string": "32",
    "comment": "",
    "number": "36",
    "name": "34",
}


@dataclass(frozen=True, slots=True)
class Theme:
    name: ThemeName
    styles: Mapping[Style, str]

    def paint(self, style: Style, text: str) -> str:
        """``text`` in a style, reset after; as it is where the theme has nothing to say."""
        codes = self.styles.get(style, "")
        return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


THEMES: dict[ThemeName, Theme] = {
    "dark": Theme("dark", _DARK),
    "light": Theme("light", _LIGHT),
    "high-contrast": Theme("high-contrast", _HIGH_CONTRAST),
    "no-color": Theme("no-color", {}),
}


def choose_theme(wanted: str, environ: Mapping[str, str]) -> Theme:
    """The theme for a wish ("auto" or a name). ``NO_COLOR`` wins over all; "auto" goes by ``COLORFGBG``,
    which some terminals set, and is dark otherwise."""
    if environ.get("NO_COLOR"):
        return THEMES["no-color"]
    if wanted in THEMES:
        return THEMES[wanted]
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return THEMES["light" if background in ("7", "15") else "dark"]
