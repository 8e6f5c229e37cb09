"""What is run in place of ripgrep where there is none: ``python -m mewcode.tools.search_process``.

A process of its own, because Python's regular expressions can run for ever on a bad pattern and hold the
interpreter while they do. Takes a `Search` as JSON on stdin, prints what ``rg --null`` would:
``path NUL line-number (:|-) text`` for content, ``path NUL`` for files, ``path NUL count`` for counts.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from mewcode.tools.gitignore import walk
from mewcode.tools.search import Search
from mewcode.tools.text_file import byte_order_mark

# A larger file is left out, in bytes: it would have to be held whole.
_LARGEST = 50 * 1024 * 1024
_SEPARATOR = b"--\n"


def main(stdin: BinaryIO, stdout: BinaryIO) -> int:
    """0 where something was found, 1 where nothing was, 2 for a pattern that makes no sense."""
    request = msgspec.json.decode(stdin.read(), type=Search)
    names = [request.target] if request.target else walk(Path(request.base), hidden=request.hidden)
    if request.pattern is None:
        return 0 if _write(stdout, (os.fsencode(name) + b"\0" for name in names)) else 1
    flags = (
        re.MULTILINE | (re.IGNORECASE if request.ignore_case else 0) | (re.DOTALL if request.multiline else 0)
    )
    try:
        pattern = re.compile(request.pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return 2
    return 0 if _write(stdout, _search(names, pattern, request)) else 1


def _write(stdout: BinaryIO, pieces: Iterable[bytes]) -> bool:
    written = False
    for piece in pieces:
        stdout.write(piece)
        written = True
    stdout.flush()
    return written


def _search(names: Iterable[str], pattern: re.Pattern[str], request: Search) -> Iterator[bytes]:
    any_before = False
    for name in names:
        text = _text_of(os.path.join(request.base, name))
        if text is None:
            continue
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        spans = list(_matches(pattern, text, lines, request.multiline))
        if not spans:
            continue
        label = os.fsencode(name) + b"\0"
        if request.mode == "files":
            yield label
        elif request.mode == "count":
            yield label + b"%d\n" % len(spans)
        else:
            if any_before and request.context:
                yield _SEPARATOR
            any_before = True
            yield from _lines_out(label, lines, spans, request.context)


def _text_of(path: str) -> str | None:
    """The text with ``\\n``; None for what is binary, too large or not to be read."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError:
        return None
    mark, codec = byte_order_mark(data)
    if len(data) > _LARGEST or (codec == "utf-8" and b"\0" in data):
        return None
    # For showing only: nothing is written back.
    return data[len(mark) :].decode(codec, "replace").replace("\r\n", "\n")


def _matches(
    pattern: re.Pattern[str], text: str, lines: list[str], multiline: bool
) -> Iterator[tuple[int, int]]:
    """First and last line (from 0) of each match; without ``multiline`` each line by itself."""
    if not multiline:
        yield from ((number, number) for number, line in enumerate(lines) if pattern.search(line))
        return
    line, done = 0, 0
    for match in pattern.finditer(text):
        if match.start() == match.end() == len(text) and text.endswith("\n"):
            continue
        line += text.count("\n", done, match.start())
        done = match.start()
        yield line, line + text.count("\n", match.start(), max(match.end() - 1, match.start()))


def _lines_out(label: bytes, lines: list[str], spans: list[tuple[int, int]], context: int) -> Iterator[bytes]:
    matched = {number for first, last in spans for number in range(first, last + 1)}
    wanted = {
        number
        for first, last in spans
        for number in range(max(first - context, 0), min(last + context + 1, len(lines)))
    }
    before = None
    for number in sorted(wanted):
        if context and before is not None and number > before + 1:
            yield _SEPARATOR
        before = number
        mark = b":" if number in matched else b"-"
        yield label + b"%d" % (number + 1) + mark + lines[number].encode("utf-8", "replace") + b"\n"


if __name__ == "__main__":
    sys.exit(main(sys.stdin.buffer, sys.stdout.buffer))
