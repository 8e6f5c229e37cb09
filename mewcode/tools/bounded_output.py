"""The output of a command within bounds: what the model reads, what is kept, what is shown meanwhile.

Bytes come in whatever pieces; what is made of them depends on the bytes alone. Memory stays bounded however
much comes.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Protocol

import msgspec

from mewcode.infra.terminal_text import StreamCleaner, safe_text

# Characters of one command's output that the model gets: about 8,000 tokens, half of them from each end.
OUTPUT_LIMIT = 30_000
# Bytes of one command's output that are kept to be looked up later, half of them from each end.
KEPT_LIMIT = 10_000_000
# Bytes kept of each end, before escape sequences and overwritten progress bars are taken out of them.
_RAW_PER_CHARACTER = 4
# Room for the line that says what was left out, and how it ends.
_NOTE_ROOM = 100
_NOTE_END = " ...]\n"
# A long output is cleaned in pieces of whole lines of about so many bytes, so that other threads get a turn.
_CLEANED_AT_ONCE = 1 << 16
# Seconds between two pieces of progress: faster than that nobody reads.
PROGRESS_INTERVAL = 0.05
# Bytes of progress kept between two pieces: a screen holds less.
_PROGRESS_LIMIT = 8_192


class Shown(msgspec.Struct, frozen=True):
    """An output as the model reads it: ``note`` is the line between head and tail that says what was left
    out; where it is empty, the head is all there is."""

    head: str
    note: str = ""
    tail: str = ""

    @property
    def text(self) -> str:
        return self.head + self.note + self.tail

    @property
    def said_at(self) -> int:
        """The place in the text, within the note, where more can be said of what was left out."""
        return len(self.head) + len(self.note) - len(_NOTE_END)


class BoundedOutput:
    """Keeps the head and the tail of a stream of bytes: at most 12 bytes for each character of ``limit``, or
    1.5 times ``kept`` bytes where that is more.

    ``total`` counts all bytes that came, ``lines`` their newlines.
    """

    def __init__(self, limit: int = OUTPUT_LIMIT, kept: int = 0) -> None:
        self.total = 0
        self.lines = 0
        self._limit = limit
        self._shown_room = limit * _RAW_PER_CHARACTER
        self._room = max(self._shown_room, kept // 2)
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        self.lines += data.count(b"\n")
        if len(self._head) < self._room:
            missing = self._room - len(self._head)
            self._head += data[:missing]
            data = data[missing:]
        self._tail += data
        if len(self._tail) > min(2 * self._room, self._room + KEPT_LIMIT // 4):
            del self._tail[: -self._room]

    def text(self) -> str:
        """The output cleaned (`infra.terminal_text.safe_text`), bytes that are no UTF-8 as ``\\xNN``.

        Where it is longer than the limit, head and tail with a line between them that says how much was
        left out; never longer than the limit.
        """
        return self.shown().text

    def shown(self) -> Shown:
        """As `text`, in its parts."""
        half = max(0, (self._limit - _NOTE_ROOM) // 2)
        room = self._shown_room
        if self.total <= 2 * room:
            whole = clean_bytes(bytes(self._head + self._tail))
            if len(whole) <= self._limit:
                return Shown(whole)
            head, tail = whole[:half], whole[len(whole) - half :]
        else:
            head = clean_bytes(_whole_characters(bytes(self._head[:room])))[:half]
            tail = clean_bytes(_from_line_start(self._last(room)))
            tail = tail[max(0, len(tail) - half) :]
        return self._with_note(_end_on_line(head), _begin_on_line(tail))

    def whole(self) -> str:
        """All that was kept, cleaned like `text`; where more came than that, with a line in the middle that
        says how much. Takes up to seconds for ten megabytes."""
        if self.total <= 2 * self._room:
            return _clean_lines(bytes(self._head + self._tail))
        head = _end_on_line(_clean_lines(_whole_characters(bytes(self._head))))
        return self._with_note(head, _clean_lines(_from_line_start(self._last(self._room)))).text

    def _last(self, count: int) -> bytes:
        missing = count - len(self._tail)
        return bytes((self._head[-missing:] if missing > 0 else b"") + self._tail[-count:])

    def _with_note(self, head: str, tail: str) -> Shown:
        lines = max(0, self.lines - head.count("\n") - tail.count("\n"))
        left_out = max(0, self.total - len(head.encode()) - len(tail.encode()))
        gap = "" if head.endswith("\n") or not head else "\n"
        return Shown(head + gap, f"[... {lines:,} lines, {left_out:,} bytes left out{_NOTE_END}", tail)


def clean_bytes(data: bytes) -> str:
    """Bytes as text that is safe to show and to send: invalid UTF-8 as ``\\xNN``, no control characters."""
    return safe_text(data.decode("utf-8", errors="backslashreplace"))


def _clean_lines(data: bytes) -> str:
    """As `clean_bytes`: no line has a part in how another one is cleaned."""
    pieces, start = [], 0
    while start < len(data):
        end = data.find(b"\n", start + _CLEANED_AT_ONCE) + 1 or len(data)
        pieces.append(clean_bytes(data[start:end]))
        start = end
    return "".join(pieces)


def complete_length(data: bytes) -> int:
    """How many of the bytes stand before a UTF-8 character that has begun but not ended."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            size = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if size > back else len(data)
    return len(data)


