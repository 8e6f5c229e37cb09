"""A shell session and tool calls for the tests of the shell tools."""

import asyncio
import os
from pathlib import Path

from mewcode.tools.base import ToolContext, ToolSession
from mewcode.tools.bash import BashArgs, BashTool
from mewcode.tools.bash_output import BashOutputArgs, BashOutputTool
from mewcode.tools.bash_stop import BashStopArgs, BashStopTool
from mewcode.tools.read_table import ReadTable
from mewcode.tools.shell_session import ShellSession

LIMIT = 30  # seconds; no test comes near it


class Shell:
    """Tool calls on one session; what progress showed is in ``shown``."""

    def __init__(self, folder, environ=None, **options):
        folder = Path(folder).resolve()
        self.state = ShellSession(folder, environ or dict(os.environ), **options)
        self.session = ToolSession(folder, folder, ReadTable(), self.state)
        self.shown = []
        self.heard = asyncio.Event()
        self.context = ToolContext(self.session, "call", self.show)

    def show(self, text):
        self.shown.append(text)
        self.heard.set()

    async def run(self, command, **args):
        return await BashTool().run(BashArgs(command, **args), self.context)

    async def text(self, command, **args):
        return (await self.run(command, **args)).content[0].text

    async def look(self, name=None, wait=0):
        return (await BashOutputTool().run(BashOutputArgs(name, wait), self.context)).content[0].text

    async def stop(self, name):
        return (await BashStopTool().run(BashStopArgs(name), self.context)).content[0].text


def with_shell(folder, scenario, **options):
    """Runs ``scenario(shell)`` within the limit; it must leave no descriptor open and no process."""

    async def limited():
        async with asyncio.timeout(LIMIT):
            before = os.listdir("/dev/fd")
            shell = Shell(folder, **options)
            try:
                return await scenario(shell)
            finally:
                await shell.state.aclose()
                assert len(os.listdir("/dev/fd")) == len(before)
                assert not shell.state._foreground

    return asyncio.run(limited())
