"""Rules: ``tool`` or ``tool(pattern)``.

The pattern's form follows what the tool does: a path for the file tools (`permissions.path_rules`), a
command for ``bash`` (`permissions.command_rules`), a host for ``web_fetch`` (`permissions.host_rules`).
Tools of MCP servers are named ``mcp__server__tool``, take no pattern, and may end in ``*``:
``mcp__server__*``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from mewcode.core.errors import ConfigError
from mewcode.permissions.host_rules import HostPattern, parse_host_pattern
from mewcode.permissions.path_rules import PathPattern, parse_path_pattern

if TYPE_CHECKING:
    from mewcode.permissions.command_rules import CommandPattern

PATH_TOOLS = ("read_file", "write_file", "edit_file", "list_dir", "glob", "grep")
NOTE_TOOLS = ("save_note", "search_notes", "read_note", "forget_note")
_SEARCH_TOOLS = ("search_docs", "search_history", "read_history")
_PLAIN_TOOLS = ("todo", "ask_user", "bash_output", "bash_stop", *NOTE_TOOLS, *_SEARCH_TOOLS)
TOOLS = (*PATH_TOOLS, "bash", "web_fetch", *_PLAIN_TOOLS)

_FORM = re.compile(r"([A-Za-z0-9_-]+\*?)(?:\((.*)\))?", re.DOTALL)
_MCP = re.compile(r"mcp__[A-Za-z0-9_-]+__(?:[A-Za-z0-9_-]*\*?)")


class Rule(msgspec.Struct, frozen=True):
    """``text`` is the rule as it was written; ``pattern`` is None where it is for every use of the tool."""

    text: str
    tool: str
    pattern: PathPattern | CommandPattern | HostPattern | None = None

    @classmethod
    def parse(cls, text: str, where: str = "") -> Rule:
        """Raises ConfigError that names the rule and what is wrong; ``where`` is the place it stands in."""
        text = text.strip()
        found = _FORM.fullmatch(text)
        if not found:
            raise ConfigError(
                f"rule {text!r}: not of the form tool or tool(pattern)",
                "For example: bash(git status *)",
                where,
            )
        tool, inner = found[1], found[2]
        if problem := _tool_problem(tool, inner is not None):
            raise ConfigError(
                f"rule {text!r}: {problem}", f"Tools: {', '.join(TOOLS)}, mcp__server__tool", where
            )
        if inner is None:
            return cls(text, tool)
        try:
            return cls(text, tool, _pattern(tool, inner))
        except ValueError as error:
            raise ConfigError(f"rule {text!r}: {error}", _EXAMPLES[_kind(tool)], where) from error

    def names(self, tool: str) -> bool:
        """Whether the rule is about this tool at all."""
        if self.tool.endswith("*"):
            return tool.startswith(self.tool[:-1])
        return tool == self.tool


_EXAMPLES = {
    "path": "For example: read_file(src/**), edit_file(~/notes/*), read_file(/etc/hosts)",
    "command": "For example: bash(git status), bash(npm run *)",
    "host": "For example: web_fetch(example.com), web_fetch(*.example.com)",
}


def _kind(tool: str) -> str:
    return {"bash": "command", "web_fetch": "host"}.get(tool, "path")


def _tool_problem(tool: str, has_pattern: bool) -> str:
    if tool in PATH_TOOLS or tool in ("bash", "web_fetch"):
        return ""
    if _MCP.fullmatch(tool) or tool in _PLAIN_TOOLS:
        return f"{tool!r} takes no pattern" if has_pattern else ""
    if "*" in tool:
        return "a '*' in a tool's name is for MCP servers alone: mcp__server__*"
    import difflib  # only on the way to an error

    near = difflib.get_close_matches(tool.lower(), TOOLS, n=1, cutoff=0.7)
    if near:
        return f"no tool is named {tool!r}; did you mean {near[0]!r}?"
    # A tool that an extension brings. It has no pattern that could be understood.
    return f"no tool named {tool!r} takes a pattern" if has_pattern else ""


def _pattern(tool: str, inner: str) -> PathPattern | CommandPattern | HostPattern:
    if not inner.strip():
        raise ValueError("empty brackets; leave them out to mean every use of the tool")
    if tool == "bash":
        # Only for those who have such rules: every start parses the rules.
        from mewcode.permissions.command_rules import parse_command_pattern

        return parse_command_pattern(inner)
    return parse_host_pattern(inner) if tool == "web_fetch" else parse_path_pattern(inner)


class RuleSet(msgspec.Struct, frozen=True):
    """The rules of one level."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    @classmethod
    def parse(
        cls, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = (), where: str = ""
    ) -> RuleSet:
        """Raises ConfigError for the first rule that is wrong, naming ``where`` (a file, a flag)."""

        def parsed(kind: str, rules: Iterable[str]) -> tuple[Rule, ...]:
            place = f"{where} permissions.{kind}" if where and not where.startswith("-") else where
            return tuple(Rule.parse(rule, place) for rule in rules)

        return cls(parsed("allow", allow), parsed("ask", ask), parsed("deny", deny))
