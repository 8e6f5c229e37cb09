"""Pictures by their first bytes: kind and size, without decoding them."""

from __future__ import annotations

import msgspec

# What Anthropic takes: 5 MB once in base64, which makes four bytes of three, and 8,000 pixels on a side
# (docs: "Vision", limits of the Messages API). OpenAI takes more.
LARGEST_BYTES = 5 * 1024 * 1024 * 3 // 4
LARGEST_SIDE = 8000


class Picture(msgspec.Struct, frozen=True):
    """``width`` and ``height`` in pixels; 0 where the header does not tell."""

    media_type: str
    width: int
    height: int


def picture_of(data: bytes) -> Picture | None:
    """What picture ``data`` begins, None where it is none that models take."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return Picture("image/png", int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return Picture("image/gif", int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return Picture("image/webp", *_webp_size(data))
    if data.startswith(b"\xff\xd8\xff"):
        return Picture("image/jpeg", *_jpeg_size(data))
    return None


def _webp_size(data: bytes) -> tuple[int, int]:
    """From the first chunk: lossy (VP8), lossless (VP8L) or extended (VP8X)."""
    match data[12:16]:
        case b"VP8 ":
            return (
                int.from_bytes(data[26:28], "little") & 0x3FFF,
                int.from_bytes(data[28:30], "little") & 0x3FFF,
            )
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return 0, 0


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """From the start-of-frame segment, C0 to CF without C4, C8 and CC."""
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF:  # padding
            position += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return (
                int.from_bytes(data[position + 7 : position + 9], "big"),
                int.from_bytes(data[position + 5 : position + 7], "big"),
            )
        position += 2 + int.from_bytes(data[position + 2 : position + 4], "big")
    return 0, 0
