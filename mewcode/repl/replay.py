"""The end of a resumed conversation, as it looked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mewcode.context.words import folded_summary
from mewcode.core.message import Message, Text, ToolCall
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.repl.duration import duration
from mewcode.repl.long_text import end_of
from mewcode.repl.markdown_stream import MarkdownStream
from mewcode.repl.past_calls import past_card, past_outcome
from mewcode.repl.theme import Theme
from mewcode.repl.tool_groups import Ended, ToolGroup, is_grouped
from mewcode.repl.tool_views import user_block

if TYPE_CHECKING:
    from mewcode.agent.continuing import Resumed
    from mewcode.agent.session import Session

EXCHANGES = 3
"""So many of the user's messages, and what followed them, are shown again where nothing else is said."""
_TITLE = 100  # cells
# Characters of one text: some thousand lines, rendered before the eye sees it.
_TEXT = 100_000
_KEY = "ctrl-o"
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
    shown, earlier = _last(messages, exchanges, is_whole, _KEY)
    parts = [theme.paint("dim", line) + "\n" for line in earlier]
    calls: dict[str, ToolCall] = {}
    group = ToolGroup()
    for message in shown:
        if message.role != "tool":
            parts.append(group.take(theme, width))
        if message.is_said:
            parts.append(user_block(message.text, theme, width))
        elif message.origin == "compaction":
            parts.append(theme.paint("dim", folded_summary(message, _KEY)) + "\n")
        elif message.role == "assistant":
            calls.update({call.id: call for call in message.tool_calls})
            parts += [
                _markdown(block.text, theme, width) for block in message.content if isinstance(block, Text)
            ]
        for result in message.tool_results:
            call = calls.get(result.call_id)
            summary = _summary(call) if call else ""
            if call and is_grouped(call.name):
                group.add(Ended(call.name, summary, past_outcome(call, result), 0.0))
            else:
                parts += [group.take(theme, width), past_card(call, summary, result, theme, width)]
    parts.append(group.take(theme, width))
    lines = "\n".join(part if part.endswith("\n") else part + "\n" for part in parts if part)
    return "\n" + lines if lines else ""


def replay_plain(messages: Sequence[Message], exchanges: int = EXCHANGES, *, is_whole: bool = True) -> str:
    """The same in plain lines, each part behind a word that says whose it is."""
    shown, lines = _last(messages, exchanges, is_whole)
    for message in shown:
        if message.is_said:
            lines.append(f"you: {end_of(message.text, _TEXT)}")
        elif message.origin == "compaction":
            lines.append(folded_summary(message))
        elif message.role == "assistant":
            lines += [f"{call.name} {_summary(call)}" for call in message.tool_calls]
            lines += [end_of(message.text, _TEXT)] if message.text.strip() else []
    return "".join(f"{safe_text(line).rstrip()}\n" for line in lines)


def resumed_words(resumed: Resumed) -> tuple[str, str]:
    """Which session it is, on one line, and what else there is to know of it."""
    size = f"{resumed.messages:,} message{'s' if resumed.messages != 1 else ''}"
    if not resumed.is_whole:
        size = f"the last {size}"
    title = safe_line(resumed.title, _TITLE)
    facts = f"{size}, paused for {duration(resumed.paused)}"
    if resumed.fork_of:
        text = f"a fork of {resumed.fork_of}: {resumed.id}"
        return text, f"{title} · {facts}" if title else facts
    return f"resumed: {title or resumed.id}", f"{resumed.id} · {facts}"


def replay_plain_of(session: Session, exchanges: int) -> str:
    """`replay_plain` of a session's conversation."""
    whole = session.resumed is None or session.resumed.is_whole
    return replay_plain(session.agent.conversation.messages, exchanges, is_whole=whole)


def _last(
    messages: Sequence[Message], exchanges: int, is_whole: bool, key: str = ""
) -> tuple[Sequence[Message], list[str]]:
    """The messages of the last exchanges, and lines on what stands before them."""
    starts = [place for place, message in enumerate(messages) if message.is_said]
    if not exchanges or not messages:
        return (), []
    hidden = max(0, len(starts) - exchanges)
    begin = starts[-exchanges] if hidden else 0
    earlier = [folded_summary(message, key) for message in messages[:begin] if message.origin == "compaction"]
    if not is_whole and not any(message.origin == "compaction" for message in messages):
        earlier.append("… earlier exchanges stand in the archive")
    elif hidden:
        earlier.append(f"… {hidden} earlier exchange{'s' if hidden != 1 else ''}")
    return messages[begin:], earlier


def _markdown(text: str, theme: Theme, width: int) -> str:
    stream = MarkdownStream(width, theme)
    return stream.feed(end_of(text, _TEXT)) + stream.finish()


def _summary(call: ToolCall) -> str:
    return next((safe_line(str(call.args[key]), 200) for key in _SUMMARY_KEYS if key in call.args), "")
