"""One page of a text: numbered lines, bounded in lines, bytes and width, from a file of any size."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

import msgspec

from mewcode.tools.in_thread import Stop

# Lines of a call where the model names no limit, characters of a line, bytes of a call.
DEFAULT_LINES = 2000
LINE_WIDTH = 2000
PAGE_BYTES = 50_000

# What is kept of a line that is read in pieces: enough for `LINE_WIDTH` characters in any encoding.
_LINE_KEPT = LINE_WIDTH * 4


class Page(msgspec.Struct):
    """``first`` is the number of the first line shown. ``more`` tells that lines follow, ``total`` how many
    the file has (None: not counted), ``read`` the bytes up to the page's end where it was not counted.
    ``open_end``: the file's last line, shown here, has no line end."""

    first: int
    lines: list[str] = []
    more: bool = False
    total: int | None = None
    read: int = 0
    open_end: bool = False

    @property
    def next_line(self) -> int:
        return self.first + len(self.lines)


def cut_line(line: str, hidden: int = 0) -> str:
    """The line at most `LINE_WIDTH` characters wide; ``hidden`` counts what is already missing at its end."""
    hidden += max(len(line) - LINE_WIDTH, 0)
    return f"{line[:LINE_WIDTH]}… [{hidden:,} more characters in this line]" if hidden else line


def numbered(page: Page) -> str:
    """The lines as the model reads them. NUL, which not every server takes, becomes ␀."""
    shown = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(page.lines, start=page.first))
    return shown.replace("\0", "\u2400")


def page_of(text: str, offset: int, limit: int) -> Page:
    """The page of a text whose line ends are ``\\n``, from line ``offset`` (from 1)."""
    lines = text.split("\n")
    ended = lines[-1] == ""
    if ended:
        lines.pop()
    page = Page(first=offset, total=len(lines))
    size = 0
    for line in lines[offset - 1 : offset - 1 + limit]:
        shown = cut_line(line)
        size += len(shown.encode("utf-8", "surrogatepass")) + 8
        if size > PAGE_BYTES and page.lines:
            break
        page.lines.append(shown)
    page.more = page.next_line <= len(lines)
    page.open_end = not ended and not page.more and bool(page.lines)
    return page


def stream_page(chunks: Iterator[bytes], codec: str, offset: int, limit: int, stop: Stop) -> Page:
    """The page of a text too large to hold: reads to the page's end and no further, keeping only the page.
    Bytes that are not valid in ``codec`` show as U+FFFD."""
    if codec not in ("utf-8", "latin-1"):
        chunks = _as_utf8(chunks, codec)
        codec = "utf-8"
    collector = _Collector(offset, limit, lambda kept: kept.decode(codec, "replace"))
    for chunk in chunks:
        stop.check()
        if collector.feed(chunk):
            break
    else:
        collector.finish()
    return collector.page


def _as_utf8(chunks: Iterator[bytes], codec: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(codec)("replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", True).encode("utf-8", "replace")


class _Collector:
    """Takes a file chunk by chunk; skips to a line, then keeps lines until the page is full."""

    def __init__(self, offset: int, limit: int, decode: Callable[[bytes], str]) -> None:
        self.page = Page(first=offset)
        self._limit = limit
        self._decode = decode
        self._to_skip = offset - 1
        self._line = bytearray()
        self._length = 0
        self._size = 0

    def feed(self, chunk: bytes) -> bool:
        """True once the page is full; what follows need not be read."""
        start = 0
        if self._to_skip:
            ends = chunk.count(b"\n")
            if ends < self._to_skip:
                self._to_skip -= ends
                self.page.read += len(chunk)
                return False
            for _ in range(self._to_skip):
                start = chunk.index(b"\n", start) + 1
            self._to_skip = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._extend(chunk, start, end)
            if self._full():
                self.page.more = True
                self.page.read += start
                return True
            self._close()
            start = end + 1
        self._extend(chunk, start, len(chunk))
        if self._length and self._full():  # the next line may be gigabytes long: its beginning is enough
            self.page.more = True
            self.page.read += start
            return True
        self.page.read += len(chunk)
        return False

    def finish(self) -> None:
        """The file ended."""
        if self._length:
            if self._full():
                self.page.more = True
                return
            self._close()
            self.page.open_end = True
        if not self._to_skip:
            self.page.total = self.page.next_line - 1

    def _extend(self, chunk: bytes, start: int, end: int) -> None:
        room = _LINE_KEPT - len(self._line)
        if room > 0:
            self._line += chunk[start : min(end, start + room)]
        self._length += end - start

    def _shown(self) -> str:
        hidden = self._length - len(self._line)
        kept = bytes(self._line)
        if not hidden:
            kept = kept.removesuffix(b"\r")
        return cut_line(self._decode(kept), hidden)

    def _full(self) -> bool:
        if not self.page.lines:
            return False
        return (
            len(self.page.lines) >= self._limit or self._size + min(self._length, _LINE_KEPT) + 8 > PAGE_BYTES
        )

    def _close(self) -> None:
        self.page.lines.append(self._shown())
        self._size += min(self._length, _LINE_KEPT) + 8
        self._line.clear()
        self._length = 0
