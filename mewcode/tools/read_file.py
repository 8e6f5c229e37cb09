"""A file read for the model: a page of text, or a picture."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from mewcode.core.access import Access, ReadAccess
from mewcode.core.errors import ToolError
from mewcode.core.message import Image, Text
from mewcode.core.outcome import TextView, ToolOutcome
from mewcode.infra.terminal_text import safe_line
from mewcode.tools.base import Tool, ToolContext, ToolSession
from mewcode.tools.file_access import (
    explained,
    judged_path,
    missing,
    open_regular,
    read_up_to,
    resolve_path,
    show_path,
)
from mewcode.tools.in_thread import Stop, in_thread
from mewcode.tools.picture import LARGEST_BYTES, LARGEST_SIDE, Picture, picture_of
from mewcode.tools.text_file import BINARY_PROBE, byte_order_mark, is_binary, main_newline, plain_newlines
from mewcode.tools.text_page import DEFAULT_LINES, Page, numbered, page_of, stream_page

# A file up to this, in bytes, is read whole: its state is then known by a hash. A larger one is streamed.
_WHOLE = 10 * 1024 * 1024
_CHUNK = 1 << 18
# What an encoding is guessed from, in bytes; more takes long and tells little.
_GUESSED_FROM = 1 << 15

_ENDINGS = {"\r\n": "lines end in \\r\\n", "\r": "lines end in \\r"}


class ReadFileArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A file, and which of its lines, counted from 1 (0 is taken for 1)."""

    path: Annotated[str, Meta(description="The file, absolute or relative to the working folder.")]
    offset: Annotated[int, Meta(description="First line to read, counted from 1. Default: 1.", ge=0)] = 1
    limit: Annotated[int, Meta(description=f"Most lines to read. Default: {DEFAULT_LINES}.", ge=1)] = (
        DEFAULT_LINES
    )


class _Found(Struct, frozen=True):
    """``data`` is the whole file, None where it was too large to hold."""

    outcome: ToolOutcome
    status: os.stat_result
    data: bytes | None


class ReadFileTool(Tool[ReadFileArgs]):
    name = "read_file"
    read_only = True
    pages = True
    args_type = ReadFileArgs

    def accesses(self, args: ReadFileArgs, session: ToolSession) -> Sequence[Access]:
        return (ReadAccess(judged_path(session, args.path)),)

    def summary(self, args: ReadFileArgs, session: ToolSession) -> str:
        place = f":{args.offset}" if args.offset > 1 else ""
        return safe_line(show_path(session, args.path) + place)

    async def run(self, args: ReadFileArgs, context: ToolContext) -> ToolOutcome:
        """Reads a page. Raises `ToolError` for what is missing, no regular file, or cannot be shown."""
        session = context.session
        path = resolve_path(session, args.path, context.judged)
        found = await in_thread(lambda stop: _read(path, args, session, stop))
        session.reads.note(path, found.status, found.data)
        return found.outcome


def _read(path: Path, args: ReadFileArgs, session: ToolSession, stop: Stop) -> _Found:
    shown = session.display(path)
    try:
        with explained(shown), open_regular(path, shown) as (descriptor, status):
            head = read_up_to(descriptor, BINARY_PROBE)
            picture = picture_of(head)
            if picture is not None:
                data = head + read_up_to(descriptor, LARGEST_BYTES + 1 - len(head))
                return _Found(
                    _show_picture(picture, data, status.st_size, shown, session.vision), status, data
                )
            _refuse_unreadable(head, status.st_size, shown)
            data = head + read_up_to(descriptor, _WHOLE + 1 - len(head))
            if len(data) <= _WHOLE:
                return _Found(_show_text(data, args, shown), status, data)
            os.lseek(descriptor, 0, os.SEEK_SET)
            return _Found(_show_large(descriptor, head, status.st_size, args, shown, stop), status, None)
    except ToolError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise missing(session, path) from None
        raise


def _refuse_unreadable(head: bytes, size: int, shown: str) -> None:
    if head.startswith(b"%PDF-"):
        raise ToolError(
            f"{shown} is a PDF ({size:,} bytes), which read_file cannot read. "
            "Try `pdftotext FILE -` with bash, if it is installed."
        )
    if is_binary(head):
        raise ToolError(f"{shown} is binary ({size:,} bytes), not text. Use a command made for its format.")


