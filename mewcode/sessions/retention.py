"""Which sessions the user's rule removes. Pure: what is chosen here goes to the trash elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

DAY = 86_400.0
TRASH_DAYS = 30
"""Days after which the trash is emptied."""

_Count = Annotated[int, Meta(ge=0)]
_Size = Annotated[float, Meta(ge=0)]


class Retention(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``sessions`` part of the config. ``keep_days``: sessions without activity for longer go; None: none
    goes for its age. ``keep_last``: so many of the newest stay in any case. ``max_total_mb``: while all
    together take more (megabytes of a million bytes), the oldest go; None: no limit."""

    keep_days: _Count | None = 30
    keep_last: _Count = 50
    max_total_mb: _Size | None = None


class Candidate(msgspec.Struct, frozen=True):
    """A session as the rule sees it. ``updated``: Unix time of its last activity; ``size``: bytes of its
    folder; ``is_kept``: named or pinned, or open in some window."""

    id: str
    updated: float
    size: int
    is_kept: bool


def choose_expired(sessions: Sequence[Candidate], rule: Retention, now: float) -> list[tuple[str, str]]:
    """The ids of those that go, the oldest first, each with the reason."""
    newest_first = sorted(sessions, key=lambda item: (item.updated, item.id), reverse=True)
    total = sum(item.size for item in sessions)
    limit = None if rule.max_total_mb is None else rule.max_total_mb * 1e6
    expired = []
    for item in reversed(newest_first[rule.keep_last :]):
        if item.is_kept:
            continue
        if rule.keep_days is not None and now - item.updated > rule.keep_days * DAY:
            reason = f"no activity for more than {rule.keep_days} days"
        elif limit is not None and total > limit:
            reason = f"all sessions take more than {rule.max_total_mb:g} MB"
        else:
            continue
        expired.append((item.id, reason))
        total -= item.size
    return expired
