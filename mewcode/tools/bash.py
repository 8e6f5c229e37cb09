"""Runs a shell command: bounded in time and output, and gone with all its children at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from mewcode.core.access import Access, CommandAccess
from mewcode.core.outcome import CommandView, ToolOutcome, View
from mewcode.infra.terminal_text import safe_line, visible_text
from mewcode.tools.base import Tool, ToolContext, ToolSession
from mewcode.tools.bounded_output import KEPT_LIMIT, BoundedOutput, LiveText
from mewcode.tools.command_report import exit_words, kept_whole, shell_code, shown_tail
from mewcode.tools.shell_session import Finished, ShellSession


class BashArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A command for the session's shell. Limits of time are seconds; see `shell_session` for the bounds."""

    command: Annotated[str, Meta(description="The command, for bash. It gets no input.", min_length=1)]
    timeout: Annotated[
        float | None,
        Meta(description="Seconds after which it is ended: usually 120 without it, and at most 600."),
    ] = None
    background: Annotated[
        bool, Meta(description="Start it and go on at once: for servers and watchers. No time limit.")
    ] = False
    description: Annotated[
        str | None, Meta(description="What it does, in five to ten words, for the user.")
    ] = None


class BashTool(Tool[BashArgs]):
    name = "bash"
    args_type = BashArgs

    def accesses(self, args: BashArgs, session: ToolSession) -> Sequence[Access]:
        return (CommandAccess(args.command, str(session.shell.standing())),)

    def summary(self, args: BashArgs, session: ToolSession) -> str:
        return safe_line(visible_text(args.command))

    def preview(self, args: BashArgs, session: ToolSession) -> View | None:
        return CommandView(visible_text(args.command), note="in the background" if args.background else "")

    async def run(self, args: BashArgs, context: ToolContext) -> ToolOutcome:
        """Runs the command and tells how it ended. An exit code other than 0 is an answer, no error; a time
        limit that was reached is one."""
        shell = context.session.shell
        before = shell.cwd
        notes = [] if shell.settle_cwd() else [f"The folder {before} is gone; this ran in {shell.cwd}."]
        if args.background:
            return _start(args.command, shell, notes)
        loop = asyncio.get_running_loop()
        output = BoundedOutput(kept=KEPT_LIMIT)
        live = LiveText(context.progress, shell.clock, loop.call_later)

        def take(data: bytes) -> None:
            output.feed(data)
            live.feed(data)

        started_in = shell.cwd
        asked = args.timeout if args.timeout is not None and args.timeout > 0 else shell.timeout
        timeout = min(asked, shell.max_timeout)
        try:
            finished = await shell.run(args.command, timeout, take)
        finally:
            live.close()
        notes += _notes(finished, timeout, shell.max_timeout)
        if shell.cwd != started_in:
            notes.append(f"The shell now stands in {shell.cwd}.")
        return await kept_whole(output, lambda shown: _outcome(args.command, shown, finished, notes))


def _start(command: str, shell: ShellSession, notes: list[str]) -> ToolOutcome:
    process = shell.start_background(command)
    text = f"Started in the background as {process.name}. bash_output shows its output, bash_stop ends it."
    return ToolOutcome.text(
        "\n".join([text, *notes]),
        CommandView(visible_text(command), note=f"in the background: {process.name}"),
    )


def _notes(finished: Finished, timeout: float, longest: float) -> list[str]:
    notes = []
    if finished.timed_out:
        notes.append(
            f"Timed out after {timeout:g} s: the command and what it started were ended. Give it more time "
            f"(timeout, at most {longest:g}), or run it with background: true."
        )
    if finished.left:
        processes = "a process" if finished.left == 1 else f"{finished.left} processes"
        notes.append(
            f"It left {processes} running, which ended with it. Use background: true for what should run on."
        )
    if finished.stray:
        notes.append("A process that it detached still runs; its output is not followed any more.")
    return notes


def _outcome(command: str, output: str, finished: Finished, notes: list[str]) -> ToolOutcome:
    lines = [output.removesuffix("\n")] if output.strip() else ["(no output)"]
    if finished.returncode and not finished.timed_out:
        lines.append(exit_words(finished.returncode))
    view = CommandView(
        visible_text(command),
        shown_tail(output),
        None if finished.timed_out else shell_code(finished.returncode),
        " ".join(notes),
    )
    return ToolOutcome.text("\n".join(lines + notes), view, is_error=finished.timed_out)
