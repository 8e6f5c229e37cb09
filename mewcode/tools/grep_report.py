"""What a search found, as the model reads it: lines under the name of their file, bounded, and counted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from mewcode.tools.search import Records

DEFAULT_SHOWN = 250
# In characters: of a line, and of the whole answer.
_LINE_WIDTH = 500
_MOST_TEXT = 50_000
# Matches that are counted; a search for `e` ends here.
_COUNTED = 100_000

_NUMBERED = rb"(\d+)([:-])"


class GrepReport:
    """Takes the output of a search chunk by chunk. ``accept`` says which files (names relative to the folder
    searched) are wanted; ``display`` gives the name to show."""

    def __init__(self, mode: str, limit: int, display: Callable[[str], str]) -> None:
        self.accept: Callable[[str], bool] = lambda name: True
        self.files = 0
        self.matches = 0
        self._mode = mode
        self._limit = limit
        self._display = display
        self._records = Records(b"\0" if mode == "files" else b"\n")
        self._lines: list[str] = []
        self._size = 0
        self._shown_matches = 0
        self._shown_files = 0
        self._count_lines = 0
        self._name = b""
        self._wanted = False
        self._headed = False
        self._gap = False

    def feed(self, chunk: bytes) -> bool:
        """False once enough was seen and counted."""
        take = {"files": self._take_file, "count": self._take_count}.get(self._mode, self._take_line)
        for record in self._records.feed(chunk):
            take(record)
        return self.matches < _COUNTED and self.files < _COUNTED

    def text(self) -> str:
        """The answer, its last line saying what was left out."""
        body = "\n".join(self._lines)
        more = "+" if max(self.matches, self.files) >= _COUNTED else ""
        if self._mode == "content":
            left = self.matches - self._shown_matches
            cut = f"[{left:,}{more} more matching lines; {self._totals()}; narrow the pattern, path or glob]"
        else:
            left = self.files - self._shown_files
            cut = f"[{left:,}{more} more files; {self._totals()}; narrow the pattern, path or glob]"
        return f"{body}\n{cut}" if left > 0 else body

    def summary(self) -> str:
        """The counts, for the card."""
        return self._totals()

    def _totals(self) -> str:
        files = f"{self.files:,} file{'s' if self.files != 1 else ''}"
        if self._mode == "files":
            return files
        return f"{self.matches:,} match{'es' if self.matches != 1 else ''} in {files}"

    def _take_file(self, name: bytes) -> None:
        if name and self._is_wanted(name):
            self._shown_files += self._show(self._display(_decode(name)))

    def _take_count(self, record: bytes) -> None:
        name, separator, number = record.partition(b"\0")
        if separator and self._is_wanted(name):
            self.matches += int(number)
            self._shown_files += self._show(f"{self._display(_decode(name))}: {int(number)}")

    def _take_line(self, record: bytes) -> None:
        name, separator, rest = record.partition(b"\0")
        if not separator:  # "--" between places, or a word on a binary file
            self._gap = record.rstrip(b"\r") == b"--"
            return
        head = re.match(_NUMBERED, rest)
        if head is None or not self._is_wanted(name):
            return
        is_match = head[2] == b":"
        self.matches += is_match
        line = rest[head.end() :].removesuffix(b"\r").decode("utf-8", "replace").replace("\0", "\u2400")
        shown = line if len(line) <= _LINE_WIDTH else f"{line[:_LINE_WIDTH]}… [line cut]"
        if self._show_line(f"{head[1].decode()}{head[2].decode()}{shown}"):
            self._shown_matches += is_match

    def _show_line(self, line: str) -> bool:
        prefix: list[str] = []
        if not self._headed:
            prefix = [*([""] if self._lines else []), self._display(_decode(self._name))]
        elif self._gap:
            prefix = ["--"]
        self._gap = False
        if not self._show(line, prefix):
            return False
        self._headed = True
        return True

    def _show(self, line: str, prefix: list[str] | None = None) -> bool:
        if self._count_lines >= self._limit or self._size + len(line) > _MOST_TEXT:
            self._size = _MOST_TEXT  # what follows is left out as well, so that nothing is missing in between
            return False
        added = [*(prefix or []), line]
        self._lines += added
        self._count_lines += 1
        self._size += sum(len(text) + 1 for text in added)
        return True

    def _is_wanted(self, name: bytes) -> bool:
        if name != self._name:
            self._name = name
            self._headed = False
            self._wanted = self.accept(_decode(name))
            self.files += self._wanted
        return self._wanted


def _decode(name: bytes) -> str:
    return os.fsdecode(name.removeprefix(b"./"))
