"""What a background process has printed since the last look, or a list of all of them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from mewcode.core.errors import ToolError
from mewcode.core.outcome import CommandView, ToolOutcome
from mewcode.infra.terminal_text import safe_line, visible_text
from mewcode.tools.base import Tool, ToolContext, ToolSession
from mewcode.tools.command_report import exit_words, kept_whole, shell_code, shown_tail
from mewcode.tools.shell_session import BackgroundProcess, ShellSession

MAX_WAIT = 60.0


class BashOutputArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A background process by its id (all without one), and seconds to wait for news, 60 at most."""

    id: Annotated[str | None, Meta(description="The process, such as bg1. Left out: list all of them.")] = (
        None
    )
    wait: Annotated[
        float, Meta(description="Seconds to wait for new output or the end. Default 0, at most 60.")
    ] = 0.0


class BashOutputTool(Tool[BashOutputArgs]):
    name = "bash_output"
    read_only = True
    args_type = BashOutputArgs

    def summary(self, args: BashOutputArgs, session: ToolSession) -> str:
        return safe_line(args.id or "all")

    async def run(self, args: BashOutputArgs, context: ToolContext) -> ToolOutcome:
        shell = context.session.shell
        if args.id is None:
            return ToolOutcome.text(_listed(shell))
        process = find_process(shell, args.id)
        if args.wait > 0:
            await process.wait_news(min(args.wait, MAX_WAIT))
        lost, new = process.output.take_output(final=not process.running)
        status = status_words(process, shell.clock())
        code = None if process.returncode is None else shell_code(process.returncode)

        def tell(output: str) -> ToolOutcome:
            body = output.removesuffix("\n") if output.strip() else "(no new output)"
            view = CommandView(
                visible_text(process.command), shown_tail(output), code, f"{process.name}: {status}"
            )
            return ToolOutcome.text(f"{body}\n{process.name}: {status}", view)

        return await kept_whole(new, tell, lost)


def find_process(shell: ShellSession, name: str) -> BackgroundProcess:
    """The background process of that name; raises `ToolError` that names those there are."""
    process = shell.background.get(name.strip())
    if process is None:
        known = ", ".join(shell.background) or "none"
        raise ToolError(f"There is no background process {safe_line(name, 40)!r}. There are: {known}.")
    return process


def status_words(process: BackgroundProcess, now: float) -> str:
    """Whether and how long it runs, or how it ended."""
    if process.running:
        alone = "; its shell has exited, what it started runs on" if process.exited else ""
        return f"running for {now - process.started:.0f} s{alone}"
    how = exit_words(process.returncode) if process.returncode is not None else "ended"
    return f"stopped, {how}" if process.stopped else f"ended, {how}"


def _listed(shell: ShellSession) -> str:
    now = shell.clock()
    lines = [
        f"{process.name}: {status_words(process, now)}; {process.output.unread:,} bytes unread; "
        f"{safe_line(visible_text(process.command), 100)}"
        for process in shell.background.values()
    ]
    return "\n".join(lines) or "No background processes."
