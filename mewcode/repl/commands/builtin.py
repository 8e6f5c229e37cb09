"""The list of the commands that MewCode brings. What they do is loaded when they are first given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mewcode.core.access import MODES
from mewcode.permissions.modes import DESCRIPTIONS
from mewcode.repl.commands.note_names import NoteNames
from mewcode.repl.commands.recent import RecentSessions
from mewcode.repl.commands.registry import Command, CommandRegistry, Desk, Outcome, Run, Values

if TYPE_CHECKING:
    from mewcode.agent.session import Session

MEMORY_WORDS: Values = (
    ("list", "the notes in force; list --all also the others"),
    ("add", "[TYPE] TEXT: kept at once, as # TEXT"),
    ("show", "NAME: one note, whole"),
    ("why", "which notes stood before the last answer, and where each is from"),
    ("inbox", "what waits for your yes; inbox approve 1, inbox refuse 1"),
    ("undo", "[ID]: takes back the last change, or that one"),
    ("history", "what was changed, by whom"),
    ("tidy", "merges, closes and shortens notes now"),
    ("forget", "NAME: deletes it; restore brings it back"),
    ("restore", "[NAME]: what was forgotten or closed; without NAME lists it"),
    ("pin", "NAME: it stands whole in each prompt"),
    ("unpin", "NAME: takes that back"),
    ("move", "NAME LEVEL: to the level user or project"),
    ("off", "no notes in this session: none is read, none is written"),
    ("on", "notes again"),
)
THEME_CHOICES: Values = (
    ("auto", "what the terminal suggests"),
    ("dark", "for a dark background"),
    ("light", "for a light background"),
    ("high-contrast", "the terminal's own sixteen colours, bold where it matters"),
    ("no-color", "no colour at all"),
)


def _in(module: str, function: str) -> Run:
    """The command ``function`` of a module beside this one, imported when it is first run."""

    async def run(desk: Desk, argument: str) -> Outcome:
        import importlib

        found: Run = getattr(importlib.import_module(f"mewcode.repl.commands.{module}"), function)
        return await found(desk, argument)

    return run


_MORE = (
    Command(
        "memory",
        "the notes: a browser, and words that list, add, show and change them",
        _in("memory", "memory"),
        "[WORD ...]",
        MEMORY_WORDS,
        anytime=True,
        look_up=NoteNames(),
    ),
    Command(
        "context",
        "what fills the model's window, and when it is summed up",
        _in("context", "context"),
        anytime=True,
    ),
    Command(
        "compact",
        "sum the conversation up now, to make room in the model's window",
        _in("context", "compact"),
        "[WHAT TO KEEP IN MIND]",
    ),
)


def builtin_commands() -> CommandRegistry:
    """The commands that MewCode brings."""
    registry = CommandRegistry()

    async def show_help(desk: Desk, argument: str) -> Outcome:
        from mewcode.repl.commands.help import help_tables

        return help_tables(registry, argument)

    for command in (
        Command("help", "this list", show_help, group="help", anytime=True),
        Command("bug", "write a report with secrets left out, to send along; says where it is",
                _in("bug", "bug"), "[--with-conversation]",
                (("--with-conversation", "with what was said, secrets left out"),), "help"),
        Command("exit", "leave; the session is kept and `mewcode -c` continues it", _in("session", "leave")),
        Command("quit", "the same as /exit", _in("session", "leave")),
        Command("clear", "begin a new conversation; the old one stays in the archive",
                _in("session", "clear")),
        Command("resume", "continue another session: by id or name, or from the picker",
                _in("archive", "resume"), "[ID or NAME]", anytime=True, look_up=RecentSessions()),
        Command("rewind", "go back to an earlier message: conversation, files, or both; undo takes it back",
                _in("rewind", "rewind"), "[undo]", (("undo", "takes the last rewind back"),), anytime=True),
        Command("fork", "go on in a new session; the old one stays as it is", _in("archive", "fork"),
                anytime=True),
        Command("export", "write this session to a .md, .json or .html file; secrets are blacked out"
                " unless --raw", _in("export", "export"), "[FILE] [--raw]", anytime=True, look_up=_files),
        Command("rename", "give this session a name", _in("labels", "rename"), "TITLE", anytime=True),
        Command("pin", "keep this session whatever its age", _in("labels", "pin"), "[off]",
                (("off", "no longer"),), anytime=True),
        Command("tag", "add tags to this session; -TAG takes one away", _in("labels", "tag"), "TAG",
                anytime=True),
        Command("init", "write a first MEWCODE.md, or let the model write one; never overwrites",
                _in("init", "init")),
        Command("instructions", "the files of instructions as loaded, what was left out and why",
                _in("instructions", "instructions"), anytime=True),
        Command("reload", "read the instructions again now", _in("instructions", "reload")),
        Command("status", "a full snapshot: session, model, mode, folder, terminal",
                _in("status", "status"), anytime=True),
        Command("cost", "tokens and dollars by model, of this session and this week",
                _in("costs", "cost"), anytime=True),
        *_MORE,
        Command("todos", "the list of what is to be done", _in("session", "todos"), anytime=True),
        Command("copy", "copy the last answer, or its N-th code block", _in("copy", "copy"), "[N]",
                anytime=True),
        Command("model", "show or change the model, also to another provider's", _in("model", "model"),
                "[NAME]", _model_values, "model"),
        Command("btw", "ask aside: sees the conversation, leaves no trace in it", _in("aside", "btw"),
                "QUESTION", group="model", anytime=True),
        Command("mode", "show or change the permission mode", _in("permissions", "mode"), "[MODE]",
                tuple((mode, DESCRIPTIONS[mode]) for mode in MODES), "permissions", anytime=True),
        Command("permissions", "the rules in force and where each comes from",
                _in("permissions", "permissions"), "[RULE]", _permission_values, "permissions"),
        Command("theme", "show or change the colours; --save keeps them", _in("settings", "theme"),
                "[NAME] [--save]", THEME_CHOICES, "settings", anytime=True),
        Command("config", "each setting, and where it comes from", _in("settings", "config"), "[KEY]",
                _config_values, "settings", anytime=True),
        Command("editor", "write the next input in $EDITOR", _in("session", "editor"), group="input"),
    ):  # fmt: skip
        registry.add(command)
    return registry


def _model_values(session: Session) -> Values:
    return tuple((name, "") for name in session.known_models)


def _files(session: Session, typed: str) -> Values:
    from mewcode.repl.folder_list import list_folder

    return tuple((name, "") for name in list_folder(typed, session.around.places.cwd))


def _permission_values(session: Session) -> Values:
    added = [rule for level, _, rule in session.policy.explain() if level == "session"]
    kinds = (("allow", "RULE: allowed for this session"), ("ask", "RULE: always asked for"),
             ("deny", "RULE: refused"))  # fmt: skip
    return (*kinds, *((f"remove {rule}", "given in this session") for rule in added))


def _config_values(session: Session) -> Values:
    from mewcode.config.describe import describe

    return tuple((key, origin) for key, _, origin in describe(session.around.loaded))
