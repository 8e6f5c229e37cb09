"""The model's list of what is to be done, shown to the user as it changes."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from mewcode.core.outcome import TodoItem, TodoView, ToolOutcome
from mewcode.infra.terminal_text import safe_line
from mewcode.tools.base import Tool, ToolContext


class TodoEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A step of the plan, as the model states it."""

    text: Annotated[
        str, Meta(description="What is to be done, in a few words.", min_length=1, max_length=500)
    ]
    status: Annotated[
        Literal["pending", "in_progress", "done"], Meta(description="How far it is. Default: pending.")
    ] = "pending"


class TodoArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole plan, up to 100 steps."""

    items: Annotated[
        list[TodoEntry],
        Meta(description="The whole list, in order; it replaces the one before.", max_length=100),
    ]


class TodoTool(Tool[TodoArgs]):
    name = "todo"
    read_only = True
    args_type = TodoArgs

    async def run(self, args: TodoArgs, context: ToolContext) -> ToolOutcome:
        """Replaces the session's list."""
        items = [TodoItem(item.text, item.status) for item in args.items]
        context.session.todos[:] = items
        counts = {
            status: sum(item.status == status for item in items)
            for status in ("pending", "in_progress", "done")
        }
        words = f"{counts['done']} done, {counts['in_progress']} in progress, {counts['pending']} pending"
        shown = tuple(TodoItem(safe_line(item.text, 500), item.status) for item in items)
        return ToolOutcome.text(
            f"The list is updated: {words}." if items else "The list is empty.", TodoView(shown)
        )
