"""The rule that an approval offers to keep: never wider than the command that was asked about calls for."""

from __future__ import annotations

import re
from collections.abc import Callable

from mewcode.core.errors import ConfigError
from mewcode.permissions.command_rules import quote_word
from mewcode.permissions.rules import Rule
from mewcode.permissions.shell_words import SimpleCommand

_LIMIT = 200  # characters of a rule that a person can take in at a glance

# Sub-commands whose options do not run other programs or reach other machines, or which run the project's own
# code whatever their options are. Every other command is offered as it stands.
_SUB_COMMANDS = {
    "git": frozenset({"add", "commit", "status", "diff", "log", "show", "blame"}),
    "npm": frozenset({"test"}),
    "pnpm": frozenset({"test"}),
    "yarn": frozenset({"test"}),
    "cargo": frozenset({"build", "test", "check", "clippy", "fmt"}),
    "go": frozenset({"build", "test", "vet"}),
    "ruff": frozenset({"check", "format"}),
    "dotnet": frozenset({"build", "test"}),
}
_SCRIPT_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_WHOLE = frozenset({"pytest", "mypy", "pyright", "tsc", "eslint", "mkdir", "touch"})
_SUB_COMMAND = re.compile(r"[a-z][a-z0-9:_-]*")


def suggest_rule(command: SimpleCommand, covers: Callable[[Rule], bool]) -> str:
    """The narrowest useful rule, or an empty text. ``covers`` tells whether a rule covers this very
    command."""
    if not command.name or command.assignments:
        return ""
    for pattern in (_generalised(command), _exact(command)):
        text = f"bash({pattern})"
        if not pattern or len(text) > _LIMIT or not text.isprintable():
            continue
        try:
            rule = Rule.parse(text)
        except ConfigError:
            continue
        if covers(rule):
            return text
    return ""


def _generalised(command: SimpleCommand) -> str:
    name = command.name
    words = [word.text if word.literal and not word.tilde else "" for word in command.words[:3]]
    if name in _WHOLE:
        return f"{name} *"
    if len(words) > 2 and name in _SCRIPT_RUNNERS and words[1] == "run" and _SUB_COMMAND.fullmatch(words[2]):
        return f"{name} run {words[2]} *"
    if len(words) > 1 and words[1] in _SUB_COMMANDS.get(name, ()):
        return f"{name} {words[1]} *"
    return ""


def _exact(command: SimpleCommand) -> str:
    if not all(word.literal for word in command.words):
        return ""
    return " ".join(quote_word(word.text) for word in command.words)
