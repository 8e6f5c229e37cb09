"""Points in time as notes write them: ISO 8601, a day or a second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

DAY = 86_400.0
"""Seconds."""
_DAY_LENGTH = len("2026-01-31")
_LAST = 253_402_300_800 - 2 * DAY
"""Unix time from which on some zone's calendar may end: the year 9999 does."""
_LONGEST = 40
"""Characters of a point in time at most; what is longer is none."""


def time_text(now: float) -> str:
    """``2026-01-31T09:30:00Z``."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_of(text: str, *, day_ends: bool = False) -> float | None:
    """Unix time of a day or a point in time; None where it is neither. Without a zone it is local. A day
    begins at midnight; with ``day_ends`` its last moment counts."""
    if not text or len(text) > _LONGEST:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if day_ends and len(text) <= _DAY_LENGTH:
            moment += timedelta(days=1, microseconds=-1)
        return moment.timestamp()
    except (ValueError, OverflowError, OSError):  # no date, or none that a clock can show
        return None


def known_time(moment: float) -> float:
    """The Unix time as it is; 0 for one that no calendar has. A file that came with a folder may hold any
    number, which neither lists nor lengths of time can show."""
    return float(moment) if 0 <= moment < _LAST else 0.0


def days_text(seconds: float) -> str:
    """``1 day``, ``12 days``: as many as are over."""
    days = max(0, int(seconds // DAY))
    return "1 day" if days == 1 else f"{days:,} days"
