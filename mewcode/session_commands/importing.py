"""`import`: sessions of other programs, and exported ones, as sessions of this project."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from mewcode.config.trust import TrustStore
from mewcode.core.errors import SessionError, UsageError
from mewcode.session_commands.context import Context, tell
from mewcode.sessions.import_files import USUAL_PLACES, read_original, session_files
from mewcode.sessions.import_session import Place, import_session, imported_before
from mewcode.sessions.import_source import Original
from mewcode.sessions.workspaces import make_project

_KINDS = "Claude Code, Codex CLI, Kimi CLI, or an export of MewCode as JSON"


class _Outcome(msgspec.Struct):
    """What became of a file. ``session``: the id that it has here, also where it was here already."""

    path: str
    status: Literal["imported", "present", "failed", "unknown"] = "unknown"
    source: str = ""
    original: str = ""
    session: str = ""
    messages: int = 0
    skipped: int = 0
    reason: str = ""


def import_all(context: Context) -> int:
    """Exits 1 where a file that was named, or one of a session in a folder, could not be imported."""
    wanted = context.options.words[1:]
    if not wanted:
        places = ", ".join(f"{place} ({name})" for name, place in USUAL_PLACES.items())
        raise UsageError(
            "`mewcode sessions import` needs files or folders",
            f"They usually lie in {places}; or an export of MewCode: a .json file.",
        )
    work = _Import(context)
    outcomes: list[_Outcome] = []
    for word in wanted:
        path = Path(word).expanduser()
        path = path if path.is_absolute() else context.places.cwd / path
        if path.is_dir():
            outcomes += work.folder(path)
        else:
            outcomes.append(work.file(path, is_named=True))
    lines = [_line(outcome) for outcome in outcomes if outcome.status in ("imported", "present")]
    context.answer([msgspec.structs.asdict(outcome) for outcome in outcomes], lines)
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    for words in [*(f"{outcome.path}: {outcome.reason}" for outcome in failed), *work.notices]:
        tell(words)
    return 1 if failed else 0


class _Import:
    def __init__(self, context: Context) -> None:
        places = context.places
        trust = TrustStore(places.user)
        self.notices = trust.notices
        self._context = context
        self._known = imported_before(context.sessions_dir)
        self._place = Place(
            sessions_dir=context.sessions_dir,
            cwd=places.cwd,
            seal=lambda session_id: trust.seal(places.root, session_id),
            prepare=lambda: make_project(places, trusted=trust.is_trusted(places.root)),
        )

    def folder(self, folder: Path) -> list[_Outcome]:
        """All sessions below it; what holds none is only counted."""
        found, others = [], 0
        own = self._place.sessions_dir.resolve()
        for path in session_files(folder.resolve()):
            if path.is_relative_to(own):  # they are here, or in the trash
                continue
            outcome = self.file(path, is_named=False)
            if outcome.status == "unknown":
                others += 1
            else:
                found.append(outcome)
        if others or not found:
            tell(f"{folder}: {len(found)} sessions, {others} other files left alone")
        return found

    def file(self, path: Path, *, is_named: bool) -> _Outcome:
        """One session. Never raises SessionError."""
        outcome = _Outcome(str(path))
        try:
            original = read_original(path)
            if original is None:
                outcome.reason = f"no session file of a kind that is known: {_KINDS}"
            elif not original.is_aside or is_named:
                outcome.source, outcome.original = original.kind, original.id
                self._take(original, outcome)
        except SessionError as error:
            outcome.status = "failed"
            outcome.reason = " ".join(filter(None, (error.message, error.hint)))
        if outcome.status == "unknown" and is_named:
            outcome.status = "failed"
        return outcome

    def _take(self, original: Original, outcome: _Outcome) -> None:
        key = (original.kind, original.id)
        present = self._known.get(key)
        if present is not None and not self._context.options.session_flags.again:
            outcome.status, outcome.session = "present", present
            return
        imported = import_session(original, self._place, now=self._context.now)
        if imported is None:
            outcome.reason = "nothing was said in it"
            return
        outcome.status = "imported"
        outcome.session = self._known[key] = imported.folder.name
        outcome.messages, outcome.skipped = imported.messages, imported.skipped


def _line(outcome: _Outcome) -> str:
    if outcome.status == "present":
        return f"{outcome.session}  is here already, from {outcome.path}; once more: --again"
    lines = "line" if outcome.skipped == 1 else "lines"
    left_out = f", {outcome.skipped} unreadable {lines} left out" if outcome.skipped else ""
    return f"{outcome.session}  {outcome.messages} messages{left_out}, from {outcome.path}"
