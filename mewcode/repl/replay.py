"""The end of a resumed conversation, as it looked."""

from __future__ import annotations

from collections.abc import Sequence

from mewcode.core.message import Message, Text, ToolCall, text_of
from mewcode.core.outcome import TextView, ToolOutcome
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.markdown_stream import MarkdownStream
from mewcode.repl.theme import Theme
from mewcode.repl.tool_views import tool_card, user_block

# So many of the user's messages, and what followed them, are shown again.
_EXCHANGES = 3
_SUMMARY_KEYS = ("path", "command", "pattern", "url", "question")


def replay(messages: Sequence[Message], theme: Theme, width: int) -> str:
    """ANSI lines of the last exchanges."""
    starts = [
        place for place, message in enumerate(messages) if message.role == "user" and message.origin == "user"
    ]
    first = starts[-_EXCHANGES] if len(starts) >= _EXCHANGES else 0
    parts: list[str] = []
    if first:
        parts.append(theme.paint("dim", f"… {len(starts) - _EXCHANGES} earlier exchanges") + "\n")
    calls: dict[str, ToolCall] = {}
    for message in messages[first:]:
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
    return "\n" + "\n".join(part if part.endswith("\n") else part + "\n" for part in parts if part)


def _markdown(text: str, theme: Theme, width: int) -> str:
    stream = MarkdownStream(width, theme)
    return stream.feed(text) + stream.finish()


def _summary(call: ToolCall) -> str:
    return next((safe_line(str(call.args[key]), 200) for key in _SUMMARY_KEYS if key in call.args), "")
