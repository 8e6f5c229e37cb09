"""Wildcards within one word or one part of a path. Matching takes time linear in text times pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

# `*`: any run of characters. The other wildcards stand for one character each.
_ANY_RUN = None


class CharClass(msgspec.Struct, frozen=True):
    """``[a-z_]`` or ``[!a-z_]``: one character in (or not in) these inclusive ranges."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False

    def __call__(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges) != self.negated


_Token = str | CharClass | None


class Glob(msgspec.Struct, frozen=True):
    """A compiled pattern. ``tokens``: a character, a `CharClass`, or None for any run of characters."""

    tokens: tuple[_Token, ...]

    @property
    def literal(self) -> str | None:
        """The text that alone matches, where the pattern has no wildcard."""
        chars = [token for token in self.tokens if isinstance(token, str)]
        return "".join(chars) if len(chars) == len(self.tokens) else None

    @property
    def prefix(self) -> str:
        """What stands before the first wildcard."""
        chars: list[str] = []
        for token in self.tokens:
            if not isinstance(token, str):
                break
            chars.append(token)
        return "".join(chars)

    def matches(self, text: str, fold: Callable[[str], str] | None = None) -> bool:
        """Whether the whole of ``text`` matches; ``fold`` is applied to both sides (str.casefold)."""
        if fold is not None:
            text = fold(text)
            tokens = tuple(part for token in self.tokens for part in _folded(token, fold))
        else:
            tokens = self.tokens
        return _matches(tokens, text)


def _folded(token: _Token, fold: Callable[[str], str]) -> Iterable[_Token]:
    if isinstance(token, str):
        return fold(token)
    if isinstance(token, CharClass) and not token.negated:
        both = {(fold(low), fold(high)) for low, high in token.ranges} | set(token.ranges)
        return (CharClass(tuple(sorted(both))),)
    return (token,)


def _matches(tokens: tuple[_Token, ...], text: str) -> bool:
    # The usual two pointers: on a mismatch, the last run takes one character more.
    at, here, star, resume = 0, 0, -1, 0
    while here < len(text):
        token = tokens[at] if at < len(tokens) else ""
        if token is _ANY_RUN:
            star, resume = at, here
            at += 1
        elif token == text[here] or (isinstance(token, CharClass) and token(text[here])):
            at, here = at + 1, here + 1
        elif star >= 0:
            resume += 1
            at, here = star + 1, resume
        else:
            return False
    return all(token is _ANY_RUN for token in tokens[at:])


def word_glob(chars: Iterable[tuple[str, bool]]) -> Glob:
    """From characters, each marked as wild or not: only a wild ``*`` is a wildcard."""
    return Glob(tuple(_ANY_RUN if wild and char == "*" else char for char, wild in chars))


def segment_glob(text: str) -> Glob:
    """From one part of a gitignore-like path pattern: ``*``, ``?``, ``[...]``, a backslash makes literal.

    Raises ValueError with what is wrong: a bracket that is never closed, a backslash at the end.
    """
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            if at + 1 == len(text):
                raise ValueError("a backslash at the end of a part")
            tokens.append(text[at + 1])
            at += 2
        elif char == "*":
            if not tokens or tokens[-1] is not _ANY_RUN:
                tokens.append(_ANY_RUN)
            at += 1
        elif char == "?":
            tokens.append(CharClass((("\0", "\U0010ffff"),)))
            at += 1
        elif char == "[":
            token, at = _char_class(text, at)
            tokens.append(token)
        else:
            tokens.append(char)
            at += 1
    return Glob(tuple(tokens))


def _char_class(text: str, at: int) -> tuple[CharClass, int]:
    at += 1
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    end = text.find("]", at + 1)  # a bracket that stands first is a member
    if end < 0:
        raise ValueError("'[' is never closed")
    members, ranges = text[at:end], []
    here = 0
    while here < len(members):
        if here + 2 < len(members) and members[here + 1] == "-":
            ranges.append((members[here], members[here + 2]))
            here += 3
        else:
            ranges.append((members[here], members[here]))
            here += 1
    return CharClass(tuple(ranges), negated), end + 1


def escape_segment(text: str) -> str:
    """``text`` as a path pattern that matches nothing else."""
    return "".join("\\" + char if char in "\\*?[" else char for char in text)
