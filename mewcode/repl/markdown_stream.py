"""Markdown as it streams: finished blocks as ANSI text, the block in progress as lines to draw anew.

What a model writes is untrusted: control characters and escape sequences are removed by whole lines, so none
gets through in two halves, and a link shows where it leads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mewcode.infra.terminal_text import safe_text
from mewcode.repl.theme import Theme

if TYPE_CHECKING:
    from mewcode.repl.markdown_blocks import BlockReader

# Of a line that goes on and on, pieces of this many characters are taken without waiting for its end.
LONG_LINE = 2000
# A piece does not end within an escape sequence of up to this length.
_SEQUENCE = 256
_INTRODUCER = re.compile("[\x1b\x90\x98\x9b\x9d-\x9f]")
# The beginning of a line that may yet become any of several blocks: better not shown than shown wrong.
_UNDECIDED = re.compile(r"[ >]*(?:[-=*+_#`~|: ]*|[0-9]{1,9}[.)]?|(?:[-+*]|[0-9]{1,9}[.)]) \[[ xX]?\]?) *")
_FENCE_BEGUN = re.compile(r" *(?:`+|~+) *")


class MarkdownStream:
    """Renders one text for a terminal of ``width`` cells (below 2 counts as 2).

    The output of all `feed` calls and `finish` together is the same however the text is split, as long as the
    width stays. No line is wider than the width at the time, none ends in spaces but of code, and each sets
    and resets its own styles.
    """

    def __init__(self, width: int, theme: Theme) -> None:
        # Ten milliseconds of compiling expressions that no start waits for; import it ahead when idle.
        from mewcode.repl.markdown_blocks import BlockReader
        from mewcode.repl.styled_text import Painter

        self._reader: BlockReader = BlockReader(max(2, width), Painter(theme))
        self._tail = ""
        self._within_line = False

    def feed(self, text: str) -> str:
        """The next piece. Returns the text of what is final by now, each line with its end, often ""."""
        tail = self._tail + text
        if len(tail) <= LONG_LINE and "\n" not in text:
            self._tail = tail
            return ""
        whole, newline, tail = tail.rpartition("\n")
        if newline:
            clean = safe_text(whole) == whole
            for line in whole.split("\n"):
                self._whole_line(line, clean)
        self._tail = self._long_pieces(tail)
        return self._taken()

    def live(self, max_lines: int) -> list[str]:
        """The last ``max_lines`` lines of the block in progress, as it would be if the text ended here,
        except that marks left open count as closed. Costs by that block's size."""
        if max_lines <= 0 or (not self._tail and self._reader.idle):
            return []
        reader = self._reader.copy()
        reader.partial = True
        reader.last_rows = max_lines
        text = safe_text(self._tail)
        undecided = _FENCE_BEGUN if reader.in_code else _UNDECIDED
        if self._within_line:
            reader.more_of_line(text)
        elif text and not undecided.fullmatch(text):
            reader.line(text)
        reader.close()
        return reader.out[-max_lines:]

    def finish(self) -> str:
        """The text's end: returns the rest. The stream is then as new."""
        if self._tail or self._within_line:
            self._whole_line(self._tail, clean=False)
        self._reader.close()
        rest = self._taken()
        self._reader = self._reader.renewed()
        self._tail, self._within_line = "", False
        return rest

    def resize(self, width: int) -> None:
        """From now on lines are ``width`` cells wide; what was returned stays as it is."""
        self._reader.width = max(2, width)

    def _whole_line(self, line: str, clean: bool) -> None:
        line = self._long_pieces(line)
        if not clean:
            # With the line's end, since a "\r" before it is part of it.
            line = safe_text(line + "\n")[:-1]
        if self._within_line:
            self._within_line = False
            self._reader.more_of_line(line)
        else:
            self._reader.line(line)

    def _long_pieces(self, line: str) -> str:
        """Takes pieces off a very long line; the rest of it."""
        while len(line) > LONG_LINE:
            cut = LONG_LINE
            for match in _INTRODUCER.finditer(line, LONG_LINE - _SEQUENCE, LONG_LINE):
                cut = match.start()
            piece = safe_text(line[:cut])
            if self._within_line:
                self._reader.more_of_line(piece)
            else:
                self._reader.line(piece)
            self._within_line = True
            line = line[cut:]
        return line

    def _taken(self) -> str:
        lines = self._reader.out
        if not lines:
            return ""
        self._reader.out = []
        return "\n".join(lines) + "\n"
