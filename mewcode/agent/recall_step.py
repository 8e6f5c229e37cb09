"""What a step brings up that there may be a note on: files that were opened, errors that were seen, what the
user said meanwhile. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from mewcode.agent.recall_gate import has_content
from mewcode.core.message import Message, ToolCall, ToolResult, text_of

_OPENING = ("read_file", "edit_file", "write_file")
_MOST_FILES = 8
_MOST_ERRORS = 3
_MOST_LINE = 300
"""Characters of a line that says what went wrong."""
_TAIL = 6_000
"""Characters at a result's end in which such lines are looked for: they come last."""
_FAILED = re.compile(r"^exit code (?!0\b)\d+", re.MULTILINE)
_ERROR = re.compile(
    r"\b[\w.]*(?:Error|Exception|Warning)\b.*:|\b(?:error|fatal|panic|failed|failure|denied|cannot|refused)\b"
    r"|错误|失败|异常|無法|无法|拒绝",
    re.IGNORECASE,
)


class StepQuestions(msgspec.Struct, frozen=True):
    """``files``: as notes may name them, relative to the work tree where they are in it; ``texts``: lines of
    errors, and what the user said meanwhile."""

    files: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    def without(self, asked: Collection[str]) -> StepQuestions:
        """Without these, and without what says nothing."""
        return StepQuestions(
            tuple(file for file in self.files if file not in asked),
            tuple(text for text in self.texts if text not in asked and has_content(text)),
        )

    def __bool__(self) -> bool:
        return bool(self.files or self.texts)


def step_questions(messages: Iterable[Message], root: Path, cwd: Path) -> StepQuestions:
    """What these messages bring up, in their order."""
    files: dict[str, None] = {}
    texts: dict[str, None] = {}
    for message in messages:
        for call in message.tool_calls:
            if path := _opened(call, root, cwd):
                files[path] = None
        for result in message.tool_results:
            texts.update(dict.fromkeys(_errors(result)))
        if message.is_said and message.text:
            texts[message.text] = None
    return StepQuestions(tuple(files)[:_MOST_FILES], tuple(texts)[:_MOST_ERRORS])


def _opened(call: ToolCall, root: Path, cwd: Path) -> str:
    named = call.args.get("path")
    if call.name not in _OPENING or not isinstance(named, str) or "\0" in named:
        return ""
    path = cwd / named
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _errors(result: ToolResult) -> Iterator[str]:
    """The last lines that say what went wrong; none where nothing did."""
    tail = text_of(result.content)[-_TAIL:]
    if not (result.is_error or _FAILED.search(tail)):
        return
    lines = [line.strip() for line in tail.splitlines() if _ERROR.search(line)]
    for line in lines[-_MOST_ERRORS:]:
        yield line[:_MOST_LINE]
