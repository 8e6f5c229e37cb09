"""What the terminal around us can do, as far as its environment tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Notification = Literal["osc9", "osc777", "bell"]

# Terminals that wrap lines anew when their width changes, by what they set. A wrong yes would erase lines of
# the scrollback, a wrong no leaves some of the live part behind: only what is known is here.
_REFLOWING_VARIABLES = (
    "TMUX",
    "VTE_VERSION",
    "KITTY_WINDOW_ID",
    "KONSOLE_VERSION",
    "WT_SESSION",
    "WEZTERM_PANE",
    "ALACRITTY_WINDOW_ID",
    "GHOSTTY_RESOURCES_DIR",
)
_REFLOWING_PROGRAMS = ("iTerm.app", "Apple_Terminal", "WezTerm", "vscode", "ghostty", "tmux")
_REFLOWING_TERMS = ("tmux", "xterm-kitty", "alacritty", "foot", "xterm-ghostty")
# Terminals that would show an operating system command, or part of it, as text.
_WITHOUT_OSC = ("linux", "dumb", "vt", "ansi", "cons25", "sun", "screen.linux")
_OSC9_PROGRAMS = ("iTerm.app", "WezTerm", "ghostty")


@dataclass(frozen=True, slots=True)
class TerminalTraits:
    """``reflows``: lines are wrapped anew when the width changes. ``osc``: operating system commands (title,
    colours) are understood or ignored, never shown. ``notification``: how it tells the desktop."""

    reflows: bool = False
    osc: bool = False
    notification: Notification = "bell"


def terminal_traits(environ: Mapping[str, str]) -> TerminalTraits:
    """The traits of the terminal that set these variables."""
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    # Within GNU screen and tmux the variables of the terminal around them may still be there.
    inner = term.startswith(("screen", "tmux")) or "TMUX" in environ
    if inner:
        reflows = "TMUX" in environ
    else:
        reflows = (
            any(environ.get(name) for name in _REFLOWING_VARIABLES)
            or program in _REFLOWING_PROGRAMS
            or term.startswith(_REFLOWING_TERMS)
        )
    osc = bool(term) and not term.startswith(_WITHOUT_OSC)
    return TerminalTraits(reflows, osc, _notification(environ, program, inner=inner, osc=osc))


def _notification(environ: Mapping[str, str], program: str, *, inner: bool, osc: bool) -> Notification:
    if inner or not osc:
        # tmux and screen pass a bell on, and mark the window that rang.
        return "bell"
    if program in _OSC9_PROGRAMS or environ.get("KITTY_WINDOW_ID"):
        return "osc9"
    if environ.get("VTE_VERSION") or environ.get("TERM", "").startswith(("foot", "rxvt")):
        return "osc777"
    return "bell"
