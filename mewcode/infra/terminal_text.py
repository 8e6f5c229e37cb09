"""Text of unknown origin made safe to show: no escape sequence, no control character gets through.

Output of commands, file text and what a model wrote may hold sequences that move the cursor, set the title,
answer queries or write to the clipboard. The screen gets none of them.
"""

from __future__ import annotations

import re

# The patterns are kept as text: `re` compiles and caches them at their first use, which start-up never makes.
#
# ECMA-48: CSI; OSC/DCS/SOS/PM/APC strings up to BEL or ST; then two-byte escapes; also their C1 forms. A
# string that nothing ends stops at its line's end, lest one stray byte hides all that follows.
_STRING = r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*"
_ESCAPES = rf"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|{_STRING}(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?"
# The beginning of a sequence, at the end of a text: what follows decides what it is.
_UNFINISHED = rf"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|{_STRING}\x1b?|\x1b[ -/]*)\Z"
_HELD_LIMIT = 4096
# All of C0 but tab and newline, DEL, C1; and what reorders or hides text: bidi controls, BOM, tag characters.
_CONTROL_RANGES = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_CONTROLS = f"[{_CONTROL_RANGES}]"
# Text may rightly hold a zero-width space: it says where a line of Thai or Khmer may end. In a command or a
# change it makes two look the same that are not.
_HIDDEN = f"[{_CONTROL_RANGES}\u200b]"
# What redraws a line: cursor to its first column, erase to its end, erase all of it. They stand for one
# control character each while a line is worked out; the text's own of these are dropped before.
_ERASE_REST, _ERASE_LINE = "\x01", "\x02"
_REDRAWS = {"G": "\r", "0G": "\r", "1G": "\r", "K": _ERASE_REST, "0K": _ERASE_REST, "2K": _ERASE_LINE}
_DROPPED_FIRST = "[\x00\x01\x02]"
_REDRAWN = "[\r\b\x02]"
_STEPS = "([\r\b\x01\x02])"


def safe_text(text: str) -> str:
    """The text with escape sequences removed, lines that redraw themselves (``\\r``, backspace, erase in
    line) resolved to their last state as a terminal would, and other control characters left out.

    Lines are worked out one by one: the result for a text that ends in a newline does not depend on what
    follows it.
    """
    if not re.search(_CONTROLS, text):
        return text
    text = re.sub(_DROPPED_FIRST, "", text)
    text = re.sub(_ESCAPES, _redraw_step, text)
    text = re.sub("\r+\n", "\n", text)
    if re.search(_REDRAWN, text):
        text = "\n".join(_redraw(line) if re.search(_REDRAWN, line) else line for line in text.split("\n"))
    return re.sub(_CONTROLS, "", text)


def _redraw_step(match: re.Match[str]) -> str:
    sequence = match[0]
    if sequence.startswith("\x1b["):
        return _REDRAWS.get(sequence[2:], "")
    return _REDRAWS.get(sequence[1:], "") if sequence[0] == "\x9b" else ""


def _redraw(line: str) -> str:
    """The last state of a line, one cell a character; time grows with the line's length only."""
    cells: list[str] = []
    column = 0
    for step in re.split(_STEPS, line):
        if step == "\r":
            column = 0
        elif step == "\b":
            column = max(0, column - 1)
        elif step == _ERASE_REST:
            del cells[column:]
        elif step == _ERASE_LINE:
            # A terminal keeps the column; a program that erases draws from the first one all the same.
            cells.clear()
            column = 0
        else:
            step = re.sub(_CONTROLS, "", step)
            cells[column : column + len(step)] = step
            column += len(step)
    return "".join(cells)


class StreamCleaner:
    """`safe_text` for text that comes in pieces: what it returns holds no part of a sequence that is split
    between two of them. Keeps less than 5 KB, whatever comes.

    A line that redraws itself after some of it was returned begins anew on the next line.
    """

    def __init__(self) -> None:
        self._held = ""
        self._within_line = False

    def feed(self, text: str) -> str:
        """What can be shown by now."""
        text = self._held + re.sub(_DROPPED_FIRST, "", text)
        match = re.search(_UNFINISHED, text)
        cut = match.start() if match else len(text)
        # A last "\r" may be half of a line's end.
        cut = len(text[:cut].rstrip("\r"))
        held = text[cut:]
        # How a sequence began and what came last decide how it goes on; what is between does not matter.
        self._held = held if len(held) <= _HELD_LIMIT else held[:2] + held[-1]
        return self._clean(text[:cut])

    def finish(self) -> str:
        """What was held back: no more text comes."""
        held, self._held = self._held, ""
        return self._clean(held)

    def _clean(self, piece: str) -> str:
        shown = safe_text(piece)
        if not shown:
            return ""
        if self._within_line:
            first = re.sub(_ESCAPES, _redraw_step, piece.partition("\n")[0]).rstrip("\r")
            if re.search(_REDRAWN, first):
                shown = "\n" + shown
        self._within_line = not shown.endswith("\n")
        return shown


def visible_text(text: str) -> str:
    """The text with every control or hidden character spelt out (``\\x1b``, ``\\u202e``), none resolved.

    For what a person must judge as it is, such as a command that is about to run, or a change of a file:
    `safe_text` would hide what stands before a ``\\r``.
    """
    return re.sub(_HIDDEN, lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def safe_line(text: str, limit: int = 200) -> str:
    """`safe_text` on one line, at most ``limit`` characters, cut with an ellipsis."""
    line = " ".join(safe_text(text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
