"""The words of a rewind: the messages to go back to, the files it would change, what it has done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mewcode.infra.terminal_text import safe_line
from mewcode.repl.duration import duration
from mewcode.repl.panel import Option

if TYPE_CHECKING:
    from mewcode.agent.rewind import FileChange, RewindPoint, RewindReport

_TEXT = 100
_PATH = 60
# Files that are named, so that a panel's title has room for all kinds of them (it shows 8 lines).
_LISTED = 4
_LISTED_APART = 2
_ACTIONS = {"create": "is made again", "delete": "is removed", "mode": "its permissions"}


def point_options(points: Sequence[RewindPoint], now: float) -> tuple[Option, ...]:
    """One for each message: its first line, its age, the files changed since."""
    return tuple(
        Option(point.id, safe_line(point.text, _TEXT) or "(no words)", _about(point, now)) for point in points
    )


def _about(point: RewindPoint, now: float) -> str:
    parts = [f"{duration(now - point.ts)} ago"] if point.ts else []
    if point.files:
        lost = "" if point.restorable else ", not all can be restored"
        parts.append(f"{files_text(point.files)} changed since{lost}")
    return " · ".join(parts)


def files_text(count: int) -> str:
    return f"{count} file{'s' if count != 1 else ''}"


def preview_title(title: str, changes: Sequence[FileChange]) -> str:
    """What would be restored, each file with its lines gained and lost; then what cannot be."""
    wanted = [change for change in changes if not change.impossible]
    lost = [change for change in changes if change.impossible]
    lines = [f"before: {title}"]
    if not changes:
        lines.append("no file was changed since")
    lines += _listed([_change_line(change) for change in wanted], _LISTED)
    lines += _listed(
        [f"· cannot be restored: {_reason(change, change.impossible)}" for change in lost], _LISTED_APART
    )
    return "\n".join(lines)


def conflict_title(conflicts: Sequence[FileChange]) -> str:
    """The files that somebody else changed since."""
    head = f"{files_text(len(conflicts))} changed since by something other than this session"
    return "\n".join(
        [head, *_listed([f"· {_reason(change, change.conflict)}" for change in conflicts], _LISTED)]
    )


def report_words(report: RewindReport) -> tuple[str, str]:
    """What a rewind has done, on one line; and what it has not, in lines."""
    done = []
    if report.conversation:
        count = abs(report.messages)
        done.append(
            f"{count} message{'s' if count != 1 else ''} {'back' if report.messages < 0 else 'taken off'}"
        )
    if report.restored:
        names = ", ".join(safe_line(change.shown, _PATH) for change in report.restored[:_LISTED])
        more = len(report.restored) - _LISTED
        and_more = f" and {more} more" if more > 0 else ""
        done.append(f"{files_text(len(report.restored))} restored: {names}{and_more}")
    lines = [f"left as it is: {_reason(change, change.conflict)}" for change in report.conflicts]
    lines += [f"not restored: {_reason(change, change.impossible)}" for change in report.failed]
    return " · ".join(done) or "nothing had to be changed", "\n".join([*lines, *report.notes])


def _change_line(change: FileChange) -> str:
    counts = "no text" if change.added is None else f"+{change.added} -{change.removed}"
    conflict = "changed since by others" if change.conflict else ""
    about = ", ".join(filter(None, (_ACTIONS.get(change.action), counts, conflict)))
    return f"· {safe_line(change.shown, _PATH)}: {about}"


def _reason(change: FileChange, reason: str) -> str:
    shown = safe_line(change.shown, _PATH)
    return f"{shown} ({safe_line(reason, _TEXT)})" if reason else shown


def _listed(lines: Sequence[str], most: int) -> list[str]:
    more = len(lines) - most
    return [*lines[:most], f"… and {more} more"] if more > 1 else list(lines)
