"""`/context` on the screen: the window as a map of signs, its legend, and what can be done."""

from __future__ import annotations

from collections.abc import Mapping

from mewcode.context.parts import Part, Parts
from mewcode.context.report import due_words, label, used_words
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.context_grid import Region, map_lines
from mewcode.repl.line_wrap import break_lines
from mewcode.repl.screen_lines import shown_line
from mewcode.repl.theme import Style, Theme

_Look = tuple[str, Style]

_SYSTEM: _Look = ("■", "accent")
_OWN: Mapping[str, _Look] = {
    "instructions": ("▣", "keyword"),
    "recent": ("▤", "name"),
    "memory": ("▥", "name"),
}
"""Parts of the prompt that are not MewCode's own words."""
_NAMES = {"recent": "recent sessions", "memory": "memory index"}
_LOOKS: Mapping[str, _Look] = {
    "tools": ("▲", "number"),
    "MCP tools": ("△", "number"),
    "user": ("●", "user"),
    "assistant": ("○", "plain"),
    "thinking": ("◌", "dim"),
    "tool calls": ("▶", "quote"),
    "files read": ("◆", "ok"),
    "searches": ("◇", "string"),
    "command output": ("▼", "warn"),
    "web pages": ("▽", "code"),
    "reminders": ("◁", "comment"),
    "recalled notes": ("▷", "name"),
    "summary": ("◉", "heading"),
}
_OTHER: _Look = ("◎", "quote")
_FREE: _Look = ("·", "dim")
_HEADROOM: _Look = ("-", "rule")
_RESERVE: _Look = ("×", "rule")
_OF_THE_MODEL = frozenset({"assistant", "thinking", "tool calls"})
_TALL = 40
"""Rows of a screen that has room for a line for each part."""
_LEAST, _AROUND = 8, 13
"""Lines of the legend for what is used: at least, and the rows of the screen that they leave to the rest."""


def use_text(parts: Parts, theme: Theme, width: int, rows: int, stopped: str = "", ahead: str = "") -> str:
    """Lines of ANSI text, narrower than ``width``. On a screen of few ``rows`` what belongs together is one,
    and what is smallest as well. ``stopped`` and ``ahead`` as for `report_text`."""
    used = [Region(_label(part), part.tokens, *_look(part)) for part in parts.parts]
    kept = [
        Region("kept free beside the answer", parts.headroom, *_HEADROOM),
        Region("kept for the answer", parts.reserve, *_RESERVE),
    ]
    if rows < _TALL:
        used = _largest(_folded(parts), max(_LEAST, rows - _AROUND))
        kept = [Region("kept free", parts.headroom + parts.reserve, *_RESERVE)]
    free = Region("free", parts.free, *_FREE)
    lines = [theme.paint("heading", safe_line(used_words(parts), width - 1))]
    lines += map_lines(used, free, kept, parts.window, theme, width)
    lines += ["", *_wrapped(due_words(parts, stopped), width)]
    lines += _wrapped(ahead, width) if ahead else []
    if parts.largest:
        lines += _wrapped("What would free most, beside /compact:", width)
    for item in parts.largest:
        line = f"{item.tokens:>9,}  {item.name}: {item.advice}"
        lines.append(shown_line(line, width - 1))
    return "\n".join(lines) + "\n"


def _folded(parts: Parts) -> list[Region]:
    """The sections of the prompt that are MewCode's own are one, and so is all that the model said; each
    stands where its first part does."""
    sums: dict[str, tuple[int, _Look]] = {}
    for part in parts.parts:
        name, look = _label(part), _look(part)
        if part.group == "system" and part.name not in _OWN:
            name = "system prompt"
        elif part.group == "messages" and part.name in _OF_THE_MODEL:
            name, look = "dialogue: the model", _LOOKS["assistant"]
        sums[name] = (sums.get(name, (0, look))[0] + part.tokens, look)
    return [Region(name, tokens, *look) for name, (tokens, look) in sums.items()]


def _largest(regions: list[Region], most: int) -> list[Region]:
    """So many of them at most, in their order; the last stands for the smallest."""
    if len(regions) <= most:
        return regions
    kept = sorted(regions, key=lambda region: -region.tokens)[: most - 1]
    others = sum(region.tokens for region in regions if region not in kept)
    return [*(region for region in regions if region in kept), Region("others", others, *_OTHER)]


def _label(part: Part) -> str:
    if part.group == "system" and part.name in _OWN:
        return _NAMES.get(part.name, part.name)
    return label(part)


def _look(part: Part) -> _Look:
    if part.group == "system":
        return _OWN.get(part.name, _SYSTEM)
    return _LOOKS.get(part.name, _OTHER)


def _wrapped(text: str, width: int) -> list[str]:
    """One line of text that is safe, on lines of the screen."""
    return [text[start:end].rstrip() for start, end in break_lines(text, max(10, width - 1))]
