"""A text file as bytes and as text, so that what is not edited keeps every byte."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import msgspec

from mewcode.core.errors import ToolError
from mewcode.tools.file_access import explained, open_regular, read_up_to

# The longest file that is edited or written over, in bytes; it is held in memory several times.
EDIT_LIMIT = 50 * 1024 * 1024
# How far binary data is looked for, in bytes; git looks as far.
BINARY_PROBE = 8000

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def byte_order_mark(data: bytes) -> tuple[bytes, str]:
    """The mark that ``data`` begins with and the encoding it stands for; no mark means UTF-8."""
    return next(((mark, codec) for mark, codec in _MARKS if data.startswith(mark)), (b"", "utf-8"))


def is_binary(data: bytes) -> bool:
    """Whether data without a UTF-16 or UTF-32 mark holds a NUL near its beginning."""
    return byte_order_mark(data)[1] == "utf-8" and b"\0" in data[:BINARY_PROBE]


class TextFile(msgspec.Struct, frozen=True):
    """``data`` is the file, ``text`` its text with the line endings that stand there, without the mark
    ``bom``; ``status`` is the file's state when it was read."""

    path: Path
    data: bytes
    status: os.stat_result
    text: str
    bom: bytes
    codec: str

    def encode(self, text: str) -> bytes:
        """``text`` as this file would hold it. Raises `ToolError` where it cannot be written."""
        return self.bom + encode_text(text, self.codec)

    @property
    def newline(self) -> str:
        """The ending that most lines have; ``\\n`` where there is none."""
        return main_newline(self.text)


def main_newline(text: str) -> str:
    """The ending that most lines of ``text`` have. A lone ``\\r`` counts only where there is no ``\\n``."""
    lines = text.count("\n")
    if not lines:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if text.count("\r\n") * 2 > lines else "\n"


def plain_newlines(text: str) -> str:
    """``text`` with each line ending as ``\\n``; a lone ``\\r`` is one only where there is no ``\\n``."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")


def encode_text(text: str, codec: str = "utf-8") -> bytes:
    """Raises `ToolError` for half characters (lone surrogates), which no encoding can write."""
    try:
        return text.encode(codec)
    except UnicodeEncodeError as error:
        raise ToolError(
            f"The text holds half a character (U+{ord(text[error.start]):04X}) at position {error.start}; "
            "send the whole character."
        ) from error


def load_text_file(path: Path, shown: str) -> TextFile:
    """Reads a resolved path as text that can be written back. Raises `ToolError` for what is no regular
    file, longer than `EDIT_LIMIT`, binary, or not valid in its encoding; FileNotFoundError as it is."""
    try:
        with explained(shown), open_regular(path, shown) as (descriptor, status):
            data = read_up_to(descriptor, EDIT_LIMIT + 1)
    except ToolError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise error.__cause__ from None
        raise
    if len(data) > EDIT_LIMIT:
        raise ToolError(f"{shown} is longer than {EDIT_LIMIT >> 20} MB; change it with a command instead.")
    bom, codec = byte_order_mark(data)
    if is_binary(data):
        raise ToolError(f"{shown} is binary ({len(data):,} bytes), not text; it is left as it is.")
    try:
        text = data[len(bom) :].decode(codec)
    except UnicodeDecodeError as error:
        raise ToolError(
            f"{shown} is not valid {codec.upper()} (byte {error.start + len(bom)}), so a change could damage "
            "it; it is left as it is. Convert it first, or change it with a command that knows its encoding."
        ) from error
    return TextFile(path, data, status, text, bom, codec)
