"""How many tokens a conversation takes: what the service reported last, and an estimate of what came after.

The estimate learns: each report tells what the texts since the one before it came to with this model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from mewcode.context.calibration import Calibration
from mewcode.context.sizes import Size, size_of_fixed, size_of_message, size_of_text
from mewcode.core.message import Message, Thinking, Usage
from mewcode.core.tool_spec import ToolSpec

_BELIEVED = 2.0
"""A report on messages from an archive is believed where it is at most so many times the estimate, and the
estimate at most so many times it: else it was of another part of the conversation."""
_SLACK = 500
"""Tokens that do not matter there: of what a service adds itself."""
_CORRECTION = 1.5
"""How far what was known of a conversation corrects the estimate of what is left of it."""
_HIDDEN = 200
"""Tokens of an answer that its text does not explain: from so many on, they were thought."""


class _Known(msgspec.Struct):
    """What is known of the conversation. ``count`` messages are in it, between ``first`` and ``last``;
    ``whole`` is their size and that of the fixed part. ``anchor``: tokens up to the last report, 0 without
    one; ``after``: the size of what came then. ``correction`` is for an estimate without an anchor.

    ``input``: what the last report counted before its answer; ``since``: the size of all that came then,
    without thought; ``hidden``: tokens of the answer that were thought.
    """

    model: str
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    whole: Size
    after: Size
    first: Message | None = None
    last: Message | None = None
    count: int = 0
    anchor: int = 0
    correction: float = 1.0
    input: int = 0
    since: Size = Size()
    hidden: int = 0


class TokenMeter:
    """Belongs to one session; knows how each model counts, and one conversation at a time."""

    def __init__(self) -> None:
        self._calibrations: dict[str, Calibration] = {}
        self._hidden_kept: dict[str, float] = {}
        self._sizes: dict[str, tuple[Message, Size]] = {}
        self._known: _Known | None = None

    def text(self, model: str, text: str) -> int:
        """Tokens of a text, estimated."""
        return round(self._calibration(model).tokens(size_of_text(text)))

    def tokens(self, model: str, size: Size) -> float:
        """Tokens of a size, estimated."""
        return self._calibration(model).tokens(size)

    def message(self, model: str, message: Message) -> int:
        """Tokens of a message, estimated; its size is counted once."""
        return round(self._calibration(model).tokens(self._size(message)))

    def sizer(self, model: str) -> Callable[[Message], int]:
        """`message` for one model."""
        return lambda message: self.message(model, message)

    def fixed(self, model: str, system: Sequence[str], tools: Sequence[ToolSpec]) -> int:
        """Tokens of the system prompt and the tools, estimated, and corrected by how far the estimate of the
        whole conversation is off: they are a large part of it where the window is small."""
        tokens = self._calibration(model).tokens(size_of_fixed(system, tools))
        known = self._known
        return round(tokens * self._off(known) if known is not None and known.model == model else tokens)

    def learn(self, model: str, size: Size, tokens: int) -> None:
        """Takes in that the service counted ``tokens`` for texts of this size. `conversation` does so by
        itself with the usage of each answer."""
        self._calibration(model).learn(size, tokens)

    def conversation(
        self,
        model: str,
        messages: Sequence[Message],
        system: Sequence[str] = (),
        tools: Sequence[ToolSpec] = (),
    ) -> int:
        """Tokens that a request with all this puts before the model. Takes time for what is new since
        the last call alone; for all of it at the first call and after a change of what went before.

        That messages were cut off, or begin or end otherwise, is seen here; that one between them was
        replaced is not: say so with `rebase`.
        """
        system, tools = tuple(system), tuple(tools)
        known = self._known
        if known is None:
            known = self._begin(model, messages, system, tools)
        elif not _goes_on(known, model, messages, system, tools):
            known = self._rebased(known, model, messages, system, tools)
        else:
            self._read(known, messages)
        self._known = known
        return round(self._tokens(known))

    def rebase(self) -> None:
        """Messages were replaced by others (pruned): reports of before say nothing more about the whole. The
        next `conversation` estimates it, corrected by how far the estimate was off before."""
        if self._known is not None:
            self._known.first = self._known.last = None

    def forget(self) -> None:
        """The next `conversation` is about another one. How models count is kept."""
        self._known = None
        self._sizes.clear()

    def _calibration(self, model: str) -> Calibration:
        return self._calibrations.setdefault(model, Calibration())

    def _size(self, message: Message) -> Size:
        held = self._sizes.get(message.id)
        if held is not None and held[0] is message:
            return held[1]
        size = size_of_message(message)
        self._sizes[message.id] = (message, size)
        return size

    def _tokens(self, known: _Known) -> float:
        rest = self._calibration(known.model).tokens(known.after)
        return known.anchor + rest if known.anchor else rest * known.correction

    def _off(self, known: _Known) -> float:
        """What is known of a conversation as a multiple of the estimate of all its texts."""
        estimate = max(1.0, self._calibration(known.model).tokens(known.whole))
        return min(max(self._tokens(known) / estimate, 1 / _CORRECTION), _CORRECTION)

    def _begin(
        self, model: str, messages: Sequence[Message], system: tuple[str, ...], tools: tuple[ToolSpec, ...]
    ) -> _Known:
        fixed = size_of_fixed(system, tools)
        known = _Known(model, system, tools, fixed, fixed)
        self._read(known, messages, is_archived=True)
        return known

    def _rebased(
        self,
        old: _Known,
        model: str,
        messages: Sequence[Message],
        system: tuple[str, ...],
        tools: tuple[ToolSpec, ...],
    ) -> _Known:
        correction = self._off(old) if old.model == model and old.count else 1.0
        sizes = [self._size(message) for message in messages]
        self._sizes = {message.id: (message, size) for message, size in zip(messages, sizes, strict=True)}
        whole = sum(sizes, size_of_fixed(system, tools))
        return _Known(
            model,
            system,
            tools,
            whole,
            whole,
            messages[0] if messages else None,
            messages[-1] if messages else None,
            len(messages),
            correction=correction,
        )

    def _read(self, known: _Known, messages: Sequence[Message], *, is_archived: bool = False) -> None:
        """Takes in the messages from ``count`` on."""
        for place in range(known.count, len(messages)):
            message = messages[place]
            size = self._size(message)
            if message.role == "assistant" and message.usage is not None and _is_of(message, known.model):
                self._anchor(known, message, message.usage, size, is_archived)
            else:
                known.after += size
                known.since += size
            known.whole += size
        if messages:
            known.first, known.last, known.count = messages[0], messages[-1], len(messages)

    def _anchor(self, known: _Known, message: Message, usage: Usage, size: Size, is_archived: bool) -> None:
        """Takes in what was reported with ``message``."""
        before = usage.context_tokens - usage.output_tokens
        calibration = self._calibration(known.model)
        if before <= 0:
            known.after += size
            known.since += size
            return
        estimate = calibration.tokens(known.whole)
        if is_archived and not _agree(before, estimate):
            known.input, known.after, known.since = 0, known.after + size, known.since + size
            return
        self._compare(known, calibration, before)
        said = size_of_message(message, thinking=False) if _has_thought(message) else size
        spoken = round(calibration.tokens(said))
        hidden = max(0, usage.output_tokens - spoken)
        known.hidden = hidden if hidden > max(_HIDDEN, spoken // 4) else 0
        kept = self._hidden_kept.get(known.model, 1.0)
        # An answer that was broken off bears a report of its beginning alone.
        plain = usage.output_tokens if usage.output_tokens * 2 > spoken else spoken
        answer = spoken + round(kept * known.hidden) if known.hidden else plain
        known.anchor = before + answer
        known.after, known.input, known.since = Size(), before, said

    def _compare(self, known: _Known, calibration: Calibration, before: int) -> None:
        """Learns from two reports in a row, or from the first one."""
        if not known.input:
            if not known.whole.images:
                calibration.learn(known.whole, before)
            return
        grown = before - known.input
        if known.hidden:
            rest = grown - calibration.tokens(known.since)
            share = min(max(rest / known.hidden, 0.0), 1.0)
            self._hidden_kept[known.model] = (self._hidden_kept.get(known.model, 1.0) + share) / 2
        elif grown > 0 and not known.since.images:
            calibration.learn(known.since, grown)


def _agree(reported: float, estimate: float) -> bool:
    low, high = sorted((reported, estimate))
    return high <= low * _BELIEVED + _SLACK


def _has_thought(message: Message) -> bool:
    return any(isinstance(block, Thinking) for block in message.content)


def _is_of(message: Message, model: str) -> bool:
    return message.model in ("", model)


def _goes_on(
    known: _Known,
    model: str,
    messages: Sequence[Message],
    system: tuple[str, ...],
    tools: tuple[ToolSpec, ...],
) -> bool:
    """Whether the messages begin with those that are known."""
    if known.model != model or known.system != system or (known.tools is not tools and known.tools != tools):
        return False
    if not known.count:
        return True
    return (
        len(messages) >= known.count
        and messages[0] is known.first
        and messages[known.count - 1] is known.last
    )
