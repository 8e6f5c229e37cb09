"""`list`, `show`, `history`, `path`, `why`, `off`: they change no note."""

from __future__ import annotations

from mewcode.memory.answers.reading import changes, listed, shown
from mewcode.memory.answers.view import Answer
from mewcode.memory_commands.context import Context


def list_all(context: Context) -> Answer:
    return listed(context.view, everything=context.flags.all)


def show(context: Context) -> Answer:
    from mewcode.agent.work_tree import WorkTree

    context.view.tree = WorkTree(context.places.root, context.environ.get("PATH", ""))
    return shown(context.view, " ".join(context.words))


def history(context: Context) -> Answer:
    return changes(context.view, context.flags.limit)


def path(context: Context) -> Answer:
    if context.words:
        entry = context.view.find(" ".join(context.words))
        found = str(context.store.path(entry))
        return Answer({"path": found}, (found,))
    folders = {
        level: str(store.folder)
        for level, store in context.store.levels.items()
        if context.level in (None, level)
    }
    lines = (
        [*folders.values()] if context.level else [f"{level:<8} {where}" for level, where in folders.items()]
    )
    return Answer(folders, tuple(lines))


def why(context: Context) -> Answer:
    """Of the newest session of this folder, or of the one that is named."""
    from mewcode.agent.why import why_of_session

    return why_of_session(context.view, context.places, " ".join(context.words))


def off(context: Context) -> Answer:
    """How notes are switched off: by the config or a flag, not by this command."""
    config = context.places.user / "config.yaml"
    return Answer(
        {"key": "memory.enabled", "config": config},
        (
            f"for good: memory: {{enabled: false}} in {config}",
            "for one start: mewcode --no-memory",
            "for the session you are in: /memory off, and /memory on",
            "No note is read or written then; those that there are stay where they are.",
        ),
    )


COMMANDS = {
    "list": list_all, "show": show, "history": history, "path": path, "why": why, "off": off,
}  # fmt: skip
