"""Tool results too long for a conversation: all of the text goes into a file, the model reads both its ends.

What stands in the conversation is what is sent and archived, so a replay is the same to the byte.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from mewcode.core.codec import clean_text
from mewcode.core.message import Image, Text
from mewcode.core.outcome import TextView, ToolOutcome
from mewcode.tools.text_page import LINE_WIDTH

LIMIT = 50_000
"""Bytes of text, in UTF-8, that a result may have without being put aside."""
STEP_LIMIT = 200_000
"""The same for all results of one answer together. The pages of a file count here as well: each can be had
again."""
SHOWN = 4_000
"""Bytes that are shown of each end of one that has more."""

Keep = Callable[[str, str], Path | None]


class StepRoom:
    """What the results of one answer may take of the conversation."""

    def __init__(self) -> None:
        self._left = STEP_LIMIT

    def has_for(self, outcome: ToolOutcome, *, pages: bool) -> bool:
        """Whether the result may stand as it is. ``pages``: it is a page of what stands in a file anyway."""
        size = text_size(outcome)
        if pages:
            return size <= max(self._left, 2 * SHOWN)
        return outcome.whole is None and size <= min(LIMIT, max(self._left, 2 * SHOWN))

    def take(self, outcome: ToolOutcome) -> None:
        """The result stands in the conversation."""
        self._left -= text_size(outcome)


def text_size(outcome: ToolOutcome) -> int:
    """Bytes of the result's text in UTF-8."""
    return sum(_size(part.text) for part in outcome.content if isinstance(part, Text))


def put_aside(outcome: ToolOutcome, call_id: str, keep: Keep) -> ToolOutcome:
    """The result as it goes into the conversation: its whole text given to ``keep`` (see
    `agent.ports.Archive.keep_result`), its pictures as they are. Takes as long as a disk does."""
    text = _text_of(outcome)
    whole = outcome.whole.text if outcome.whole is not None else text
    path = keep(call_id, whole)
    where = _where(path, whole)
    if outcome.whole is not None and _size(text) <= LIMIT:
        place = outcome.whole.said_at
        shown = text[:place] + where + text[place:]
    else:
        shown = both_ends(text, whole, where)
    first, view = True, outcome.view
    content: list[Text | Image] = []
    for part in outcome.content:
        if isinstance(part, Image):
            content.append(part)
        elif first:
            content.append(Text(shown))
            first = False
    if view is None and not outcome.is_error:
        lines = whole.count("\n") + (not whole.endswith("\n"))
        view = TextView(f"{lines:,} lines, {_size(whole):,} bytes: the model sees both ends")
    return msgspec.structs.replace(outcome, content=tuple(content), view=view, whole=None)


def both_ends(text: str, whole: str, where: str) -> str:
    """Head and tail of ``text``, between them a line on what is left out of ``whole`` and ``where`` it is."""
    head, tail = _head(text), _tail(text)
    lines = max(0, whole.count("\n") - head.count("\n") - tail.count("\n"))
    left_out = max(0, _size(whole) - _size(head) - _size(tail))
    gap = "" if head.endswith("\n") else "\n"
    return f"{head}{gap}[... {lines:,} lines, {left_out:,} bytes left out{where} ...]\n{tail}"


def _where(path: Path | None, whole: str) -> str:
    if path is None:
        return "; the whole text could not be kept"
    note = f". The whole text is in {path}: read_file with offset and limit pages through it"
    if _has_long_line(whole):
        note += f"; lines of more than {LINE_WIDTH:,} characters, which it cuts, can be had with cut -c"
    return note


def _has_long_line(text: str) -> bool:
    """Whether `read_file` would cut a line. Looks at one line end in each stretch of that width, no more."""
    start = 0
    while start + LINE_WIDTH < len(text):
        newline = text.rfind("\n", start, start + LINE_WIDTH + 1)
        if newline < 0:
            return True
        start = newline + 1
    return False


def _text_of(outcome: ToolOutcome) -> str:
    return clean_text("\n".join(part.text for part in outcome.content if isinstance(part, Text)))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _head(text: str) -> str:
    """At most `SHOWN` bytes, to the end of a line unless that would cost half of them."""
    head = text[:SHOWN].encode()[:SHOWN].decode("utf-8", "ignore")
    newline = head.rfind("\n", len(head) // 2)
    return head if newline < 0 else head[: newline + 1]


def _tail(text: str) -> str:
    tail = text[-SHOWN:].encode()[-SHOWN:].decode("utf-8", "ignore")
    newline = tail.find("\n", 0, len(tail) // 2)
    return tail if newline < 0 else tail[newline + 1 :]
