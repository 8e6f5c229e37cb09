"""What git says of the workspace when a session begins. It goes along with the first message and not into the
system prompt, which has to stay as it is."""

from __future__ import annotations

import asyncio
import threading
import time

from mewcode.agent.git_look import listed, may_run_git, run_git
from mewcode.agent.surroundings import Surroundings

_LIMIT = 2.0
"""Seconds for git's answer; a repository so large is left out."""
_PATIENCE = 0.02
"""Seconds that the first request waits for it."""
_NAMES = 30


class GitSnapshot:
    """Made by `begin`. Who asks too early, and who asks again, gets nothing."""

    def __init__(self) -> None:
        self._changes: list[str] | None = None
        self._done = threading.Event()

    @classmethod
    def begin(cls, around: Surroundings) -> GitSnapshot:
        """Begins to ask git in a thread; outside a repository there is nothing to ask."""
        snapshot = cls()
        if not (around.places.root / ".git").exists():
            snapshot._done.set()
            return snapshot

        def work() -> None:
            try:
                if may_run_git(around):
                    words = ("status", "--porcelain", "--branch")
                    snapshot._changes = run_git(around, words, time.monotonic() + _LIMIT)
            finally:
                snapshot._done.set()

        threading.Thread(target=work, name="git-snapshot", daemon=True).start()
        return snapshot

    async def reminder(self) -> str:
        """The words for the model, "" for none; takes 20 ms at most."""
        if not self._done.is_set():
            await asyncio.to_thread(self._done.wait, _PATIENCE)
        if not self._done.is_set() or self._changes is None:
            return ""
        changes, self._changes = self._changes, None
        branch = [line.removeprefix("## ") for line in changes if line.startswith("## ")]
        names = [line for line in changes if not line.startswith("## ")]
        lines = (
            [f"Git status when this session began, as git tells it: {listed(branch, 1)[0]}"] if branch else []
        )
        lines += [f"- {name}" for name in listed(names, _NAMES)] or [
            "- nothing changed since the last commit"
        ]
        return "\n".join(lines)
