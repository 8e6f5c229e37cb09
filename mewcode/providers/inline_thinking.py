"""Thinking that a server leaves in the text, between ``<think>`` and ``</think>``.

Servers without a parser for their model's reasoning send it so. Only text that begins with the tag is taken
apart; a tag further on is text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

_OPEN, _CLOSE = "<think>", "</think>"

Part = tuple[Literal["thinking", "text"], str]


class ThinkTagSplitter:
    """Feed it text, take parts; how the text is cut makes no difference to what comes out in all."""

    def __init__(self) -> None:
        self._place: Literal["start", "thinking", "gap", "text"] = "start"
        self._held = ""

    def feed(self, text: str) -> Iterator[Part]:
        """The parts that are certain by now."""
        if self._place == "text":
            yield "text", text
            return
        self._held += text
        if self._place == "start":
            begin = self._held.lstrip()
            if _OPEN.startswith(begin[: len(_OPEN)]) and len(begin) < len(_OPEN):
                return
            if begin.startswith(_OPEN):
                self._place, self._held = "thinking", begin[len(_OPEN) :]
            else:
                yield from self._all_text()
                return
        if self._place == "thinking":
            yield from self._thinking()
        if self._place == "gap":
            self._held = self._held.lstrip("\r\n")
            if self._held:
                yield from self._all_text()

    def finish(self) -> Iterator[Part]:
        """What was held back: no more text comes. Blanks in place of a text are nothing."""
        held, self._held = self._held, ""
        if held.strip() or (held and self._place == "thinking"):
            yield ("thinking" if self._place == "thinking" else "text"), held

    def _thinking(self) -> Iterator[Part]:
        thought, tag, rest = self._held.partition(_CLOSE)
        if tag:
            self._place, self._held = "gap", rest
        else:
            # The end may be the beginning of the closing tag.
            kept = next(size for size in range(len(_CLOSE) - 1, -1, -1) if thought.endswith(_CLOSE[:size]))
            thought, self._held = thought[: len(thought) - kept], thought[len(thought) - kept :]
        if thought:
            yield "thinking", thought

    def _all_text(self) -> Iterator[Part]:
        held, self._held, self._place = self._held, "", "text"
        yield "text", held
