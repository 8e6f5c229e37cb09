"""`/help`: the commands by group, and the keys."""

from __future__ import annotations

from mewcode.repl.commands.registry import CommandRegistry, Outcome, Say, Table, Tables

# Groups in the order in which they are wanted; one that is not named here comes before the last.
_ORDER = ("session", "model", "permissions", "input", "settings", "help")

KEYS = (
    ("enter", "send; while a turn runs: queue for the next step"),
    ("alt-enter, ctrl-j, or \\ at the end", "new line"),
    ("esc", "stop the turn, keep what came"),
    ("esc esc", "on an empty line: go back to an earlier message, as /rewind"),
    ("ctrl-c", "stop the turn; at rest clear the line, then leave"),
    ("shift-tab", "next permission mode"),
    ("ctrl-o", "the full transcript, with search"),
    ("up, down, ctrl-r", "earlier input; ctrl-r searches it"),
    ("alt-up", "take back what is queued"),
    ("@path, @path#20-45", "attach a file, some of its lines, a folder, a picture; tab completes"),
    ("ctrl-v", "attach the picture in the clipboard"),
    ("ctrl-x ctrl-e", "write in your editor"),
    ("ctrl-z", "suspend; fg in the shell brings it back"),
    ("!command", "run a command of yours; the model sees its output"),
    ("# text", "keep a note; the model knows of it with your next message"),
)


def help_tables(registry: CommandRegistry, name: str = "") -> Outcome:
    """All commands in groups, or the one of that name."""
    name = name.removeprefix("/")
    if name:
        command = registry.commands.get(name)
        if command is None:
            return Say(f"there is no command /{name}", "/help lists them.")
        rows = ((f"/{command.name} {command.usage}".strip(), command.summary), *command.choices(None))
        return Table(f"/{name}", rows)
    groups: dict[str, list[tuple[str, str]]] = {group: [] for group in _ORDER[:-1]}
    for command in registry.commands.values():
        row = (f"/{command.name} {command.usage}".strip(), command.summary)
        groups.setdefault(command.group, []).append(row)
    tables = [Table(group, tuple(sorted(rows))) for group, rows in groups.items() if rows]
    return Tables((*tables, Table("keys", KEYS)))