def _whole_characters(data: bytes) -> bytes:
    return data[: complete_length(data)]


def _from_line_start(data: bytes) -> bytes:
    """Without the rest of the line that the cut went through: it may begin within an escape sequence. A
    line longer than half of the data is kept, from its first whole character."""
    newline = data.find(b"\n", 0, len(data) // 2)
    if newline >= 0:
        return data[newline + 1 :]
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]


def _end_on_line(head: str) -> str:
    """The head up to its last line end, unless that would cost a quarter of it."""
    newline = head.rfind("\n", len(head) * 3 // 4)
    return head if newline < 0 else head[: newline + 1]


def _begin_on_line(tail: str) -> str:
    newline = tail.find("\n", 0, len(tail) // 4)
    return tail if newline < 0 else tail[newline + 1 :]


class RecentOutput:
    """The last ``limit`` bytes of a stream, for a reader that comes now and then (a background process)."""

    def __init__(self, limit: int = 1_000_000) -> None:
        self.total = 0
        self._limit = limit
        self._kept = bytearray()
        self._read = 0

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        self._kept += data
        if len(self._kept) > 2 * self._limit:
            del self._kept[: -self._limit]

    @property
    def unread(self) -> int:
        """Bytes that came since the last `take`, kept or not."""
        return self.total - self._read

    def take(self, *, final: bool, limit: int = OUTPUT_LIMIT) -> str:
        """What came since the last look, in the form and bounds of `BoundedOutput.text`."""
        lost, output = self.take_output(final=final, limit=limit)
        return lost + output.text()

    def take_output(self, *, final: bool, limit: int = OUTPUT_LIMIT) -> tuple[str, BoundedOutput]:
        """What came since the last look, behind a line that says what of it is gone (or is empty).

        A character of which only a part has come waits for the next look, unless this is the ``final`` one.
        """
        kept = bytes(self._kept[-min(self.unread, self._limit) :]) if self.unread else b""
        lost = self.unread - len(kept)
        whole = kept if final else kept[: complete_length(kept)]
        self._read = self.total - (len(kept) - len(whole))
        bounded = BoundedOutput(limit, kept=2 * len(whole))
        bounded.feed(_from_line_start(whole) if lost else whole)
        return f"[{lost:,} bytes of older output are gone]\n" if lost else "", bounded


class Timer(Protocol):
    """What a scheduler returns: `asyncio.TimerHandle` is one."""

    def cancel(self) -> None: ...


class LiveText:
    """Output as it comes, in pieces that are safe to show, at most one every ``PROGRESS_INTERVAL``.

    ``emit`` gets the pieces. ``clock`` gives seconds, ``call_later`` runs a function after so many of them
    (those of the event loop). When more comes than a screen could show, only the last 8 KB are passed on.
    """

    def __init__(
        self,
        emit: Callable[[str], None],
        clock: Callable[[], float],
        call_later: Callable[[float, Callable[[], None]], Timer],
    ) -> None:
        self._emit, self._clock, self._call_later = emit, clock, call_later
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._cleaner = StreamCleaner()
        self._waiting = bytearray()
        self._timer: Timer | None = None
        self._next = 0.0

    def feed(self, data: bytes) -> None:
        self._waiting += data
        if len(self._waiting) > 2 * _PROGRESS_LIMIT:
            # The line that is cut goes too: its rest may be the inside of an escape sequence.
            self._waiting[:] = b"\n" + _from_line_start(bytes(self._waiting[-_PROGRESS_LIMIT:]))
        if self._timer is not None:
            return
        wait = self._next - self._clock()
        if wait <= 0:
            self._pass_on()
        else:
            self._timer = self._call_later(wait, self._pass_on)

    def close(self) -> None:
        """Passes on what is left; nothing comes after."""
        if self._timer is not None:
            self._timer.cancel()
        self._pass_on(final=True)

    def _pass_on(self, *, final: bool = False) -> None:
        self._timer = None
        self._next = self._clock() + PROGRESS_INTERVAL
        text = self._cleaner.feed(self._decoder.decode(bytes(self._waiting), final))
        self._waiting.clear()
        if final:
            text += self._cleaner.finish()
        if text:
            self._emit(text)
