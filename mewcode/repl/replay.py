"""The end of a resumed conversation, as it looked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mewcode.core.message import Message, Text, ToolCall, text_of
from mewcode.core.outcome import TextView, ToolOutcome
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.repl.duration import duration
from mewcode.repl.markdown_stream import MarkdownStream
from mewcode.repl.theme import Theme
from mewcode.repl.tool_views import tool_card, user_block

if TYPE_CHECKING:
    from mewcode.agent.continuing import Resumed
    from mewcode.agent.session import Session

EXCHANGES = 3
"""So many of the user's messages, and what followed them, are shown again where nothing else is said."""
_TITLE = 100  # cells
_SUMMARY_KEYS = ("path", "command", "pattern", "url", "question")


def replay(
    messages: Sequence[Message],
    theme: Theme,
    width: int,
    exchanges: int = EXCHANGES,
    *,
    is_whole: bool = True,
) -> str:
    """ANSI lines of the last exchanges; empty where there are none, or none is wanted. ``is_whole``: nothing
    was said before ``messages``."""
    shown, hidden = _last(messages, exchanges)
    parts: list[str] = []
    if shown and (earlier := _earlier(hidden, is_whole)):
        parts.append(theme.paint("dim", earlier) + "\n")
    calls: dict[str, ToolCall] = {}
    for message in shown:
        if message.role == "user" and message.origin == "user":
            parts.append(user_block(message.text, theme, width))
        elif message.role == "assistant":
            calls.update({call.id: call for call in message.tool_calls})
            parts += [
                _markdown(block.text, theme, width) for block in message.content if isinstance(block, Text)
            ]
        for result in message.tool_results:
            call = calls.get(result.call_id)
            text = text_of(result.content)
            view = TextView(safe_line(text.partition("\n")[0], 80))
            outcome = ToolOutcome(result.content, view, result.is_error)
            name, summary = (call.name, _summary(call)) if call else ("tool", "")
            parts.append(tool_card(name, summary, outcome, 0.0, theme, width))
    lines = "\n".join(part if part.endswith("\n") else part + "\n" for part in parts if part)
    return "\n" + lines if lines else ""


def replay_plain(messages: Sequence[Message], exchanges: int = EXCHANGES, *, is_whole: bool = True) -> str:
    """The same in plain lines, each part behind a word that says whose it is."""
    shown, hidden = _last(messages, exchanges)
    lines = list(filter(None, [_earlier(hidden, is_whole)])) if shown else []
    for message in shown:
        if message.role == "user" and message.origin == "user":
            lines.append(f"you: {message.text}")
        elif message.role == "assistant":
            lines += [f"{call.name} {_summary(call)}" for call in message.tool_calls]
            lines += [message.text] if message.text.strip() else []
    return "".join(f"{safe_text(line).rstrip()}\n" for line in lines)


def resumed_words(resumed: Resumed) -> tuple[str, str]:
    """Which session it is, on one line, and what else there is to know of it."""
    size = f"{resumed.messages:,} message{'s' if resumed.messages != 1 else ''}"
    if not resumed.is_whole:
        size = f"the last {size}"
    text = f"resumed: {safe_line(resumed.title, _TITLE) or resumed.id}"
    return text, f"{resumed.id} · {size}, paused for {duration(resumed.paused)}"


def replay_plain_of(session: Session, exchanges: int) -> str:
    """`replay_plain` of a session's conversation."""
    whole = session.resumed is None or session.resumed.is_whole
    return replay_plain(session.agent.conversation.messages, exchanges, is_whole=whole)


def _last(messages: Sequence[Message], exchanges: int) -> tuple[Sequence[Message], int]:
    """The messages of the last exchanges, and how many exchanges stand before them."""
    starts = [
        place for place, message in enumerate(messages) if message.role == "user" and message.origin == "user"
    ]
    if not exchanges:
        return (), 0
    if len(starts) <= exchanges:
        return messages, 0
    return messages[starts[-exchanges] :], len(starts) - exchanges


def _earlier(count: int, is_whole: bool) -> str:
    if not is_whole:
        return "… earlier exchanges stand in the archive"
    return f"… {count} earlier exchange{'s' if count != 1 else ''}" if count else ""


def _markdown(text: str, theme: Theme, width: int) -> str:
    stream = MarkdownStream(width, theme)
    return stream.feed(text) + stream.finish()


def _summary(call: ToolCall) -> str:
    return next((safe_line(str(call.args[key]), 200) for key in _SUMMARY_KEYS if key in call.args), "")
