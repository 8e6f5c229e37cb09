"""The last line of the screen: model, mode, context, cost, what waits, what runs, folder and branch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.infra.terminal_text import safe_line

if TYPE_CHECKING:
    from mewcode.agent.session import Session


# Tasks of a session that a user may wonder about, and what they do.
_TASKS = {
    "index": "indexing",
    "extract": "taking notes",
    "consolidate": "tidying notes",
    "summary": "summing up ahead",
}


def background_text(session: Session | None, queued: int) -> str:
    """What waits and what goes on behind the conversation: ``2 queued · 1 command running · indexing``."""
    parts = [f"{queued} queued"] if queued else []
    if session is not None:
        processes = session.tools.session.shell.background.values()
        if running := sum(process.running for process in processes):
            parts.append(f"{running} command{'s' if running != 1 else ''} running")
        parts += dict.fromkeys(_TASKS[name] for name in session.background.running if name in _TASKS)
    return " · ".join(parts)


def status_text(
    session: Session | None, folder: str, branch: str, width: int, label: str = "", background: str = ""
) -> str:
    """One line of at most ``width`` characters; what matters least is left out first. ``label`` always
    stands in front (the demo's)."""
    parts = [label] if label else []
    if session is None:
        parts.append("starting…")
    else:
        model = session.model
        if session.archive.failing:
            # In front, and without its reason, which was told when it began: it must always fit.
            parts.append(session.archive.failing.partition(":")[0].upper())
        parts += [model.name or session.provider.name, session.mode]
        if used := session.context_tokens:
            parts.append(f"{min(100, 100 * used // model.context_window)} % context")
        cost = session.agent.cost_usd
        if cost:
            parts.append(f"${cost:.2f}")
    parts += [background, folder, branch]
    shown: list[str] = []
    for part in filter(None, parts):
        taken = sum(map(len, shown)) + 3 * len(shown)
        # A folder that lies deep is named by its own name rather than not at all.
        choices = (part, f"…/{part.rpartition('/')[2]}") if part == folder and "/" in part else (part,)
        shown += [choice for choice in choices if taken + len(choice) < width - 2][:1]
    return safe_line(" · ".join(shown) if shown else label, width - 1)


def short_folder(path: Path, home: Path) -> str:
    """The folder as people write it: ``~/src/app``."""
    return f"~/{path.relative_to(home)}".removesuffix("/.") if path.is_relative_to(home) else str(path)
