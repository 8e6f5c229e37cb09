"""The tools by name, and what a model is told of them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mewcode.core.tool_spec import ToolSpec
from mewcode.tools.arguments import decode_args
from mewcode.tools.ask_user import AskUserTool
from mewcode.tools.base import AnyTool
from mewcode.tools.bash import BashTool
from mewcode.tools.bash_output import BashOutputTool
from mewcode.tools.bash_stop import BashStopTool
from mewcode.tools.edit_file import EditFileTool
from mewcode.tools.glob import GlobTool
from mewcode.tools.grep import GrepTool
from mewcode.tools.list_dir import ListDirTool
from mewcode.tools.read_file import ReadFileTool
from mewcode.tools.schema import schema_of
from mewcode.tools.todo import TodoTool
from mewcode.tools.web_fetch import WebFetchTool
from mewcode.tools.write_file import WriteFileTool

__all__ = ["Registry", "builtin_tools", "decode_args"]

# Names that models know from elsewhere, for `Registry.nearest`.
_ELSEWHERE = {
    "cat": "read_file",
    "create_file": "write_file",
    "execute": "bash",
    "fetch": "web_fetch",
    "find": "glob",
    "ls": "list_dir",
    "multi_edit": "edit_file",
    "open": "read_file",
    "read": "read_file",
    "run": "bash",
    "search": "grep",
    "shell": "bash",
    "str_replace": "edit_file",
    "terminal": "bash",
    "view": "read_file",
    "write": "write_file",
}


def builtin_tools() -> tuple[AnyTool, ...]:
    """One of each tool that MewCode brings."""
    return (
        AskUserTool(),
        BashOutputTool(),
        BashStopTool(),
        BashTool(),
        EditFileTool(),
        GlobTool(),
        GrepTool(),
        ListDirTool(),
        ReadFileTool(),
        TodoTool(),
        WebFetchTool(),
        WriteFileTool(),
    )


class Registry:
    """A fixed set of tools, in the order of their names, so that a prompt's cached prefix holds."""

    __slots__ = ("_specs", "_tools")

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        """Raises ValueError where two tools have one name."""
        self._tools: dict[str, AnyTool] = {}
        for tool in sorted(tools, key=lambda tool: tool.name):
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name}")
            self._tools[tool.name] = tool
        self._specs: tuple[ToolSpec, ...] | None = None

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told: sorted by name, made once and the same ever after."""
        if self._specs is None:
            self._specs = tuple(map(_spec, self._tools.values()))
        return self._specs

    def get(self, name: str) -> AnyTool | None:
        """The tool of exactly this name."""
        return self._tools.get(name)

    def nearest(self, name: str) -> str | None:
        """The name that a model most likely meant by one that does not exist; None where nothing is near."""
        import difflib  # only on a mistake

        plain = name.strip().lower().replace("-", "_")
        known = _ELSEWHERE.get(plain, plain)
        if known in self._tools:
            return known
        return next(iter(difflib.get_close_matches(plain, self._tools, 1, 0.6)), None)


def _spec(tool: AnyTool) -> ToolSpec:
    args_type: type[msgspec.Struct] = tool.args_type
    return ToolSpec(tool.name, tool.description, schema_of(args_type))
