"""Points in time as notes write them: ISO 8601, a day or a second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_DAY_LENGTH = len("2026-01-31")
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
