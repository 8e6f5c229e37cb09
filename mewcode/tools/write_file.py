"""A whole file written: a new one, or in place of what the model has read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from mewcode.core.access import Access, WriteAccess
from mewcode.core.errors import ToolError
from mewcode.core.outcome import ToolOutcome, View
from mewcode.infra.terminal_text import safe_line
from mewcode.tools.base import Tool, ToolContext, ToolSession
from mewcode.tools.diff_view import diff_view
from mewcode.tools.file_access import explained, judged_path, resolve_path, show_path
from mewcode.tools.in_thread import Stop, in_thread
from mewcode.tools.replace_file import create_file, replace_file
from mewcode.tools.text_file import TextFile, encode_text, load_text_file

# In bytes. What a model writes is far below; what is above is no text a model wrote.
_LARGEST = 10 * 1024 * 1024


class WriteFileArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A file, new or read before, and its whole new text."""

    path: Annotated[str, Meta(description="The file, absolute or relative to the working folder.")]
    content: Annotated[str, Meta(description="The whole text of the file.")]


class _Plan(Struct, frozen=True):
    """``old`` is None for a new file."""

    path: Path
    old: TextFile | None
    data: bytes
    text: str


class WriteFileTool(Tool[WriteFileArgs]):
    name = "write_file"
    args_type = WriteFileArgs

    def accesses(self, args: WriteFileArgs, session: ToolSession) -> Sequence[Access]:
        return (WriteAccess(judged_path(session, args.path)),)

    def summary(self, args: WriteFileArgs, session: ToolSession) -> str:
        return safe_line(show_path(session, args.path))

    def preview(self, args: WriteFileArgs, session: ToolSession) -> View | None:
        return _view(_plan(args, session), session)

    async def run(self, args: WriteFileArgs, context: ToolContext) -> ToolOutcome:
        """Writes the file. Raises `ToolError` where it exists and was not read or has changed, or is no text;
        it is then as it was."""
        session = context.session

        def work(stop: Stop) -> tuple[_Plan, os.stat_result]:
            plan = _plan(args, session, context.judged)
            stop.check()
            shown = session.display(plan.path)
            with explained(shown), session.changing(plan.path):
                if plan.old is None:
                    return plan, create_file(plan.path, plan.data, shown)
                return plan, replace_file(plan.old, plan.data, shown)

        plan, status = await in_thread(work)
        session.reads.note(plan.path, status, plan.data)
        done = "Created" if plan.old is None else "Replaced"
        lines = plan.text.count("\n") + (not plan.text.endswith("\n") and bool(plan.text))
        size = f"{lines:,} line{'s' if lines != 1 else ''}, {len(plan.data):,} bytes"
        return ToolOutcome.text(f"{done} {session.display(plan.path)}: {size}.", _view(plan, session))


def _plan(args: WriteFileArgs, session: ToolSession, judged: Sequence[Access] | None = None) -> _Plan:
    """What would be written where, with nothing written."""
    path = resolve_path(session, args.path, judged)
    shown = session.display(path)
    if args.path.endswith("/") or not path.name:
        raise ToolError(f"{args.path} names a folder. Give the path of a file.")
    try:
        old = load_text_file(path, shown)
    except FileNotFoundError:
        old = None
    if old is None:
        text, data = args.content, encode_text(args.content)
    else:
        # An empty file holds nothing to lose: it need not have been read.
        if old.data or path in session.reads:
            session.reads.check_data(path, old.status, old.data)
        text = _in_style_of(old, args.content)
        data = old.encode(text)
    if len(data) > _LARGEST:
        raise ToolError(f"The content is {len(data):,} bytes; at most {_LARGEST >> 20} MB can be written.")
    return _Plan(path, old, data, text)


def _in_style_of(old: TextFile, content: str) -> str:
    """The content with the line endings of ``old``, unless its own are ``\\r\\n`` throughout."""
    if old.bom:
        content = content.removeprefix("\ufeff")
    plain = content.replace("\r\n", "\n")
    lines = plain.count("\n")
    if lines == 0 or content.count("\r\n") == lines:
        return content
    return plain if old.newline == "\n" else plain.replace("\n", old.newline)


def _view(plan: _Plan, session: ToolSession) -> View:
    before = plan.old.text if plan.old is not None else ""
    return diff_view(session.display(plan.path), before, plan.text, created=plan.old is None)
