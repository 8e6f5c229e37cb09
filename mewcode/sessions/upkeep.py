"""What is done for a workspace's sessions once a day, without being asked: the user's rule on what is kept.

``upkeep.local.json`` beside the folder of sessions says when it was done last, and what came of it; a lock
sees to it that of several processes one does it.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from mewcode.infra.atomic import write_atomic
from mewcode.infra.locks import try_lock
from mewcode.sessions.append_file import CAREFUL
from mewcode.sessions.find import scan_sessions
from mewcode.sessions.pruning import prune
from mewcode.sessions.retention import DAY, TRASH_DAYS, Retention
from mewcode.sessions.trash import TRASH, list_trash, taken_at

STAMP_FILE = "upkeep.local.json"
_LOCK_FILE = "upkeep.lock"
_STAMP_LIMIT = 4096
_LOG = logging.getLogger("mewcode.sessions")


class Report(msgspec.Struct, frozen=True):
    """``ts``: Unix time. Sessions that went to the trash, that left it for good, that are still there."""

    ts: float
    trashed: int = 0
    emptied: int = 0
    kept: int = 0


def last_report(sessions_dir: Path, now: float) -> Report | None:
    """What the last upkeep did; None where there was none, or the file says nonsense (it may have come with
    the folder)."""
    flags = os.O_RDONLY | CAREFUL
    try:
        with open(os.open(sessions_dir.parent / STAMP_FILE, flags), "rb") as stream:
            report = msgspec.json.decode(stream.read(_STAMP_LIMIT), type=Report)
    except (OSError, ValueError, RecursionError):
        return None
    # A clock that was wrong must not put it off for years.
    return (
        report
        if 0 < report.ts <= now + DAY and min(report.trashed, report.emptied, report.kept) >= 0
        else None
    )


def report_text(report: Report, now: float) -> str:
    """The report on a line."""
    day, today = (time.strftime("%Y-%m-%d", time.localtime(moment)) for moment in (report.ts, now))
    when = "today" if day == today else f"on {day}"
    moved = f"{report.trashed} moved to the trash" if report.trashed else "none moved to the trash"
    text = f"{moved} {when}, kept {report.kept}"
    if report.emptied:
        text += f", {report.emptied} left the trash for good"
    return f"{text}; mewcode sessions restore brings them back" if report.trashed else text


def daily_upkeep(
    sessions_dir: Path,
    rule: Retention,
    *,
    spare: str,
    stop: Callable[[], bool],
    clock: Callable[[], float] = time.time,
) -> Report | None:
    """Does it, where the last time is a day ago, and says what came of it; None where it was not due, or
    another process is at it. ``spare``: the session in use.

    Blocks, for as long as the catalogue takes to be brought up to date where something may have to go; it
    belongs in a thread. Ends early once ``stop()`` is true; where nothing was done by then it is due again.
    Raises OSError where the folder cannot be written, and what the catalogue raises.
    """
    lock = _claim(sessions_dir)
    if lock is None:
        return None
    try:
        now = clock()
        last = last_report(sessions_dir, now)
        if last is not None and now - last.ts < DAY:
            return None
        report = _apply(sessions_dir, rule, now, spare, stop)
        if report is not None:
            write_atomic(sessions_dir.parent / STAMP_FILE, msgspec.json.encode(report))
        return report
    finally:
        os.close(lock)


def _claim(sessions_dir: Path) -> int | None:
    """A descriptor that holds the lock; None where another process has it, or there are no sessions."""
    if not sessions_dir.is_dir():
        return None
    flags = os.O_RDWR | os.O_CREAT | CAREFUL
    descriptor = os.open(sessions_dir.parent / _LOCK_FILE, flags, 0o600)
    is_ours = False
    try:
        is_ours = try_lock(descriptor)
    finally:
        if not is_ours:
            os.close(descriptor)
    return descriptor if is_ours else None


def _apply(
    sessions_dir: Path, rule: Retention, now: float, spare: str, stop: Callable[[], bool]
) -> Report | None:
    """None where it was stopped before its end."""
    found = scan_sessions(sessions_dir)
    if not _something_to_do(sessions_dir, found, rule, now):
        return Report(now, kept=len(found))
    # Most workspaces have nothing that could go: SQLite is for the others.
    from mewcode.sessions.catalog import Catalog
    from mewcode.sessions.workspaces import cache_path

    catalog = Catalog(sessions_dir, cache_path(sessions_dir))
    try:
        catalog.refresh(stop)
        entries = [] if stop() else catalog.entries()
    finally:
        catalog.close()
    if stop():
        return None
    # What the user fetched back from the trash, or opened to look at, is not taken from them the next day.
    limit = now - (rule.keep_days or 0) * DAY
    spared = {entry.id for entry in entries if entry.updated < limit <= taken_at(entry.path)}
    pruned = prune(sessions_dir, entries, rule, now, spare={spare, *spared}, stop=stop)
    for failure in pruned.failures:
        _LOG.warning("daily upkeep: %s", failure)
    if stop() and not pruned.removed:
        return None
    kept = len(entries) - len(pruned.removed)
    return Report(now, len(pruned.removed), len(pruned.emptied), kept)


def _something_to_do(
    sessions_dir: Path, found: list[tuple[float, int, Path]], rule: Retention, now: float
) -> bool:
    """Whether a session or the trash may hold something that goes. A file that was copied here looks younger
    than it is, and stays for longer."""
    if len(found) > rule.keep_last:
        if rule.max_total_mb is not None:
            return True
        if rule.keep_days is not None and any(now - item[0] > rule.keep_days * DAY for item in found):
            return True
    with suppress(OSError):
        if (sessions_dir / TRASH).is_dir():
            return any(item.since < now - TRASH_DAYS * DAY for item in list_trash(sessions_dir))
    return False
