"""What a model should know of a session that rested: how long, and what changed meanwhile.

It is found out in a thread of its own while the session opens. Who asks too early gets the length alone.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mewcode.agent.git_look import listed, may_run_git, run_git
from mewcode.agent.surroundings import Surroundings
from mewcode.prompt.environment import git_folder

_PATIENCE = 0.05
"""Seconds that a first request waits for what is still being found out."""
_GIT_LIMIT = 1.0
"""Seconds for git's answers, both of them."""
_COMMITS, _NAMES, _LOOKED_AT = 10, 20, 200
_REFLOG_READ = 65_536


class Pause:
    """Made by `begin`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._found: list[str] = []
        self._done = threading.Event()

    @classmethod
    def begin(cls, seconds: float, reads: Mapping[str, Any], around: Surroundings) -> Pause:
        """Begins to look for what changed in the last ``seconds``. ``reads`` as in `ReadTable.export`."""
        pause = cls(seconds)
        look = _Look(time.time() - seconds, around)

        def work() -> None:
            try:
                pause._found = look.lines(reads)
            finally:
                pause._done.set()

        threading.Thread(target=work, name="since-pause", daemon=True).start()
        return pause

    async def reminder(self) -> str:
        """The words for the model; takes 50 ms at most."""
        if not self._done.is_set():
            await asyncio.to_thread(self._done.wait, _PATIENCE)
        found = self._found if self._done.is_set() else []
        told = (
            f"This session was paused for {_span(self._seconds)}; files may have changed: read again what "
            "you rely on."
        )
        return "\n".join((told, *found))


def _span(seconds: float) -> str:
    hours = round(seconds / 3600)
    if hours < 48:
        return f"{hours} hours" if hours != 1 else "an hour"
    return f"{round(seconds / 86_400)} days"


@dataclass(frozen=True, slots=True)
class _Look:
    """A look at the workspace: what is new ``since`` (Unix time). Nothing of a repository is run in a folder
    that is not trusted, unless it is as plain as a clone."""

    since: float
    around: Surroundings

    def lines(self, reads: Mapping[str, Any]) -> list[str]:
        lines = []
        commits, changes = self._git()
        if commits:
            lines += ["Commits since then, as git tells them:", *(f"- {commit}" for commit in commits)]
        if changes:
            lines += ["Not committed now, as git tells it:", *(f"- {change}" for change in changes)]
        if changed := self._changed(reads):
            lines += ["Files that you had read and that are different now:", *(f"- {it}" for it in changed)]
        return lines

    def _changed(self, reads: Mapping[str, Any]) -> list[str]:
        names = []
        for path, state in list(reads.items())[-_LOOKED_AT:]:
            known = (state.get("mtime_ns"), state.get("size")) if isinstance(state, dict) else None
            try:
                status = os.stat(path)
            except (OSError, ValueError):
                names.append(f"{self._shown(path)} (gone)")
                continue
            if known != (status.st_mtime_ns, status.st_size):
                names.append(self._shown(path))
        return listed(names, _NAMES)

    def _shown(self, path: str) -> str:
        cwd = self.around.places.cwd
        return str(Path(path).relative_to(cwd)) if Path(path).is_relative_to(cwd) else path

    def _git(self) -> tuple[list[str], list[str]]:
        """Commits and changes that are not committed, a line each."""
        if not (self.around.places.root / ".git").exists():
            return [], []
        if may_run_git(self.around):
            deadline = time.monotonic() + _GIT_LIMIT
            since = f"--since=@{int(self.since)}"
            log = run_git(self.around, ("log", "--oneline", "--no-decorate", since, f"-{_COMMITS}"), deadline)
            status = run_git(self.around, ("status", "--porcelain"), deadline)
            if log is not None:
                return listed(log, _COMMITS), listed(status or [], _NAMES)
        return listed(self._reflog(), _COMMITS), []

    def _reflog(self) -> list[str]:
        """The newest entries of git's own record of where the branch stood, read from its file."""
        git, lines = git_folder(self.around.places.root), []
        if git is None:
            return []
        try:
            path = git / "logs" / "HEAD"
            if not path.is_file():
                return []
            with path.open("rb") as stream:
                stream.seek(max(0, path.stat().st_size - _REFLOG_READ))
                lines = stream.read(_REFLOG_READ).decode("utf-8", "replace").splitlines()
        except OSError:
            return []
        return [entry for line in reversed(lines) if (entry := self._entry(line))]

    def _entry(self, line: str) -> str:
        """``<old> <new> <who> <time> <zone>\\t<what>`` as a commit's short line; empty where it is older."""
        head, _, what = line.partition("\t")
        words = head.split()
        is_new = len(words) > 4 and words[-2].isdecimal() and len(words[-2]) < 12
        return f"{words[1][:7]} {what}" if is_new and int(words[-2]) >= self.since else ""
