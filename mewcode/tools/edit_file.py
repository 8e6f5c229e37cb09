"""Exact edits of one file, all or none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from mewcode.core.access import Access, WriteAccess
from mewcode.core.errors import ToolError
from mewcode.core.outcome import ToolOutcome, View
from mewcode.infra.terminal_text import safe_line
from mewcode.tools.base import Tool, ToolContext, ToolSession
from mewcode.tools.diff_view import diff_view
from mewcode.tools.file_access import explained, judged_path, missing, resolve_path, show_path
from mewcode.tools.in_thread import Stop, in_thread
from mewcode.tools.replace_file import replace_file
from mewcode.tools.text_edit import Replacement, describe_lines, replace_text
from mewcode.tools.text_file import EDIT_LIMIT, TextFile, load_text_file


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    """One replacement: ``old_text`` must stand in the file once, unless all are replaced."""

    old_text: Annotated[str, Meta(description="The text to replace, exactly as it stands in the file.")]
    new_text: Annotated[str, Meta(description="The text to put there; empty to delete.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence. Default: false.")] = False


class EditFileArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A file that was read before, and up to 200 edits, of which all apply or none."""

    path: Annotated[str, Meta(description="The file, absolute or relative to the working folder.")]
    edits: Annotated[
        list[Edit],
        Meta(description="The edits, applied in order, all or none.", min_length=1, max_length=200),
    ]


class _Plan(Struct, frozen=True):
    file: TextFile
    after: str
    lines: list[list[int]]


class EditFileTool(Tool[EditFileArgs]):
    name = "edit_file"
    args_type = EditFileArgs

    def accesses(self, args: EditFileArgs, session: ToolSession) -> Sequence[Access]:
        return (WriteAccess(judged_path(session, args.path)),)

    def summary(self, args: EditFileArgs, session: ToolSession) -> str:
        return safe_line(show_path(session, args.path))

    def preview(self, args: EditFileArgs, session: ToolSession) -> View | None:
        plan = _plan(args, session)
        return diff_view(session.display(plan.file.path), plan.file.text, plan.after)

    async def run(self, args: EditFileArgs, context: ToolContext) -> ToolOutcome:
        """Edits the file. Raises `ToolError` where it was not read, has changed, or an edit does not fit; the
        file is then as it was."""
        session = context.session

        def work(stop: Stop) -> tuple[_Plan, bytes, os.stat_result]:
            plan = _plan(args, session, context.judged)
            data = plan.file.encode(plan.after)
            if len(data) > EDIT_LIMIT:
                raise ToolError(f"The file would grow beyond {EDIT_LIMIT >> 20} MB; nothing was changed.")
            stop.check()
            shown = session.display(plan.file.path)
            with explained(shown), session.changing(plan.file.path):
                return plan, data, replace_file(plan.file, data, shown)

        plan, data, status = await in_thread(work)
        session.reads.note(plan.file.path, status, data)
        shown = session.display(plan.file.path)
        return ToolOutcome.text(
            f"Edited {shown}: {_in_words(plan.lines)}.", diff_view(shown, plan.file.text, plan.after)
        )


def _plan(args: EditFileArgs, session: ToolSession, judged: Sequence[Access] | None = None) -> _Plan:
    """The file and its text after all edits, with nothing written."""
    path = resolve_path(session, args.path, judged)
    shown = session.display(path)
    try:
        file = load_text_file(path, shown)
    except FileNotFoundError:
        raise missing(session, path) from None
    session.reads.check_data(path, file.status, file.data)
    text = file.text
    lines: list[list[int]] = []
    for number, edit in enumerate(args.edits, start=1):
        try:
            text, places = replace_text(text, Replacement(edit.old_text, edit.new_text, edit.replace_all))
        except ToolError as error:
            if len(args.edits) == 1:
                raise
            raise ToolError(
                f"Edit {number} of {len(args.edits)}: {error.message} None of the edits was made."
            ) from error
        lines.append(places)
    return _Plan(file, text, lines)


def _in_words(lines: list[list[int]]) -> str:
    if len(lines) == 1:
        count = len(lines[0])
        return describe_lines(lines[0]) if count == 1 else f"{count} replacements, {describe_lines(lines[0])}"
    return "; ".join(
        f"edit {number} at {describe_lines(places)}" for number, places in enumerate(lines, start=1)
    )
