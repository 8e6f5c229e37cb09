"""Texts and messages made shorter, with both their ends kept and a word on what is missing."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mewcode.core.message import ContentBlock, Image, Message, Text, ToolResult, text_of

_HEAD = 0.6
"""The share of the beginning: it says what a text is."""
_NOTE = 50
"""Characters of the note on what is left out."""
_ROUNDS = 12


def both_ends(text: str, characters: int) -> str:
    """The text, of at most so many characters (and not below 120): its beginning and its end, cut at a line's
    end where one is near."""
    most = max(characters, 120)
    if len(text) <= most:
        return text
    room = most - _NOTE
    begin = int(room * _HEAD)
    end = len(text) - (room - begin)
    newline = text.rfind("\n", begin // 2, begin)
    begin = newline + 1 if newline >= 0 else begin
    newline = text.find("\n", end, end + (len(text) - end) // 2)
    end = newline + 1 if newline >= 0 else end
    gap = "" if text[:begin].endswith("\n") else "\n"
    return f"{text[:begin]}{gap}[... {end - begin:,} characters left out ...]\n{text[end:]}"


def shortened(message: Message, size: Callable[[Message], int], tokens: int) -> Message | None:
    """The message with its results and texts cut so that it has at most so many tokens, pictures left
    out; None where that is not to be had. An assistant's message is not cut."""
    if size(message) <= tokens:
        return message
    if message.role == "assistant":
        return None
    characters = _characters(message)
    for _ in range(_ROUNDS):
        characters = min(
            characters - 1, int(characters * 0.9 * tokens / max(1, size(_cut(message, characters))))
        )
        if characters < 120:
            characters = 120
        cut = _cut(message, characters)
        if size(cut) <= tokens:
            return cut
        if characters == 120:
            return None
    return None


def _characters(message: Message) -> int:
    """Of its longest block."""
    return max(map(_length, message.content), default=0)


def _length(block: ContentBlock) -> int:
    if isinstance(block, Text):
        return len(block.text)
    return len(text_of(block.content)) if isinstance(block, ToolResult) else 0


def _cut(message: Message, characters: int) -> Message:
    return msgspec.structs.replace(message, content=tuple(_cut_block(b, characters) for b in message.content))


def _cut_block(block: ContentBlock, characters: int) -> ContentBlock:
    if isinstance(block, Text):
        return Text(both_ends(block.text, characters))
    if isinstance(block, Image):
        return Text("[image]")
    if isinstance(block, ToolResult):
        return msgspec.structs.replace(block, content=(Text(both_ends(text_of(block.content), characters)),))
    return block
