"""Ends a background process and all that it started."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from mewcode.core.outcome import CommandView, ToolOutcome
from mewcode.infra.terminal_text import safe_line, visible_text
from mewcode.tools.base import Tool, ToolContext, ToolSession
from mewcode.tools.bash_output import find_process, status_words


class BashStopArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A background process by its id."""

    id: Annotated[str, Meta(description="The process, such as bg1.")]


class BashStopTool(Tool[BashStopArgs]):
    name = "bash_stop"
    args_type = BashStopArgs

    def summary(self, args: BashStopArgs, session: ToolSession) -> str:
        return safe_line(args.id)

    async def run(self, args: BashStopArgs, context: ToolContext) -> ToolOutcome:
        shell = context.session.shell
        process = find_process(shell, args.id)
        was_running = process.running
        await process.stop(shell.grace)
        status = status_words(process, shell.clock())
        text = f"{process.name}: {status}." if was_running else f"{process.name} had ended before: {status}."
        if process.output.unread:
            text += f" {process.output.unread:,} bytes of its output are unread: bash_output."
        return ToolOutcome.text(text, CommandView(visible_text(process.command), note=text))
