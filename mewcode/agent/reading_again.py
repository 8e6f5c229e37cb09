"""What the model is told anew behind a summary: the files that it was changing, as they are on the disk now,
and what lives on around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec

from mewcode.agent.plan_mode import words_for
from mewcode.agent.tool_runner import ToolRunner
from mewcode.context.results import is_replaced
from mewcode.core.errors import ToolError
from mewcode.core.message import Message, text_of
from mewcode.infra.fence import fenced_data
from mewcode.infra.terminal_text import safe_line
from mewcode.tools.base import ToolContext, ToolSession
from mewcode.tools.file_access import judged_path
from mewcode.tools.read_file import ReadFileArgs
from mewcode.tools.read_table import ReadTable

MOST_FILES = 5
MOST_TOKENS = 5_000
"""Of one file."""
_LOOKED_AT = 12
"""Files that are tried, where some of them are gone."""
_READ = "read_file"
_CHANGING = ("edit_file", "write_file")
_HEAD = (
    "The conversation before this point was summed up. What follows was looked up again just now. Of other "
    "files you know only what the summary says: read one again before you change it."
)

TextSize = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """``text``: the reminder, empty where there is nothing to tell. ``files``: those that are in it, as a
    person reads their paths; ``reads``: their states."""

    text: str
    files: tuple[str, ...]
    reads: ReadTable


async def read_again(
    tools: ToolRunner, summed_up: Sequence[Message], kept: Sequence[Message], size: TextSize, room: int
) -> ReadAgain:
    """``size``: the tokens of a text; ``room``: how many all of it may have. Changes nothing, raises
    nothing."""
    apart = msgspec.structs.replace(tools.session, reads=ReadTable())
    parts = [_HEAD]
    if lines := _surroundings(tools):
        parts.append("\n".join(lines))
        room -= size(parts[-1])
    files: list[str] = []
    for path in islice(_changed_files(tools.session, summed_up, kept), _LOOKED_AT):
        most = min(MOST_TOKENS, room)
        if len(files) == MOST_FILES or most < MOST_TOKENS // 10:
            break
        if (text := await _read(tools, apart, path)) is None:
            continue
        shown = _first_lines(text, size, most)
        room -= size(shown)
        files.append(tools.session.display(path))
        parts.append(f"{files[-1]} as it is on the disk now:\n{fenced_data('file', shown)}")
    return ReadAgain("\n\n".join(parts) if len(parts) > 1 else "", tuple(files), apart.reads)


def _surroundings(tools: ToolRunner) -> list[str]:
    """What outlives the conversation that began it."""
    lines = []
    if words := words_for(tools.policy.mode):
        lines.append(words)
    shell = getattr(tools.session, "shell", None)
    running = [process for process in shell.background.values() if process.running] if shell else []
    lines += [f"Runs in the background: {item.name}: {safe_line(item.command, 200)}" for item in running]
    return lines


def _changed_files(
    session: ToolSession, summed_up: Sequence[Message], kept: Sequence[Message]
) -> Iterator[Path]:
    """The files that tools have changed, the last one first, but for those of which the content still stands
    in what is kept."""
    standing = [message for message in kept if not is_replaced(message)]
    known = {path for name, path in _touched(session, standing) if name in (_READ, "write_file")}
    touched = (*_touched(session, summed_up), *_touched(session, kept))
    seen = set(known)
    for name, path in reversed(touched):
        if name in _CHANGING and path not in seen:
            seen.add(path)
            yield path


def _touched(session: ToolSession, messages: Sequence[Message]) -> list[tuple[str, Path]]:
    """The file tools' calls that succeeded and were about a whole file, with its resolved path, in order."""
    done = {result.call_id for message in messages for result in message.tool_results if not result.is_error}
    found: list[tuple[str, Path]] = []
    for message in messages:
        for call in message.tool_calls:
            path = call.args.get("path")
            is_part = bool({"offset", "limit"} & call.args.keys())
            if call.id in done and call.name in (_READ, *_CHANGING) and isinstance(path, str) and not is_part:
                found.append((call.name, Path(judged_path(session, path))))
    return found


async def _read(tools: ToolRunner, session: ToolSession, path: Path) -> str | None:
    """The file as `read_file` gives it; None where it is gone, may not be read unasked, or is no text."""
    tool = tools.registry.get(_READ)
    if tool is None:
        return None
    args = ReadFileArgs(str(path))
    try:
        accesses = tool.accesses(args, session)
        if tools.policy.judge(_READ, True, accesses).decision != "allow":
            return None
        context = ToolContext(session, "", _say_nothing, judged=accesses)
        outcome = await tool.run(args, context)
    except ToolError:
        return None
    return None if outcome.is_error else text_of(outcome.content)


def _say_nothing(text: str) -> None:
    return


def _first_lines(text: str, size: TextSize, most: int) -> str:
    """As many of the first lines as have ``most`` tokens."""
    if size(text) <= most:
        return text
    lines = text.split("\n")
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if size("\n".join(lines[:middle])) <= most:
            low = middle
        else:
            high = middle - 1
    left = len(lines) - low
    return "\n".join([*lines[:low], f"[{left:,} more lines: read_file with offset shows them]"])
