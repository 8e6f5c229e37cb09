"""Pasted texts: a long one is shown as one word of the input and sent whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

FOLDED_BEYOND = 15
"""Lines of a pasted text that are still shown as they are."""

# Characters beyond which a text of few lines is folded as well: it would fill the screen all the same.
_FOLDED_CHARACTERS = 4_000
# Pasted texts remembered, and characters of all of them: what was taken back may show their markers again.
_KEPT = 50
_KEPT_CHARACTERS = 20_000_000

# What stands for something in the input.
_MARKER = re.compile(r"\[(?:paste \d+: [\d,]+ lines?|image \d+: [^\]\n]{1,60})\]")


def plain_newlines(text: str) -> str:
    """The text with every line end as ``\\n``: terminals send pasted ones as ``\\r``."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(slots=True)
class Pasted:
    """The pasted texts of a session by their markers. Numbers are never used twice, so that a marker in a
    draft or in the queue means one text only."""

    _texts: dict[str, str] = field(default_factory=dict)
    _plain: dict[str, None] = field(default_factory=dict)
    _count: int = 0

    def add(self, text: str) -> str:
        """What to insert for a pasted ``text``: itself, or a marker where it is long."""
        text = plain_newlines(text)
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= FOLDED_BEYOND and len(text) <= _FOLDED_CHARACTERS:
            if "@" in text:
                self._plain[text] = None
                if len(self._plain) > _KEPT:
                    del self._plain[next(iter(self._plain))]
            return text
        self._count += 1
        marker = f"[paste {self._count}: {lines:,} line{'s' if lines != 1 else ''}]"
        self._texts[marker] = text
        while len(self._texts) > 1 and self._too_much():
            del self._texts[next(iter(self._texts))]
        return marker

    def _too_much(self) -> bool:
        return len(self._texts) > _KEPT or sum(map(len, self._texts.values())) > _KEPT_CHARACTERS

    def unfold(self, text: str) -> str:
        """The text with what the markers stand for."""
        return _MARKER.sub(lambda match: self._texts.get(match[0], match[0]), text)

    def fold(self, text: str) -> str:
        """The text with markers for what was pasted: the reverse of `unfold`."""
        for marker, pasted in self._texts.items():
            text = text.replace(pasted, marker)
        return text

    def typed(self, text: str) -> str:
        """The text without all that was pasted, folded or not."""
        text = self.fold(text)
        for pasted in self._plain:
            text = text.replace(pasted, " ")
        return text

    def said(self, text: str) -> None:
        """A message was sent: whoever writes the same words by hand later has typed them."""
        for pasted in [pasted for pasted in self._plain if pasted in text]:
            del self._plain[pasted]


def markers_in(text: str) -> Iterator[tuple[int, int]]:
    """Where the markers in ``text`` begin and end."""
    return (match.span() for match in _MARKER.finditer(text))


def marker_before(line: str) -> int:
    """The length of the marker in which or at whose end ``line`` stops, counted back to its beginning only;
    0 where there is none. ``line`` is the input's line up to the cursor."""
    start = line.rfind("[", max(0, len(line) - 90))
    match = _MARKER.match(line, start) if start >= 0 else None
    return len(line) - start if match and match.end() == len(line) else 0


def marker_after(line: str) -> int:
    """The length of the marker with which ``line``, the rest after the cursor, begins; 0 where none."""
    match = _MARKER.match(line)
    return match.end() if match else 0
