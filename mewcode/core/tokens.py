"""How many tokens a text will be, estimated: close enough to tell whether a conversation fits a window.

About 4 characters a token for Latin text and code, about 1 for Chinese, Japanese and Korean: what tokenizers
of the large services were seen to do on mixed text.
"""

from __future__ import annotations

from mewcode.core.codec import encode_json
from mewcode.core.message import ContentBlock, Image, Message, Text, Thinking, ToolCall

_LATIN = 4
"""Characters of a token."""
_IMAGE = 1_600
"""Tokens of a picture of the size that services scale to."""
_BESIDE = 8
"""Tokens around a message: its role, its separators."""


def text_tokens(text: str) -> int:
    """Tokens of a text."""
    length = len(text)
    if text.isascii():
        return -(-length // _LATIN)
    beyond = (len(text.encode("utf-8", "surrogatepass")) - length) // 2  # of three bytes each
    beyond = min(beyond, length)
    return beyond + -(-(length - beyond) // _LATIN)


def message_tokens(message: Message) -> int:
    """Tokens of a message."""
    return _BESIDE + sum(map(_block_tokens, message.content))


def _block_tokens(block: ContentBlock) -> int:
    if isinstance(block, Text | Thinking):
        return text_tokens(block.text)
    if isinstance(block, Image):
        return _IMAGE
    if isinstance(block, ToolCall):
        return text_tokens(block.name) + text_tokens(encode_json(block.args).decode())
    return sum(map(_block_tokens, block.content))
