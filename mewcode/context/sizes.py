"""What the size of a text depends on, counted once: a model's tokens are a weighted sum of it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mewcode.core.codec import encode_json
from mewcode.core.message import ContentBlock, Image, Message, Text, Thinking, ToolCall
from mewcode.core.tool_spec import ToolSpec

_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BLANKS = b" \t\n\r"
_DIGITS = b"0123456789"
_TWO_BYTES = 2
"""Letters that one of two bytes (Greek, Cyrillic, accents) counts for: what tokenizers make of those."""
_BLANKS_OF_A_LETTER = 16
"""A blank goes with the word behind it and costs nothing; a long run of them costs a little."""


class Size(msgspec.Struct, frozen=True):
    """Characters by what they cost: ``letters`` of alphabets, ``digits``, ``signs`` (punctuation), ``wide``
    (Chinese, Japanese, Korean, emoji); ``messages`` and ``images`` by number."""

    letters: int = 0
    digits: int = 0
    signs: int = 0
    wide: int = 0
    messages: int = 0
    images: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(
            self.letters + other.letters,
            self.digits + other.digits,
            self.signs + other.signs,
            self.wide + other.wide,
            self.messages + other.messages,
            self.images + other.images,
        )


def size_of_text(text: str) -> Size:
    """The size of a text; takes a few microseconds for a thousand characters."""
    if text.isascii():
        return _of_ascii(text.encode())
    plain = text.encode("ascii", "ignore")
    characters = len(text) - len(plain)
    beyond = len(text.encode("utf-8", "surrogatepass")) - len(plain)
    # So many of three bytes among them, the others of two; one of four bytes counts for two of three.
    wide = max(0, beyond - 2 * characters)
    return _of_ascii(plain) + Size(letters=_TWO_BYTES * max(0, characters - wide), wide=wide)


def _of_ascii(text: bytes) -> Size:
    rest = text.translate(None, _LETTERS)
    marks = rest.translate(None, _BLANKS)
    signs = len(marks.translate(None, _DIGITS))
    letters = len(text) - len(rest) + (len(rest) - len(marks)) // _BLANKS_OF_A_LETTER
    return Size(letters, len(marks) - signs, signs)


def size_of_message(message: Message, *, thinking: bool = True) -> Size:
    """The size of a message; without ``thinking``, of what it says."""
    return sum((size_of_block(block, thinking) for block in message.content), Size(messages=1))


def size_of_fixed(system: Iterable[str], tools: Iterable[ToolSpec]) -> Size:
    """The size of what stands before the messages."""
    return sum(map(size_of_tool, tools), sum(map(size_of_text, system), Size()))


def size_of_tool(tool: ToolSpec) -> Size:
    """The size of a tool as a model is told of it."""
    return (
        size_of_text(tool.name)
        + size_of_text(tool.description)
        + size_of_text(encode_json(tool.input_schema).decode())
        + Size(messages=1)
    )


def size_of_block(block: ContentBlock, thinking: bool = True) -> Size:
    """The size of a block, without that of its message."""
    if isinstance(block, Text):
        return size_of_text(block.text)
    if isinstance(block, Thinking):
        return size_of_text(block.text) if thinking else Size()
    if isinstance(block, Image):
        return Size(images=1)
    if isinstance(block, ToolCall):
        return size_of_text(block.name) + size_of_text(encode_json(block.args).decode()) + Size(messages=1)
    return sum((size_of_block(part, thinking) for part in block.content), Size())
