"""What the model is told that nobody said: instructions that changed or that a tool came upon, and what git
says when a session begins."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

from mewcode.agent.agent import Agent
from mewcode.agent.conversation import Conversation
from mewcode.agent.git_snapshot import GitSnapshot
from mewcode.agent.ports import Emit
from mewcode.agent.surroundings import Surroundings
from mewcode.instructions.gate import InstructionGate
from mewcode.instructions.reminders import tells_instructions

_FORGETTING = ("forget", "unlearn", "忘")
_NOTES = ("remember", "memo", "note", "记", "記")
_TAKING_AWAY = ("stop", "delete", "remove", "erase", "drop", "clear", "wipe", "scrap", *"删刪清去移")


def may_ask_to_forget(text: str) -> bool:
    """Whether it is worth a look if the user's words ask to forget something (`memory.extract.triggers`):
    each such phrase holds such words. Takes microseconds, and loads nothing."""
    words = text.casefold()

    def holds(some: Sequence[str]) -> bool:
        return any(word in words for word in some)

    return holds(_FORGETTING) or (holds(_NOTES) and holds(_TAKING_AWAY))


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

    async def tell(self, agent: Agent, said: str = "") -> None:
        """Called before each message of the user, in which they have ``said`` this: the news go along."""
        await self._tell_of_forgetting(agent, said)
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None and (text := await snapshot.reminder()):
            agent.remind(text)
        is_first = self._looked_at is None
        told = self._told_in(agent.conversation)
        # As long as tools have come upon nothing, a fresh prompt holds all that there is to tell.
        if (is_first and self.instructions.is_fresh()) or not self.instructions.may_have_changed():
            return
        text = await asyncio.to_thread(self.instructions.change)
        if text and not any(text in reminder for reminder in told):
            agent.remind(text)

    async def _tell_of_forgetting(self, agent: Agent, said: str) -> None:
        """Says which notes may be meant where the user wants one forgotten. The first time takes a tenth of a
        second, in a thread."""
        if not may_ask_to_forget(said) or all(spec.name != "forget_note" for spec in agent.specs):
            return
        reminders, messages = agent.reminders, agent.conversation.messages

        def look() -> str:
            from mewcode.agent.forgetting import forgetting_reminder  # few messages need any of it

            return forgetting_reminder(said, reminders, messages)

        if text := await asyncio.to_thread(look):
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
