"""Calls of an earlier run, of which only the arguments and what the model was told are known, as views."""

from __future__ import annotations

import re

import msgspec

from mewcode.core.message import ToolCall, ToolResult, text_of
from mewcode.core.outcome import CommandView, DiffView, TextView, TodoItem, TodoView, ToolOutcome, View
from mewcode.infra.terminal_text import safe_line, visible_text
from mewcode.repl.theme import Theme
from mewcode.repl.tool_views import edits_card, tool_card
from mewcode.tools.command_report import shown_tail
from mewcode.tools.todo import TodoArgs

# Characters of a change or a result above which only a line stands for it: many of them are drawn at once.
_MOST = 100_000
# How `tools.bash` tells the end, behind the output and before its notes, of which there are few.
_EXIT = re.compile(r"exit code (\d{1,3})(?: \(ended by [A-Za-z0-9 ]+\))?")
_MOST_NOTES = 4
_NO_OUTPUT = "(no output)"
# How `tools.edit_file` names the first line of what it changed.
_LINE = re.compile(r"\blines? (\d{1,9})")


def past_card(call: ToolCall | None, summary: str, result: ToolResult, theme: Theme, width: int) -> str:
    """The card of an ended call, as near to what was shown then as what is known allows."""
    if (
        call is not None
        and call.name == "edit_file"
        and not result.is_error
        and (diffs := _shown_diffs(call))
    ):
        lines = _lines(text_of(result.content), len(diffs))
        return edits_card(call.name, summary, list(zip(diffs, lines, strict=True)), theme, width)
    name = "tool" if call is None else call.name
    return tool_card(name, summary, past_outcome(call, result), 0.0, theme, width)


def past_outcome(call: ToolCall | None, result: ToolResult) -> ToolOutcome:
    """How an ended call went."""
    told = text_of(result.content)
    view = None if call is None else _view(call, result, told)
    if view is None and len(told) > _MOST:
        view = TextView(safe_line(told[:_MOST].partition("\n")[0], 80))
    return ToolOutcome(result.content, view, result.is_error)


def diffs_of(call: ToolCall) -> list[DiffView]:
    """What a call that changes a file changes, as far as its arguments tell."""
    path = call.args.get("path")
    if not isinstance(path, str):
        return []
    content, edits = call.args.get("content"), call.args.get("edits")
    if call.name == "write_file" and isinstance(content, str):
        return [DiffView(path, "", content, created=True)]
    if call.name != "edit_file" or not isinstance(edits, list):
        return []
    found = []
    for edit in edits:
        old, new = (edit.get("old_text"), edit.get("new_text")) if isinstance(edit, dict) else (None, None)
        if isinstance(old, str) and isinstance(new, str):
            found.append(DiffView(path, old, new))
    return found if len(found) == len(edits) else []


def _shown_diffs(call: ToolCall) -> list[DiffView]:
    diffs = diffs_of(call)
    return diffs if sum(len(diff.before) + len(diff.after) for diff in diffs) <= _MOST else []


def _lines(told: str, count: int) -> list[int]:
    """The first line of each edit, 1 where that is not told. A path in front may speak of lines too."""
    found = [max(1, int(number)) for number in _LINE.findall(told[-_MOST:])]
    return found[-count:] if len(found) >= count else [1] * count


def _view(call: ToolCall, result: ToolResult, told: str) -> View | None:
    command = call.args.get("command")
    if call.name == "bash" and isinstance(command, str) and not call.args.get("background"):
        return _command(command, told, result.is_error)
    if result.is_error:
        return None
    if call.name == "write_file" and told.startswith("Created "):
        return next(iter(_shown_diffs(call)), None)
    return _todos(call) if call.name == "todo" else None


def _command(command: str, told: str, is_error: bool) -> CommandView:
    output, code, note = told, None if is_error else 0, ""
    lines = told[-_MOST:].rstrip("\n").split("\n")
    for place in range(len(lines) - 1, max(-1, len(lines) - 2 - _MOST_NOTES), -1):
        if match := _EXIT.fullmatch(lines[place]):
            output, note = "\n".join(lines[:place]), " ".join(lines[place + 1 :])
            code = int(match[1])
            break
    if output.strip() == _NO_OUTPUT:
        output = ""
    return CommandView(visible_text(command[:_MOST]), shown_tail(output), code, safe_line(note, 500))


def _todos(call: ToolCall) -> View | None:
    try:
        args = msgspec.convert(call.args, TodoArgs)
    except msgspec.ValidationError:  # of another version, or made up
        return None
    return TodoView(tuple(TodoItem(item.text, item.status) for item in args.items))
