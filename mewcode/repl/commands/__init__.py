"""The slash commands. They come from a registry and return data; the screen decides how it looks.

`registry` has what a command is and what it may give, `builtin` the list of those that MewCode brings. What a
command does stands in the other modules, each loaded when one of its commands is first given.
"""

from mewcode.repl.commands.builtin import builtin_commands
from mewcode.repl.commands.registry import (
    Above,
    Aside,
    Clear,
    Command,
    CommandRegistry,
    Compose,
    Copy,
    Desk,
    End,
    Later,
    OpenSession,
    Outcome,
    Pick,
    PickSession,
    Quit,
    Resumed,
    Rewound,
    Say,
    Send,
    Shown,
    Step,
    Table,
    Tables,
    UseTheme,
)

__all__ = [
    "Above",
    "Aside",
    "Clear",
    "Command",
    "CommandRegistry",
    "Compose",
    "Copy",
    "Desk",
    "End",
    "Later",
    "OpenSession",
    "Outcome",
    "Pick",
    "PickSession",
    "Quit",
    "Resumed",
    "Rewound",
    "Say",
    "Send",
    "Shown",
    "Step",
    "Table",
    "Tables",
    "UseTheme",
    "builtin_commands",
]
