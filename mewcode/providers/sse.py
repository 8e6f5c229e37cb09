"""Server-sent events out of bytes, whatever way the bytes are cut."""

from __future__ import annotations

from collections.abc import Iterator

from mewcode.providers.base import ServerEvent

# No event of the two protocols comes near this; a server that floods one line is not believed.
MAX_EVENT_BYTES = 64 * 1024 * 1024


class SseDecoder:
    """Feed it chunks, take events. Lines end at CR LF, LF or CR, as the HTML standard says; only bytes are
    looked at, so a character cut in two does no harm."""

    def __init__(self) -> None:
        # Pieces of a line that has not ended: joined once, when it does.
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that ``chunk`` completes. Raises ValueError when one exceeds `MAX_EVENT_BYTES`."""
        if not chunk:
            return
        halved = bool(self._pieces) and self._pieces[-1].endswith(b"\r")
        self._pieces.append(chunk)
        self._waiting += len(chunk)
        if halved or b"\n" in chunk or b"\r" in chunk:
            yield from self._lines(b"".join(self._pieces))
        if self._waiting + self._size > MAX_EVENT_BYTES:
            raise ValueError("the server sent an endless event")

    def _lines(self, data: bytes) -> Iterator[ServerEvent]:
        held = b""
        if b"\r" in data:
            # A CR at the very end may be half of a CR LF: it waits for the next chunk.
            held = b"\r" if data.endswith(b"\r") else b""
            data = data[: len(data) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = data.split(b"\n")
        rest += held
        self._pieces, self._waiting = [rest] if rest else [], len(rest)
        for line in lines:
            if line:
                self._take(line)
            else:
                yield from self._event()

    def finish(self) -> Iterator[ServerEvent]:
        """What is complete in all but its blank line when the body ends."""
        if line := b"".join(self._pieces).rstrip(b"\r"):
            self._take(line)
        self._pieces, self._waiting = [], 0
        yield from self._event()

    def _take(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif field == b"event":
            self._name = value.decode("utf-8", "backslashreplace")

    def _event(self) -> Iterator[ServerEvent]:
        """The event that a blank line ends; without data it is none, as the standard says."""
        name, data = self._name, b"\n".join(self._data)
        self._name, self._data, self._size = "", [], 0
        if data:
            yield ServerEvent(name, data)
