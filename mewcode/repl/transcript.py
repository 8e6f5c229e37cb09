"""A conversation as lines, nothing folded: whole answers, what was thought, all of what tools were given and
gave, changes of files as diffs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from mewcode.core.message import Message, Text, Thinking, ToolCall, ToolResult, text_of
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.repl.line_wrap import break_lines
from mewcode.repl.long_text import end_of
from mewcode.repl.markdown_stream import MarkdownStream
from mewcode.repl.past_calls import diffs_of
from mewcode.repl.screen_lines import TAB
from mewcode.repl.theme import Style, Theme
from mewcode.repl.tool_views import diff_view

_ALL = 1_000_000  # lines of a diff: more than a tool writes
# Characters of one text: what a second renders.
_TEXT = 1_000_000
_INDENT = "  "
_NAMES: dict[str, str] = {
    "reminder": "reminder to the model",
    "recall": "recalled",
    "compaction": "summary of what came before",
}


def newest_first(messages: Sequence[Message], theme: Theme, width: int) -> Iterator[list[str]]:
    """The lines of each message, in their order, from the last message to the first. Each message is rendered
    when it is asked for; a line is at most ``width`` cells wide."""
    width = max(20, width)
    calls = {call.id: call for message in messages for call in message.tool_calls}
    for message in reversed(messages):
        lines: list[str] = []
        for block in message.content:
            if isinstance(block, ToolResult):
                lines += _result(block, calls, theme, width)
            elif isinstance(block, ToolCall):
                lines += _call(block, theme, width)
            elif isinstance(block, Thinking):
                lines += _titled(
                    "✻ thought", block.text or "(not shown by the provider)", "dim", theme, width
                )
            elif isinstance(block, Text):
                lines += _text(message, block.text, theme, width)
            else:
                lines += ["", theme.paint("dim", f"[image, {block.media_type}]")]
        yield lines


def _text(message: Message, text: str, theme: Theme, width: int) -> list[str]:
    if message.role == "assistant":
        stream = MarkdownStream(width, theme)
        return ["", *(stream.feed(end_of(text, _TEXT)) + stream.finish()).rstrip("\n").split("\n")]
    if message.origin == "user":
        sign = theme.paint("user", "❯") + " "
        shown = _wrapped(text, "user", theme, width - 2)
        return ["", *((_INDENT if number else sign) + line for number, line in enumerate(shown))]
    return _titled(f"◦ {_NAMES.get(message.origin, message.origin)}", text, "dim", theme, width)


def _call(call: ToolCall, theme: Theme, width: int) -> list[str]:
    diffs = diffs_of(call)
    title = theme.paint("accent", "●") + " " + theme.paint("bold", safe_line(call.name, width - 3))
    if diffs:
        lines = ["", title]
        for diff in diffs:
            shown = diff_view(diff, theme, width - 2, _ALL)
            lines += [_INDENT + line for line in shown.rstrip("\n").split("\n")]
        return lines
    if call.invalid:
        return ["", title, *_indented(call.invalid, "error", theme, width)]
    lines = ["", title]
    for name, value in call.args.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines += _indented(f"{safe_line(name, 40)}: {text}", "plain", theme, width)
    return lines


def _result(result: ToolResult, calls: Mapping[str, ToolCall], theme: Theme, width: int) -> list[str]:
    call = calls.get(result.call_id)
    title = f"└ {call.name if call else 'tool'}" + (" failed" if result.is_error else "")
    style: Style = "error" if result.is_error else "dim"
    body = _indented(text_of(result.content), "error" if result.is_error else "plain", theme, width)
    return [theme.paint(style, safe_line(title, width - 1)), *body]


def _titled(title: str, text: str, style: Style, theme: Theme, width: int) -> list[str]:
    return ["", theme.paint(style, safe_line(title, width - 1)), *_indented(text, style, theme, width)]


def _indented(text: str, style: Style, theme: Theme, width: int) -> list[str]:
    return [_INDENT + line if line else "" for line in _wrapped(text, style, theme, width - len(_INDENT))]


def _wrapped(text: str, style: Style, theme: Theme, width: int) -> list[str]:
    lines: list[str] = []
    for line in safe_text(end_of(text, _TEXT)).rstrip("\n").split("\n"):
        line = line.expandtabs(TAB)
        lines += [theme.paint(style, line[start:end]) for start, end in break_lines(line, width)] or [""]
    return lines