def _show_picture(picture: Picture, data: bytes, size: int, shown: str, vision: bool) -> ToolOutcome:
    kind = picture.media_type.removeprefix("image/").upper()
    what = (
        f"{kind} picture, {picture.width} x {picture.height} pixels" if picture.width else f"{kind} picture"
    )
    if not vision:
        raise ToolError(f"{shown} is a {what}; the current model takes no pictures.")
    if len(data) > LARGEST_BYTES:
        raise ToolError(
            f"{shown} is a {what} of {size:,} bytes; at most {LARGEST_BYTES:,} can be sent. "
            "Make a smaller copy with a command and read that."
        )
    if max(picture.width, picture.height) > LARGEST_SIDE:
        raise ToolError(
            f"{shown} is a {what}; a side may have at most {LARGEST_SIDE:,}. "
            "Make a smaller copy with a command and read that."
        )
    import base64  # only for pictures

    image = Image(picture.media_type, base64.b64encode(data).decode("ascii"))
    return ToolOutcome((Text(f"{shown}: {what}, {len(data):,} bytes."), image), TextView(what))


def _show_text(data: bytes, args: ReadFileArgs, shown: str) -> ToolOutcome:
    if not data:
        return ToolOutcome.text(f"{shown} is empty.", TextView("empty"))
    text, notes = _decode(data)
    double, ends = text.count("\r\n"), text.count("\n")
    if 0 < double < ends:
        notes.append(f"line endings are mixed: {double:,} of {ends:,} are \\r\\n")
    elif main_newline(text) != "\n":
        notes.append(_ENDINGS[main_newline(text)])
    return _outcome(
        page_of(plain_newlines(text), max(args.offset, 1), args.limit), notes, args, shown, len(data)
    )


def _show_large(
    descriptor: int, head: bytes, size: int, args: ReadFileArgs, shown: str, stop: Stop
) -> ToolOutcome:
    bom, codec = byte_order_mark(head)
    notes = [f"{codec.upper()} with byte order mark"] if bom else []
    if b"\r\n" in head:
        notes.append(_ENDINGS["\r\n"])
    os.lseek(descriptor, len(bom), os.SEEK_SET)
    page = stream_page(_chunks(descriptor), codec, max(args.offset, 1), args.limit, stop)
    return _outcome(page, notes, args, shown, size)


def _chunks(descriptor: int) -> Iterator[bytes]:
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk


def _decode(data: bytes) -> tuple[str, list[str]]:
    """The text for reading, and what is to be said of its encoding."""
    bom, codec = byte_order_mark(data)
    body = data[len(bom) :]
    try:
        return body.decode(codec), [f"{codec.upper()} with byte order mark"] if bom else []
    except UnicodeDecodeError as error:
        if bom:
            return body.decode(codec, "replace"), [
                f"damaged {codec.upper()}, not valid from byte {error.start}"
            ]
    codec = _guess(data)
    note = f"not UTF-8: read as {codec}, which is a guess; edit_file cannot change it"
    return data.decode(codec, "replace"), [note]


def _guess(data: bytes) -> str:
    from charset_normalizer import from_bytes  # 20 ms to import, for files in old encodings alone

    sample = data[:_GUESSED_FROM]
    best = from_bytes(sample[: sample.rfind(b"\n") + 1] or sample).best()
    # Latin-1 gives every byte a character, so something is always shown.
    return best.encoding if best is not None and best.encoding != "ascii" else "latin-1"


def _outcome(page: Page, notes: list[str], args: ReadFileArgs, shown: str, size: int) -> ToolOutcome:
    if not page.lines:
        total = "" if page.total is None else f" The file has {page.total:,} lines."
        raise ToolError(f"{shown} has no line {args.offset:,}.{total}")
    parts = [f"[{'; '.join(notes)}]"] if notes else []
    parts.append(numbered(page))
    if page.more:
        left = (
            f" of {page.total:,}"
            if page.total is not None
            else f"; about {(size - page.read) >> 20:,} MB follow"
        )
        parts.append(f"[lines {page.first}-{page.next_line - 1}{left}; go on with offset={page.next_line}]")
    elif page.open_end:
        parts.append("[the last line has no line end]")
    count = len(page.lines)
    return ToolOutcome.text("\n".join(parts), TextView(f"{count:,} line{'s' if count != 1 else ''}"))
