"""The tool results of a conversation: what each came from, whether it can be had again, and in what words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import normpath
from typing import Any

import msgspec

from mewcode.core.codec import encode_json
from mewcode.core.message import Message, Text, ToolCall, ToolResult, text_of
from mewcode.infra.terminal_text import safe_line

READING = frozenset({"read_file"})
SEARCHING = frozenset({
    "grep", "glob", "list_dir", "web_search", "search_docs", "search_history", "read_history", "search_notes",
})  # fmt: skip
COMMANDS = frozenset({"bash", "bash_output"})
_NEWS = "bash_output"
"""Gives what came since the last look: another call of it does not give the same."""
PAGES = frozenset({"web_fetch"})
AGAIN = READING | SEARCHING | COMMANDS | PAGES
"""Tools whose results can be had again."""

_MARK = ": left out to save room"
_LONGEST_LINE = 1_500
"""Characters of a line that stands for a result; a longer text that looks like one is none."""
_NAMED = 160
_LAST_LINE = 160
_DEFAULT_LINES = 2_000
"""Lines that `read_file` gives without a limit."""
# As `tools.bash` and `agent.offload` write them.
_EXIT = r"^exit code (\d+)(?: \(ended by \w+\))?$"
_WHOLE = r"The whole text is in (\S[^\n]{0,400}?): read_file "
_ENDS_BEHIND = 6
"""Lines at a command's end among which its exit code stands: notes may follow it."""


class Result(msgspec.Struct):
    """A result: the ``message`` at ``place`` that holds it, and its call. ``is_superseded``: the same was had
    again later."""

    place: int
    message: Message
    call: ToolCall
    content: ToolResult
    is_superseded: bool = False

    @property
    def can_be_had_again(self) -> bool:
        return self.call.name in AGAIN

    @property
    def failed(self) -> bool:
        """Whether the tool said so, or the command ended with an exit code other than 0."""
        return self.content.is_error or exit_code(self) != 0

    @property
    def label(self) -> str:
        """What it came from, on one line: ``read_file src/a.py lines 1-200``."""
        return label_of(self.call)


def results_of(messages: Sequence[Message]) -> list[Result]:
    """All results whose call is there, in order."""
    calls: dict[str, ToolCall] = {}
    results: list[Result] = []
    for place, message in enumerate(messages):
        for block in message.content:
            if isinstance(block, ToolCall):
                calls[block.id] = block
            elif isinstance(block, ToolResult) and (call := calls.get(block.call_id)) is not None:
                results.append(Result(place, message, call, block))
    _mark_superseded(results)
    return results


def is_replaced(message: Message) -> bool:
    """Whether a line stands in place of the message's result."""
    for block in message.content:
        if isinstance(block, ToolResult) and len(block.content) == 1:
            part = block.content[0]
            if isinstance(part, Text) and len(part.text) <= _LONGEST_LINE:
                return part.text.startswith("[") and part.text.endswith("]") and _MARK in part.text
    return False


def label_of(call: ToolCall) -> str:
    """A call in a few words, safe to show."""
    args, name = call.args, call.name
    if name == "read_file":
        return safe_line(f"read_file {args.get('path', '')}{_lines(args)}", _NAMED)
    if name == "grep":
        return safe_line(f"grep {_quoted(args.get('pattern'))}{_within(args)}", _NAMED)
    if name == "bash":
        return safe_line(f"bash {_quoted(args.get('command'))}", _NAMED)
    if name == "glob":
        return safe_line(f"glob {args.get('pattern', '')}{_within(args)}", _NAMED)
    said = next((str(value) for value in args.values() if isinstance(value, str) and value), "")
    return safe_line(f"{name} {said}".rstrip(), _NAMED)


def line_for(result: Result) -> str:
    """What stands in place of the result: what it was, what of it is worth a word, and how to get it."""
    said = _MARK
    if kept := re.search(_WHOLE, _text(result)):
        said += f" (all of it is in {safe_line(kept[1], 400)})"
    name = result.call.name
    if name in READING:
        how = "read it again if you need it"
    elif name == "bash":
        said += _how_it_ended(result)
        how = "run it again only if you need its output and repeating it does no harm"
    elif name in PAGES:
        how = "fetch it again if you need it"
    elif name == _NEWS:
        how = "it gives only what is printed from now on"
    else:
        how = "do it again if you need it"
    return f"[{result.label}{said}; {how}]"


def exit_code(result: Result) -> int:
    """The exit code that a command's result tells; 0 where it tells none."""
    if result.call.name not in COMMANDS:
        return 0
    for line in reversed(_text(result)[-1_000:].splitlines()[-_ENDS_BEHIND:]):
        if found := re.match(_EXIT, line):
            return int(found[1])
    return 0


def _how_it_ended(result: Result) -> str:
    lines = [line for line in _text(result)[-2_000:].splitlines() if line.strip()]
    if not lines or lines == ["(no output)"]:
        return " (it printed nothing)"
    code = exit_code(result)
    ended = f"exit code {code}, " if code else ""
    if code and len(lines) > 1 and re.match(_EXIT, lines[-1]):
        lines.pop()
    return f" ({ended}last line: {safe_line(lines[-1], _LAST_LINE)})"


def _text(result: Result) -> str:
    return text_of(result.content.content)


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else ""


def _within(args: dict[str, Any]) -> str:
    path = args.get("path")
    return f" in {path}" if isinstance(path, str) and path not in ("", ".") else ""


def _lines(args: dict[str, Any]) -> str:
    if not {"offset", "limit"} & args.keys():
        return ""
    first, end = _range(args)
    return f" lines {first}-{end - 1}"


def _range(args: dict[str, Any]) -> tuple[int, int]:
    """The first line, and the one behind the last."""
    first, limit = args.get("offset"), args.get("limit")
    begin = max(1, first) if isinstance(first, int) else 1
    return begin, begin + (limit if isinstance(limit, int) and limit > 0 else _DEFAULT_LINES)


def _mark_superseded(results: list[Result]) -> None:
    """From the last to the first: what was read or run again behind it is superseded."""
    read: dict[str, list[tuple[int, int]]] = {}
    done: set[tuple[str, bytes]] = set()
    for result in reversed(results):
        call = result.call
        if call.name not in AGAIN or call.name == _NEWS:
            continue
        stands = not result.content.is_error and not is_replaced(result.message)
        if call.name in READING:
            first, end = _range(call.args)
            ranges = read.setdefault(normpath(str(call.args.get("path", ""))), [])
            result.is_superseded = any(begin <= first and end <= stop for begin, stop in ranges)
            if stands and not result.is_superseded:
                ranges.append((first, end))
        else:
            result.is_superseded = _same(call) in done
            if stands:
                done.add(_same(call))


def _same(call: ToolCall) -> tuple[str, bytes]:
    """Calls that do the same have the same; what a command is described as, or may take, does not count."""
    args = {
        name: value for name, value in call.args.items() if name not in ("description", "timeout", "wait")
    }
    return call.name, encode_json(dict(sorted(args.items())))
