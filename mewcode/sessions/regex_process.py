"""Looks for a regular expression in conversations: ``python -m mewcode.sessions.regex_process LIMIT``.

A process of its own, because Python's regular expressions can run for ever on a bad pattern and hold the
interpreter while they do; a process can be ended. Takes the pattern and the sessions' folders on stdin, each
ended by a NUL, and prints a JSON line for each message found: number of the folder, turn, role, ts, snippet,
start and end of the match in it.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from mewcode.core.codec import encode_json
from mewcode.infra.terminal_text import safe_text
from mewcode.sessions.catalog_fold import SessionState, fold_line
from mewcode.sessions.catalog_glance import lines_in, open_conversation

_MESSAGE_SECONDS = 0.3
"""One message may take so long: a pattern that explodes on one is still tried on the others."""
_AROUND = 400
"""Characters before and behind a match of which the snippet is made."""
_WIDTH = 160
"""Characters of a snippet."""


class _TooLong(Exception):
    pass


def main(arguments: list[str], stdin: BinaryIO, stdout: BinaryIO) -> int:
    """0 when all was looked through, 2 for a pattern that makes no sense."""
    left = int(arguments[0])
    first, *folders = stdin.read().split(b"\0")[:-1]
    try:
        pattern = _compile(first.decode("utf-8", "replace"))
    except (re.error, OverflowError, RecursionError, _TooLong) as error:
        sys.stderr.write(str(error) or "it takes too long to read")
        return 2
    for number, folder in enumerate(folders):
        for found in _search(Path(os.fsdecode(folder)), pattern):
            stdout.write(encode_json([number, *found]) + b"\n")
            stdout.flush()
            left -= 1
            if not left:
                return 0
    return 0


def _compile(text: str) -> re.Pattern[str]:
    """Capitals count where the pattern has any of its own."""
    bare = re.sub(r"\\.", "", text)
    flags = re.MULTILINE | (re.IGNORECASE if bare == bare.lower() else 0)
    with _time_limit():
        return re.compile(text, flags)


def _search(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[int, str, float, str, int, int]]:
    state = SessionState()
    seen: set[int] = set()

    def is_new(key: int) -> bool:
        known = key in seen
        seen.add(key)
        return not key or not known

    try:
        with open_conversation(folder) as stream:
            for line, _ in lines_in(stream):
                for message in fold_line(state, line, is_new):
                    text = safe_text(message.text)
                    place = _find(pattern, text)
                    if place is not None:
                        yield message.turn, message.role, message.ts, *_around(text, *place)
    except OSError:  # deleted or locked away meanwhile
        return


def _find(pattern: re.Pattern[str], text: str) -> tuple[int, int] | None:
    try:
        with _time_limit():
            match = pattern.search(text)
    except (_TooLong, RecursionError, MemoryError):
        return None
    return None if match is None else match.span()


def _around(text: str, start: int, end: int) -> tuple[str, int, int]:
    """A snippet of one line that shows a match, and where in it that begins and ends, as far as it is
    shown."""
    first, last = max(0, start - _AROUND), start + _AROUND
    before = _flat(text[first:start]).lstrip()
    matched = _joined(before, _flat(text[start : min(end, last)]))[:_WIDTH]
    behind = _joined(before + matched, _flat(text[min(end, last) : last])).rstrip()
    room = max(_WIDTH - len(matched) - min(len(behind), _WIDTH // 2), _WIDTH // 4)
    is_cut = first > 0 or len(before) > room
    if len(before) > room:
        before = before[-room:]
        # Not from within a word, where a blank is near.
        before = before[before.find(" ", 0, 20) + 1 :]
    rest = max(0, _WIDTH - len(before) - len(matched))
    is_open = last < len(text) or len(behind) > rest
    lead = f"…{before}" if is_cut else before
    shown = f"{lead}{matched}{behind[:rest]}".rstrip() + ("…" if is_open else "")
    return shown, min(len(lead), len(shown)), min(len(lead) + len(matched.rstrip()), len(shown))


def _joined(before: str, text: str) -> str:
    """The text as it stands behind another, with one blank between them at most."""
    return text.lstrip() if not before or before.endswith(" ") else text


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@contextmanager
def _time_limit() -> Iterator[None]:
    """Python's regular expressions look for signals now and then. Where the system has no timer, whoever
    started this process ends it."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGALRM, _stop_match)
    signal.setitimer(signal.ITIMER_REAL, _MESSAGE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _stop_match(_number: int, _frame: FrameType | None) -> None:
    raise _TooLong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.buffer, sys.stdout.buffer))
