"""The files that a rewind would change, and their restoring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from mewcode.agent.checkpointing import SessionCheckpoints
from mewcode.agent.restoring import Target, find_target, restore
from mewcode.core.errors import ToolError
from mewcode.infra.paths import PROJECT_DIR
from mewcode.sessions.checkpoint_log import FileState
from mewcode.sessions.checkpoint_store import observe, read_regular
from mewcode.sessions.checkpoints import NOT_KEPT, Change
from mewcode.tools.base import ToolSession

# Above this, in lines of both texts, lines are counted without regard to their order.
_LINES_COMPARED = 2_000
# Above this, in bytes, nobody wants to know how many lines they are.
_BYTES_COMPARED = 4 << 20
# What stands in these folders can run commands.
_GUARDED = frozenset({".git", PROJECT_DIR})

Action = Literal["rewrite", "create", "delete", "mode"]


class FileChange(msgspec.Struct, frozen=True):
    """What a rewind would do to one file. ``path`` is absolute, ``shown`` is for a person, not made safe for
    a terminal. ``added`` and ``removed`` count the lines that the file would gain and lose (both None where
    it is no text, or too long to compare). ``conflict``: someone else changed the file since, so only
    ``force`` restores it; ``impossible``: why it cannot be restored at all. Both empty: it will be."""

    path: str
    shown: str
    action: Action = "rewrite"
    added: int | None = None
    removed: int | None = None
    conflict: str = ""
    impossible: str = ""


class Restored(msgspec.Struct, frozen=True):
    """What came of a restoring, file by file: put back; left because of a conflict; not possible, or failed.
    The last two say why."""

    restored: tuple[FileChange, ...] = ()
    conflicts: tuple[FileChange, ...] = ()
    failed: tuple[FileChange, ...] = ()


class Restoring:
    """Takes files back to where they were at an ``n`` of the checkpoints' index. Its methods read and write
    files: an event loop has them called in a thread, between turns."""

    def __init__(self, checkpoints: SessionCheckpoints, files: ToolSession) -> None:
        self._checkpoints = checkpoints
        self._kept = checkpoints.kept
        self._files = files

    def preview(self, n: int) -> list[FileChange]:
        """What `run` would do now."""
        return [change for change, _ in self._judged(n)]

    def run(self, n: int, turn: str, *, force: bool) -> Restored:
        """Restores all files changed since ``n``, with ``force`` also those that someone else changed. What
        stands there now is kept first, as changed by the rewind ``turn``; a file of which it cannot be kept
        is left. The read table forgets what is restored."""
        done: dict[str, list[FileChange]] = {"restored": [], "conflicts": [], "failed": []}
        # The last first: a folder is removed with the file for which it was made, when it is empty again.
        for change, target in reversed(list(self._judged(n))):
            if target is None:
                done["failed"].append(change)
            elif change.conflict and not force:
                done["conflicts"].append(change)
            elif why := self._restore(change, target, turn):
                done["failed"].append(msgspec.structs.replace(change, impossible=why))
            else:
                done["restored"].append(change)
        return Restored(**{name: tuple(reversed(changes)) for name, changes in done.items()})

    def _restore(self, change: FileChange, target: Target, turn: str) -> str:
        """Empty where it was done, else why not."""
        path = Path(change.path)
        state = self._kept.log_before(change.path, turn, durable=True)
        if state is not None and state.kind == "unknown":
            return f"what stands there cannot be kept: {state.why.removeprefix(NOT_KEPT)}"
        try:
            restore(target, path, change.shown)
        except ToolError as error:
            return error.message
        finally:
            self._kept.after_write(path)
            self._files.reads.forget(path)
        return ""

    def _judged(self, n: int) -> Iterator[tuple[FileChange, Target | None]]:
        """Each file that is not as it was, and the target where there is one."""
        for change in self._kept.changes_since(n):
            shown = self._files.display(Path(change.path))
            target = find_target(change.before, change.path, self._checkpoints.git_root, self._kept.store)
            if isinstance(target, str):
                if not (change.before.kind == "unknown" and change.before.same(observe(change.path))):
                    yield FileChange(change.path, shown, impossible=target), None
                continue
            now = observe(change.path)
            if target.stands(now):
                continue
            added, removed = _line_counts(change.path, now, target)
            action = _action(now, target)
            conflict = self._conflict(change, now)
            yield FileChange(change.path, shown, action, added, removed, conflict), target

    def _conflict(self, change: Change, now: FileState) -> str:
        if not now.same(change.after):
            return "changed by someone else since"
        if change.foreign:
            return "changed by someone else in between"
        if not change.earlier_run:
            return ""
        # What only the disk says may have been put there by others.
        path = Path(change.path)
        if not self._files.inside(path):
            return "outside the workspace, changed in an earlier run"
        if not _GUARDED.isdisjoint(part.casefold() for part in path.parts):
            return "git's or MewCode's own, changed in an earlier run"
        return ""


def _action(now: FileState, target: Target) -> Action:
    if target.state.kind == "absent":
        return "delete"
    if now.kind == "absent":
        return "create"
    same_content = now.kind == target.state.kind == "file" and now.blob == target.state.blob
    return "mode" if same_content else "rewrite"


def _line_counts(path: str, now: FileState, target: Target) -> tuple[int, int] | tuple[None, None]:
    """Lines that the file gains and loses."""
    if now.size + len(target.data) > _BYTES_COMPARED or "link" in (now.kind, target.state.kind):
        return None, None
    try:
        present = (read_regular(Path(path)) if now.kind == "file" else b"") or b""
        old, new = _lines(present), _lines(target.data)
    except (OSError, UnicodeDecodeError):
        return None, None
    if len(old) + len(new) > _LINES_COMPARED:
        before, after = Counter(old), Counter(new)
        return (after - before).total(), (before - after).total()
    import difflib  # a list of points needs none

    added = removed = 0
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            added, removed = added + d - c, removed + b - a
    return added, removed


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8")
    if "\0" in text:
        raise UnicodeDecodeError("utf-8", data, 0, 1, "binary")
    return text.removesuffix("\n").split("\n") if text else []
