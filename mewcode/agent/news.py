"""What the model is told that nobody said: instructions that changed or that a tool came upon, and what git
says when a session begins."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

from mewcode.agent.agent import Agent
from mewcode.agent.conversation import Conversation
from mewcode.agent.git_snapshot import GitSnapshot
from mewcode.agent.ports import Emit
from mewcode.agent.surroundings import Surroundings
from mewcode.instructions.gate import InstructionGate
from mewcode.instructions.reminders import tells_instructions


class News:
    """Belongs to one session. Files are read in threads."""

    def __init__(self, instructions: InstructionGate, around: Surroundings) -> None:
        self.instructions = instructions
        self._around = around
        self._snapshot: GitSnapshot | None = None
        self._told: tuple[str, ...] = ()
        self._looked_at: tuple[Conversation, int] | None = None
        self._seen = 0

    def begin(self) -> None:
        """A new conversation begins: git is asked for what it begins with."""
        self._snapshot = GitSnapshot.begin(self._around)

    async def tell(self, agent: Agent) -> None:
        """Called before each message of the user, with which the news go along."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None and (text := await snapshot.reminder()):
            agent.remind(text)
        told = self._told_in(agent.conversation)
        if not self.instructions.may_have_changed():
            return
        text = await asyncio.to_thread(self.instructions.change)
        if text and not any(text in reminder for reminder in told):
            agent.remind(text)

    async def touched(self, paths: Collection[Path], conversation: Conversation, emit: Emit) -> None:
        """Called after the calls of one answer, which touched these resolved paths."""
        told = self._told_in(conversation)
        if not self.instructions.is_new(paths):
            return
        if text := await asyncio.to_thread(self.instructions.touch, paths, told):
            conversation.remind(text, emit)

    def _told_in(self, conversation: Conversation) -> tuple[str, ...]:
        """What the conversation holds of instructions; of one that grew, only what is new is looked at. One
        that went back may have lost some, which are then to be told again."""
        before, now = self._looked_at, (conversation, conversation.times_back)
        lost = before is not None and len(conversation.messages) < self._seen
        if before is None or lost or before[0] is not conversation or before[1] != now[1]:
            if before is not None:
                self.instructions.conversation_changed()
            self._looked_at, self._told, self._seen = now, (), 0
        new = conversation.messages[self._seen :]
        texts = [message.text for message in new if message.origin == "reminder"]
        self._told += tuple(filter(tells_instructions, texts))
        self._seen = len(conversation.messages)
        return self._told
