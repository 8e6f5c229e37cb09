"""Whether the terminal's background is light: asked of the terminal itself, its answer kept from the keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Protocol

from mewcode.repl.terminal_traits import TerminalTraits

QUESTION = "\x1b]11;?\x1b\\"
"""OSC 11, xterm's control sequences: "change VT100 text background color"; with ``?`` it is reported."""

_BEGINNING = "\x1b]11;"
_ANSWER = re.compile(
    r"\x1b\]11;(?:rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]*|[^\x07\x1b]*)"
    r"(?:\x07|\x1b\\)"
)
_LONGEST = 64
# Rec. 601 luma, from where a background is rather light than dark.
_LIGHT = 0.5


def worth_asking(wanted: str, environ: Mapping[str, str], traits: TerminalTraits) -> bool:
    """Whether the theme depends on the answer, and the terminal is one that may be asked."""
    return wanted == "auto" and traits.osc and not environ.get("NO_COLOR") and not environ.get("COLORFGBG")


def is_light(red: str, green: str, blue: str) -> bool:
    """For the three parts as the terminal writes them: one to four hexadecimal digits each."""
    parts = [int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue)]
    return bool(0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2] > _LIGHT)


class Parser(Protocol):
    """What prompt-toolkit's input does with the text it reads."""

    def feed(self, data: str) -> None: ...

    def flush(self) -> None: ...

    def feed_and_flush(self, data: str) -> None: ...

    def reset(self, request: bool = False) -> None: ...


class AnswerFilter:
    """Stands in front of a terminal input's parser and takes the answer out; all else goes through, and at
    once, but for the beginning of what may be the answer: that waits for the parser's own time-out.

    ``tell`` is called once, with whether the background is light. After it nothing is looked at any more.
    """

    def __init__(self, parser: Parser, tell: Callable[[bool], None]) -> None:
        self._parser = parser
        self._tell: Callable[[bool], None] | None = tell
        self._held = ""

    def feed(self, data: str) -> None:
        if self._tell is None:
            self._parser.feed(data)
            return
        data, self._held = self._held + data, ""
        if match := _ANSWER.search(data):
            tell, self._tell = self._tell, None
            data = data[: match.start()] + data[match.end() :]
            if match[1]:
                tell(is_light(match[1], match[2], match[3]))
        else:
            cut = _beginning_of_answer(data)
            data, self._held = data[:cut], data[cut:]
        if data:
            self._parser.feed(data)

    def flush(self) -> None:
        held = self._held
        # Of what is no key for certain, the rest is still on its way.
        if held and not (held.startswith(_BEGINNING) and len(held) < _LONGEST):
            self._held = ""
            self._parser.feed(held)
        self._parser.flush()

    def feed_and_flush(self, data: str) -> None:
        self.feed(data)
        self.flush()

    def reset(self, request: bool = False) -> None:
        self._held = ""
        self._parser.reset(request)


def _beginning_of_answer(data: str) -> int:
    """Where the beginning of an answer stands at the text's end; its length where there is none."""
    start = data.rfind("\x1b")
    if data.endswith("\x1b") and (opened := data.rfind(_BEGINNING)) >= 0:
        start = opened  # the first half of the answer's end
    if start < 0:
        return len(data)
    tail = data[start:]
    begun = _BEGINNING.startswith(tail) or (tail.startswith(_BEGINNING) and len(tail) < _LONGEST)
    return start if begun else len(data)
