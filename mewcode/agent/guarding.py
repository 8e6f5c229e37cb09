"""Before an action: what notes and instructions forbid or demand is held against a call that was not denied.

The rules are read in the background of each turn, while the model answers. What cannot be read guards
nothing, and the log says so: a note is a reminder, the permissions are the fence.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode.core.access import Access, CommandAccess, FetchAccess, Verdict, WriteAccess
from mewcode.core.errors import MewCodeError

if TYPE_CHECKING:
    from mewcode.agent.ports import Policy
    from mewcode.memory.entry import Entry
    from mewcode.memory.guard.rules import GuardRule
    from mewcode.memory.guard.words import Step

_LOG = logging.getLogger("mewcode.memory")
_MOST_DONE = 200
"""Commands that are kept in mind as what was run before."""
_LATER = 0.3
"""Seconds after a turn's beginning at which the rules are read: then its first request is on its way."""
_SOURCE = re.compile(r"^Source: (.+?) \([^()\n]*\)$", re.MULTILINE)

Texts = Callable[[], Iterable[tuple[str, str]]]
"""Where it stands and what it says, for each text that may hold rules. Called in a thread; may raise
MewCodeError and OSError."""


class Guard:
    """Belongs to one session. ``root``: the work tree; ``branch``: gives the branch that is checked out.
    ``policy`` says the mode, and which commands only read: those are let be."""

    def __init__(self, texts: Texts, policy: Policy, root: Path, branch: Callable[[], str]) -> None:
        self._texts = texts
        self._policy = policy
        self._root = root
        self._branch = branch
        self._rules: tuple[GuardRule, ...] = ()
        self._seen: tuple[tuple[str, str], ...] = ()
        self._reading: asyncio.Future[None] | None = None
        self._due: asyncio.TimerHandle | None = None
        self._done: list[Step] = []
        self._waived: set[tuple[str, tuple[Access, ...]]] = set()

    def begin_turn(self) -> None:
        """Has the rules read anew, in a thread, when the first call is weighed or somewhat sooner. Called in
        the event loop, where each turn begins."""
        if self._due is not None:
            self._due.cancel()
        self._due = asyncio.get_running_loop().call_later(_LATER, self._begin)

    def _begin(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().run_in_executor(None, self._read)

    async def weigh(self, verdict: Verdict, accesses: Sequence[Access]) -> Verdict:
        """The policy's word on a call, made stricter where a rule speaks against the call. Waits for the
        rules where they are still being read."""
        if verdict.decision == "deny" or self._policy.mode == "bypass":
            return verdict
        if not any(isinstance(access, CommandAccess | FetchAccess | WriteAccess) for access in accesses):
            return verdict
        if self._due is not None:
            self._begin()
        if self._reading is not None:
            await asyncio.shield(self._reading)  # others may wait for it too
        broken = self._broken(accesses)
        if not broken:
            return verdict
        said = "; ".join(map(_in_words, broken[:3]))
        if self._policy.mode == "dont-ask":
            return Verdict("deny", said)
        reason = f"{said}; {verdict.reason}" if verdict.decision == "ask" and verdict.reason else said
        return Verdict("ask", reason, verdict.rule)

    def waive(self, accesses: Sequence[Access]) -> None:
        """The user was asked about this call and said yes: it is not asked about again."""
        self._waived |= {(rule.said, tuple(accesses)) for rule in self._broken(accesses)}

    def ran(self, accesses: Sequence[Access]) -> None:
        """A call has been carried out. What was run before a file was changed does not count for later."""
        if any(isinstance(access, WriteAccess) for access in accesses):
            self._done.clear()
        if self._rules:
            self._done = [*self._done, *self._steps(accesses)][-_MOST_DONE:]

    def _broken(self, accesses: Sequence[Access]) -> list[GuardRule]:
        if not self._rules or self._only_reads(accesses):
            return []
        from mewcode.memory.guard.rules import objections

        found = objections(self._rules, self._steps(accesses), self._done)
        return [rule for rule in found if (rule.said, tuple(accesses)) not in self._waived]

    def _only_reads(self, accesses: Sequence[Access]) -> bool:
        is_command = all(isinstance(access, CommandAccess) for access in accesses)
        return is_command and self._policy.only_reads(accesses)

    def _steps(self, accesses: Sequence[Access]) -> list[Step]:
        from mewcode.memory.guard.words import page_words, path_words, steps_of

        steps: list[Step] = []
        for access in accesses:
            if isinstance(access, CommandAccess):
                steps += steps_of(access.command, self._branch())
            elif isinstance(access, WriteAccess):
                path = Path(access.path)
                inside = path.relative_to(self._root) if path.is_relative_to(self._root) else path
                steps.append(path_words(inside.as_posix()))
            elif isinstance(access, FetchAccess):
                steps.append(page_words(access.url, access.host))
        return steps

    def _read(self) -> None:
        try:
            texts = tuple(self._texts())
        except (MewCodeError, OSError) as error:
            _LOG.warning("notes and instructions guard no action: %s", error)
            return
        if texts == self._seen:
            return
        from mewcode.memory.guard.rules import rules_in

        found = {rule.said: rule for source, text in texts for rule in rules_in(text, source)}
        self._seen, self._rules = texts, tuple(found.values())


def _in_words(rule: GuardRule) -> str:
    """Many a note is named by all that it says."""
    return rule.source if rule.said in rule.source else f"{rule.source} says: {rule.said}"


def note_texts(entries: Iterable[Entry]) -> list[tuple[str, str]]:
    """What notes in force say, as far as it is known without reading their files."""
    return [
        (f"the note {entry.name}", "\n".join((entry.name, entry.description, entry.line, entry.core)))
        for entry in entries
    ]


def instruction_texts(section: str) -> list[tuple[str, str]]:
    """The instructions in the system prompt, by file."""
    parts = _SOURCE.split(section)
    return list(zip(parts[1::2], parts[2::2], strict=True))
