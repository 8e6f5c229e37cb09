"""What the sessions of a folder have used, by day: read from the ends of their files, never from all of them.

A session's ``usage`` records hold running totals; the difference of two neighbours was used on the day of the
later one. What was said after the last of them (the program was killed) counts by its messages.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import time

import msgspec

from mewcode.core.message import Usage
from mewcode.sessions.append_file import CAREFUL, CONVERSATION
from mewcode.sessions.find import list_recent
from mewcode.sessions.plain import local_time, number, read_usage
from mewcode.sessions.record import Totals, WireMessage, decode_line, totals_of

_TAIL = 1 << 20
"""Bytes at the end of a file that are looked through: some hundred exchanges of the newest."""
_SESSIONS = 500
"""Sessions that are looked at, the newest first."""

Models = dict[str, Usage]


class Spending(msgspec.Struct, frozen=True):
    """``days``: tokens by model of each day (``2026-11-30``, local time) on which there were any.
    ``unread``: sessions in question that were left out because there were too many."""

    days: dict[str, Models]
    unread: int = 0


def spending_since(
    sessions_dir: Path, since: float, *, current: tuple[str, Totals] | None = None
) -> Spending:
    """What was used since a moment (Unix time). ``current``: the session that runs, by id, and its totals,
    of which its file does not know yet.

    Never raises: a session that cannot be read counts as nothing. Reads at most a megabyte of each session.
    """
    recent = list_recent(sessions_dir, since)
    days: dict[str, Models] = {}
    seen = False
    for folder in recent[:_SESSIONS]:
        is_current = current is not None and folder.name == current[0]
        seen = seen or is_current
        for ts, used in _used(folder, since, current[1] if current and is_current else None):
            _add(days, ts, used)
    if current is not None and not seen:
        _add(days, time(), current[1].models)
    return Spending(days, max(0, len(recent) - _SESSIONS))


def _add(days: dict[str, Models], ts: float, used: Models) -> None:
    # A moment that is still to come is some clock's mistake, or no moment at all.
    models = days.setdefault(local_time(min(ts, time()), "%Y-%m-%d"), {}) if used else {}
    for name, usage in used.items():
        models[name] = models.get(name, Usage()) + usage


def _used(folder: Path, since: float, now: Totals | None) -> Iterator[tuple[float, Models]]:
    """Moments and what was used up to each since the one before."""
    try:
        lines, is_whole = _tail(folder / CONVERSATION)
    except OSError:  # deleted or locked away meanwhile
        return
    # Where the file's beginning was not read, nobody knows what the first totals grew from.
    before: Models | None = {} if is_whole else None
    loose: list[tuple[float, Models]] = []
    for line in lines:
        if b'"usage"' not in line:
            continue
        record = decode_line(line)
        if isinstance(record, WireMessage):
            usage = read_usage(msgspec.to_builtins(record.usage)) if record.usage is not None else None
            if usage is not None and record.ts:
                name = record.model if isinstance(record.model, str) else _last_model(loose)
                loose.append((record.ts, {name: usage}))
        elif isinstance(record, dict) and record.get("type") == "usage":
            totals, ts = totals_of(record).models, number(record.get("ts"))
            if record.get("carried") is True:  # what a session that this one was forked off had used
                before, loose = totals, []
                continue
            if before is not None and ts >= since:
                yield ts, _difference(totals, before)
            elif before is None:
                yield from (item for item in loose if item[0] >= since)
            before, loose = totals, []
    if now is not None and before is not None:
        yield time(), _difference(now.models, before)
    else:
        yield from (item for item in loose if item[0] >= since)


def _last_model(loose: list[tuple[float, Models]]) -> str:
    """The model of the message before: a record names it where it changes."""
    return next(iter(loose[-1][1]), "") if loose else ""


def _difference(after: Models, before: Models) -> Models:
    found: Models = {}
    for name, usage in after.items():
        old = before.get(name, Usage())
        more = Usage(
            max(0, usage.input_tokens - old.input_tokens),
            max(0, usage.output_tokens - old.output_tokens),
            max(0, usage.cache_read_tokens - old.cache_read_tokens),
            max(0, usage.cache_write_tokens - old.cache_write_tokens),
        )
        if more != Usage():
            found[name] = more
    return found


def _tail(path: Path) -> tuple[list[bytes], bool]:
    """The lines at the file's end, and whether they are all there are. Raises OSError."""
    with open(os.open(path, os.O_RDONLY | CAREFUL), "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        start = max(0, size - _TAIL)
        stream.seek(start)
        lines = stream.read(_TAIL).split(b"\n")
    return (lines[1:] if start else lines), start == 0
