"""Lines on the room in the model's window: how much is taken, what was done to make some. Pure."""

from __future__ import annotations

from mewcode.core.events import Compacted, CompactionFailed, CompactionStarted, CompactionTrigger, Pruned
from mewcode.core.message import Message
from mewcode.core.tokens import message_tokens
from mewcode.infra.terminal_text import safe_line

_NAME = 200  # cells
_WHY: dict[CompactionTrigger, str] = {
    "asked": "",
    "threshold": "",
    "too_long": "the service says that the request is too long: ",
    "resumed": "the session is longer than the window: ",
}
Words = tuple[str, str]
"""What happened, and what else there is to know of it."""


def share(tokens: int, window: int) -> str:
    """How much of the window that is, in per cent, below one in tenths; 0 only for nothing."""
    if window <= 0 or tokens <= 0:
        return "0 %"
    part = 100 * tokens / window
    if part >= 0.95:
        return f"{round(part)} %"
    return f"{part:.1f} %" if part >= 0.05 else "under 0.1 %"


def count(number: int, what: str) -> str:
    """``1 message``, ``2,000 messages``."""
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def pruned_words(event: Pruned, window: int) -> str:
    """``window``: of the model, 0 where it is not known."""
    sizes = (share(event.before, window), share(event.after, window))
    if not window:
        sizes = (f"{event.before:,}", f"{event.after:,} tokens")
    return f"pruned {count(event.results, 'old result')}: {sizes[0]} -> {sizes[1]}"


def started_words(event: CompactionStarted) -> str:
    """What is being done, for as long as it is."""
    taken = f" ({share(event.tokens, event.window)} of the window)" if event.window else ""
    return f"{_WHY[event.trigger]}compacting {event.tokens:,} tokens{taken}"


def compacted_words(event: Compacted, key: str = "") -> Words:
    """``key`` says how the summary can be read."""
    done = "summed up" if event.summary else "left out"
    text = f"compacted: {event.before:,} -> {event.after:,} tokens, {count(event.messages, 'message')} {done}"
    facts = [f"{key} shows the summary" if event.summary and key else ""]
    if event.by:
        took = "ahead of time" if event.ahead else f"in {event.seconds:.0f} s"
        facts.append(f"written by {safe_line(event.by, _NAME)} {took}")
    if event.files:
        facts.append("read again: " + ", ".join(safe_line(name, _NAME) for name in event.files))
    return text, " · ".join(filter(None, facts))


def failed_words(event: CompactionFailed) -> Words:
    if event.stopped:
        return "compaction stopped; the conversation is as it was", ""
    return f"not compacted: {event.reason}", event.hint


def room_words(event: Pruned | Compacted | CompactionFailed) -> str:
    """What was done to make room, or was not, on one line."""
    if isinstance(event, Pruned):
        return pruned_words(event, 0)
    if isinstance(event, Compacted):
        return compacted_words(event)[0]
    text, hint = failed_words(event)
    return f"{text} ({hint})" if hint else text


def folded_summary(message: Message, key: str = "") -> str:
    """What stands for all that came before, as one line; ``key`` shows it whole."""
    size = f"about {message_tokens(message):,} tokens"
    return f"◦ a summary stands for what came before: {size}{f'; {key} shows it' if key else ''}"
