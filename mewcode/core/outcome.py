"""A tool's outcome: what the model reads apart from what the person sees."""

from __future__ import annotations

import msgspec

from mewcode.core.message import Image, Text


class TextView(msgspec.Struct, frozen=True, tag="text"):
    """A note for the card: ``summary`` on its line ("120 lines"), ``body`` folded below it."""

    summary: str = ""
    body: str = ""


class DiffView(msgspec.Struct, frozen=True, tag="diff"):
    """A change of a file: whole texts before and after, newlines as ``\\n``."""

    path: str
    before: str
    after: str
    created: bool = False


class CommandView(msgspec.Struct, frozen=True, tag="command"):
    """``exit_code`` is None while it runs, in the background, or when it was ended."""

    command: str
    output: str = ""
    exit_code: int | None = None
    note: str = ""


class TodoItem(msgspec.Struct, frozen=True):
    text: str
    status: str = "pending"


class TodoView(msgspec.Struct, frozen=True, tag="todo"):
    items: tuple[TodoItem, ...]


View = TextView | DiffView | CommandView | TodoView


class Whole(msgspec.Struct, frozen=True):
    """A text of which a result shows only a part. ``said_at``: the place in the result's first text, in
    characters, where the model is to be told where all of it is."""

    text: str
    said_at: int


class ToolOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """``content`` goes to the model, ``view`` to the screen. ``whole`` is kept beside the conversation."""

    content: tuple[Text | Image, ...]
    view: View | None = None
    is_error: bool = False
    whole: Whole | None = None

    @classmethod
    def text(cls, text: str, view: View | None = None, *, is_error: bool = False) -> ToolOutcome:
        return cls((Text(text),), view, is_error)
