"""Commands about the session itself."""

from __future__ import annotations

from mewcode.core.outcome import TodoItem, TodoView
from mewcode.infra.terminal_text import safe_line
from mewcode.repl.commands.registry import Clear, Compose, Desk, Outcome, Quit, Say, Shown


async def leave(desk: Desk, argument: str) -> Outcome:
    return Quit()


async def clear(desk: Desk, argument: str) -> Outcome:
    desk.session.clear()
    return Clear()


async def editor(desk: Desk, argument: str) -> Outcome:
    return Compose(argument)


async def todos(desk: Desk, argument: str) -> Outcome:
    items = desk.session.tools.session.todos
    if not items:
        return Say("there is no list yet", "The model makes one for work of several steps.")
    done = sum(item.status == "done" for item in items)
    shown = tuple(TodoItem(safe_line(item.text, 500), item.status) for item in items)
    return Shown(f"{done} of {len(items)} done", TodoView(shown))
