"""The user's rule on what is kept, applied to a workspace: what it removes goes to the trash."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from mewcode.core.errors import SessionBusy, SessionError
from mewcode.sessions.catalog_entry import CatalogEntry
from mewcode.sessions.retention import DAY, TRASH_DAYS, Candidate, Retention, choose_expired
from mewcode.sessions.space import space_of
from mewcode.sessions.trash import empty_trash, list_trash, move_to_trash


class Removed(msgspec.Struct, frozen=True):
    """A session that went to the trash, or would. ``bytes``: of its folder."""

    id: str
    reason: str
    bytes: int


class Pruned(msgspec.Struct):
    """``failures``: why sessions that should have gone are still there. ``emptied``: those that left the
    trash for good."""

    removed: list[Removed]
    failures: list[str]
    emptied: list[str]


def prune(
    sessions_dir: Path,
    entries: Sequence[CatalogEntry],
    rule: Retention,
    now: float,
    *,
    spare: Collection[str] = (),
    is_dry: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Pruned:
    """Moves to the trash what the rule removes of ``entries`` (all sessions there are), and takes out of it
    what lay there for 30 days. With ``is_dry`` it only says what would go.

    Named, pinned and open sessions stay, those of which not all could be read, and the ids in ``spare``. Ends
    early once ``stop()`` is true.
    """
    if stop():
        return Pruned([], [], [])
    # A folder's size takes a look at each of its files: only a limit on the whole needs all of them.
    sizes: dict[str, int] = {}
    if rule.max_total_mb is not None:
        shared: set[tuple[int, int]] = set()  # a file that a newer fork holds too is not freed with the older
        for entry in sorted(entries, key=lambda entry: entry.id, reverse=True):
            sizes[entry.id] = space_of(entry.path, shared).total
    candidates = [
        Candidate(
            entry.id,
            entry.updated,
            sizes.get(entry.id, 0),
            entry.named or entry.pinned or not entry.indexed or entry.id in spare,
        )
        for entry in entries
    ]
    pruned = Pruned([], [], [])
    for name, reason in choose_expired(candidates, rule, now):
        if stop():
            return pruned
        size = sizes.get(name) or space_of(sessions_dir / name).total
        try:
            if not is_dry:
                move_to_trash(sessions_dir, sessions_dir / name, now=now)
            pruned.removed.append(Removed(name, reason, size))
        except SessionBusy:  # in use after all, so it is not out of use
            continue
        except SessionError as error:
            pruned.failures.append(error.message)
    before = now - TRASH_DAYS * DAY
    if is_dry:
        pruned.emptied = [item.id for item in list_trash(sessions_dir) if item.since < before]
    else:
        pruned.emptied = empty_trash(sessions_dir, before=before)
    return pruned
