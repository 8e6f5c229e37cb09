"""A part of the system prompt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec


class PromptModule(msgspec.Struct, frozen=True):
    """Parts stand in the prompt by (priority, name). ``stability`` says how long a rendering holds: "fixed"
    for the life of the program, "session" until the next break of the prompt's prefix. ``render`` returns
    the text, empty for none; it may read files and is called once for each building of the prompt.
    ``source`` says to people where the text comes from."""

    name: str
    priority: int
    stability: Literal["fixed", "session"]
    render: Callable[[], str]
    source: str = ""


def section(name: str, priority: int) -> PromptModule:
    """A fixed part whose text is ``sections/<name>.md``."""
    path = Path(__file__).parent / "sections" / f"{name}.md"
    return PromptModule(name, priority, "fixed", lambda: path.read_text(encoding="utf-8").strip(), "built in")
