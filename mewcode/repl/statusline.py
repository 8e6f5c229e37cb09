"""The last line of the screen: model, mode, context, cost, folder and branch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.infra.terminal_text import safe_line

if TYPE_CHECKING:
    from mewcode.agent.session import Session


def status_text(session: Session | None, folder: str, branch: str, width: int, label: str = "") -> str:
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
    parts += [folder, branch]
    shown: list[str] = []
    for part in filter(None, parts):
        if sum(map(len, shown)) + 3 * len(shown) + len(part) < width - 2:
            shown.append(part)
    return safe_line(" · ".join(shown) if shown else label, width - 1)


def short_folder(path: Path, home: Path) -> str:
    """The folder as people write it: ``~/src/app``."""
    return f"~/{path.relative_to(home)}".removesuffix("/.") if path.is_relative_to(home) else str(path)
