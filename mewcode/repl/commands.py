"""The slash commands. They come from a registry and return data; the screen decides how it looks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mewcode.core.access import MODES, Mode
from mewcode.core.errors import MewCodeError
from mewcode.permissions.modes import DESCRIPTIONS
from mewcode.repl.panel import Option

if TYPE_CHECKING:
    from mewcode.agent.session import Session


@dataclass(frozen=True, slots=True)
class Say:
    """A line or two."""

    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title; every row has as many cells as ``header`` (which may be empty)."""

    title: str
    rows: tuple[tuple[str, ...], ...]
    header: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pick:
    """A choice to be made; ``then`` gets the value chosen and gives what follows."""

    title: str
    options: tuple[Option, ...]
    then: Callable[[str], Outcome]
    selected: int = 0


@dataclass(frozen=True, slots=True)
class Clear:
    """The conversation was ended and the screen should be."""


@dataclass(frozen=True, slots=True)
class Quit:
    """The user wants out."""


Outcome = Say | Table | Pick | Clear | Quit

Run = Callable[["Session", str], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Command:
    """``usage`` shows the argument, ``values`` the ones that can be completed."""

    name: str
    summary: str
    run: Run
    usage: str = ""
    values: tuple[str, ...] = ()
    group: str = "session"


@dataclass(slots=True)
class CommandRegistry:
    commands: dict[str, Command] = field(default_factory=dict)

    def add(self, command: Command) -> None:
        """Raises ValueError where the name is taken."""
        if command.name in self.commands:
            raise ValueError(f"two commands are called /{command.name}")
        self.commands[command.name] = command

    async def run(self, session: Session, line: str) -> Outcome:
        """Runs ``/name argument``. An unknown name is answered with the nearest; a failure in its words."""
        name, _, argument = line.removeprefix("/").strip().partition(" ")
        command = self.commands.get(name)
        if command is None:
            import difflib  # only on a mistake

            near = difflib.get_close_matches(name, self.commands, 1, 0.5)
            hint = f"Did you mean /{near[0]}?" if near else "/help lists them."
            return Say(f"there is no command /{name}", hint)
        try:
            return await command.run(session, argument.strip())
        except MewCodeError as error:
            return Say(error.message, error.hint)


def builtin_commands() -> CommandRegistry:
    """The commands that MewCode brings."""
    registry = CommandRegistry()

    async def show_help(session: Session, argument: str) -> Outcome:
        commands = sorted(registry.commands.values(), key=lambda command: (command.group, command.name))
        rows = tuple((f"/{command.name} {command.usage}".strip(), command.summary) for command in commands)
        return Table("commands", (*rows, *_KEYS))

    for command in (
        Command("help", "this list", show_help, group="help"),
        Command("exit", "leave; the session is kept and `mewcode -c` continues it", _exit),
        Command("quit", "the same as /exit", _exit),
        Command("clear", "begin a new conversation; the old one stays in the archive", _clear),
        Command("model", "show or change the model", _model, "[NAME]", group="model"),
        Command("mode", "show or change the permission mode", _mode, "[MODE]", MODES, "permissions"),
        Command("permissions", "the rules in force", _permissions, "[RULE]", group="permissions"),
        Command("status", "session, model, mode, folder", _status),
        Command("cost", "tokens and dollars of this session, by model", _cost),
    ):
        registry.add(command)
    return registry


_KEYS = (
    ("enter", "send; while a turn runs: queue for the next step"),
    ("alt-enter, ctrl-j, or \\ at the end", "new line"),
    ("esc", "stop the turn, keep what came"),
    ("ctrl-c", "stop the turn; at rest clear the line, then leave"),
    ("shift-tab", "next permission mode"),
    ("up, down", "earlier input"),
)


async def _exit(session: Session, argument: str) -> Outcome:
    return Quit()


async def _clear(session: Session, argument: str) -> Outcome:
    session.clear()
    return Clear()


async def _model(session: Session, argument: str) -> Outcome:
    if argument:
        return _use_model(session, argument)
    offered = await session.provider.list_models()
    current = session.model.name
    names = list(offered) if current in offered or not current else [current, *offered]
    if not names:
        return Say("the service lists no models", "Name one: /model NAME")
    options = tuple(Option(name, name, _about(session, name)) for name in names)
    selected = names.index(current) if current in names else 0
    return Pick("choose a model", options, lambda name: _use_model(session, name), selected)


def _about(session: Session, name: str) -> str:
    info = session.find_model(name)
    price = f"${info.price.input:g} in, ${info.price.output:g} out per million" if info.price else ""
    window = f"{info.context_window // 1000:,}k window"
    return " · ".join(part for part in (window, price, "images" if info.vision else "") if part)


def _use_model(session: Session, name: str) -> Outcome:
    session.use_model(name)
    return Say(f"model: {name}", _about(session, name))


async def _mode(session: Session, argument: str) -> Outcome:
    if argument in MODES:
        return _use_mode(session, argument)
    if argument:
        return Say(f"there is no mode {argument!r}", f"Modes: {', '.join(MODES)}")
    options = tuple(Option(mode, mode, DESCRIPTIONS[mode]) for mode in MODES)
    return Pick("permission mode", options, lambda mode: _use_mode(session, mode), MODES.index(session.mode))


def _use_mode(session: Session, name: str) -> Outcome:
    mode: Mode = next(mode for mode in MODES if mode == name)
    session.use_mode(mode)
    return Say(f"mode: {mode}", DESCRIPTIONS[mode])


async def _permissions(session: Session, argument: str) -> Outcome:
    if argument:
        session.policy.add_session_rule(argument)
        return Say(f"allowed for this session: {argument}")
    rows = tuple(session.policy.explain())
    mode = ("mode", session.mode, DESCRIPTIONS[session.mode])
    return Table("permissions", (mode, *rows), ("level", "kind", "rule"))


async def _status(session: Session, argument: str) -> Outcome:
    model, session_tools = session.model, session.tools.session
    used = session.context_tokens
    window = f"{used:,} of {model.context_window:,} tokens ({100 * used // model.context_window} %)"
    saving = session.archive.failing or "saved"
    background = [f"{name}: {process.command}" for name, process in session_tools.shell.background.items()]
    rows = (
        ("session", session.id),
        ("archive", saving),
        ("model", f"{model.name or 'not chosen yet'} ({session.provider.name})"),
        ("context", window),
        ("mode", f"{session.mode}: {DESCRIPTIONS[session.mode]}"),
        ("workspace", str(session_tools.root)),
        ("folder", str(session_tools.cwd)),
        ("messages", str(len(session.agent.conversation.messages))),
        ("background", "\n".join(background) or "nothing"),
    )
    return Table("status", rows)


async def _cost(session: Session, argument: str) -> Outcome:
    header = ("model", "input", "cache read", "cache write", "output", "cost")
    rows = []
    for name, usage in session.usage_by_model.items():
        cost = session.find_model(name).cost(usage)
        counts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens)
        rows.append((name, *(f"{count:,}" for count in counts), _dollars(cost)))
    if not rows:
        return Say("nothing was spent in this session yet")
    total = ("all", "", "", "", "", _dollars(session.agent.cost_usd))
    return Table("cost of this session", (*rows, total), header)


def _dollars(cost: float | None) -> str:
    return "price unknown" if cost is None else f"${cost:.4f}"
