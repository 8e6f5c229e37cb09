"""Identifiers that MewCode makes itself. A provider's own ids are untrusted text and never kept."""

from __future__ import annotations

import os

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def new_id(length: int = 12) -> str:
    """A random identifier of ASCII letters and digits; 12 of them carry about 71 bits."""
    # 248 is the largest multiple of 62 in a byte: what is above is drawn again, so no letter is favoured.
    letters: list[str] = []
    while len(letters) < length:
        letters += [_ALPHABET[byte % 62] for byte in os.urandom(length) if byte < 248]
    return "".join(letters[:length])


def new_call_id() -> str:
    """An id for a tool call: nine letters or digits.

    That form is accepted by every provider: Anthropic wants ``[A-Za-z0-9_-]+``, Mistral exactly nine
    alphanumerics, the others anything.
    """
    return new_id(9)
