"""When a conversation is made smaller, and to what: shares of a model's window. All in tokens."""

from __future__ import annotations

import msgspec

WARM = 300.0
"""Seconds for which a provider keeps a prompt's prefix: what Anthropic and OpenAI promise at least."""
RESUME_RESERVE = 8_000
"""Tokens that stay free below `Thresholds.compact_at` where a conversation is continued."""

_MOST_RESERVE = 20_000
"""Tokens of an answer that are kept free; a longer one is rare, and the request may ask for less."""
_MARGIN = 13_000
"""Tokens below the reserve at which a summary is due: room for a step, and for an estimate that is off."""
_SMALL = 40_000
"""Windows below this get a smaller margin, falling with the square: an 8k window keeps 500."""
_PRUNE, _PRUNE_WARM, _PREPARE = 0.60, 0.75, 0.70
_TAIL, _WORDS, _SUMMARY = 20_000, 20_000, 8_000


class Room(msgspec.Struct, frozen=True):
    """Most tokens after a compaction: of the last messages, the user's words before them, the summary."""

    tail: int
    words: int
    summary: int


class Thresholds(msgspec.Struct, frozen=True):
    """Of a model with a ``window`` and answers of at most ``max_output`` tokens. In a window of any size
    ``prune_at() < prepare_at < compact_at`` holds."""

    window: int
    max_output: int

    @property
    def output_reserve(self) -> int:
        """What is kept free for the answer."""
        return min(self.max_output, _MOST_RESERVE, self.window // 5)

    @property
    def margin(self) -> int:
        """What is kept free beside that."""
        share = min(1.0, self.window / _SMALL)
        return int(_MARGIN * share * share)

    @property
    def compact_at(self) -> int:
        """From here on the conversation is compacted before the next request."""
        return max(1, self.window - self.output_reserve - self.margin)

    @property
    def prepare_at(self) -> int:
        """From here on the summary is prepared in the background."""
        return int(min(_PREPARE * self.window, 0.85 * self.compact_at))

    def prune_at(self, *, warm: bool = False) -> int:
        """From here on old results are left out. ``warm``: the last request was less than `WARM` seconds ago,
        so that its prefix is cheap as long as it stays."""
        if warm:
            return int(min(_PRUNE_WARM * self.window, 0.9 * self.compact_at))
        return int(min(_PRUNE * self.window, 0.75 * self.compact_at))

    def prune_wanted(self, used: int) -> int:
        """How much one pruning is to free, to be worth the cache that it breaks: a tenth of the window at
        least, else down to 40 % of it."""
        return max(self.window // 10, used - int(0.4 * self.window))

    @property
    def prune_least(self) -> int:
        """Less than this is not worth it: what stands behind the oldest result is paid for anew."""
        return self.window // 20

    @property
    def resume_budget(self) -> int:
        """What a conversation may take that is continued."""
        return max(self.compact_at - RESUME_RESERVE, self.compact_at // 2)

    def output_room(self, used: int) -> int:
        """The most output that a request of ``used`` tokens may ask for: services refuse one that together
        with its answer could exceed the window."""
        return max(1, min(self.max_output, self.window - used - self.margin // 4))

    def room(self, fixed: int) -> Room:
        """What a compaction may keep where ``fixed`` tokens stand before the messages."""
        left = max(0, self.compact_at - fixed)
        return Room(min(_TAIL, left * 3 // 10), min(_WORDS, left * 3 // 20), min(_SUMMARY, left // 5))

    def fixed_problem(self, model: str, fixed: int, largest: tuple[tuple[str, int], ...] = ()) -> str:
        """Why no conversation fits beside a fixed part of this size; empty where one does. ``largest``: the
        names and tokens of its largest parts."""
        if fixed <= self.compact_at * 7 // 8:
            return ""
        parts = ", ".join(f"{name} {tokens:,}" for name, tokens in largest)
        listed = f" ({parts})" if parts else ""
        return (
            f"the system prompt and the tools alone take about {fixed:,} tokens{listed}; the window of "
            f"{model} is {self.window:,}, of which {self.compact_at:,} can be used beside its answer. "
            "Shorten the instructions, turn tools off, or choose a model with a larger window "
            "(models.<name>.context_window says how large it is)"
        )
