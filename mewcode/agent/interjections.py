"""What the user says while the model works: it goes along with the next tool results."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mewcode.core.message import Image


@dataclass(frozen=True, slots=True)
class Brought:
    """What the user's words bring: ``images`` within the message, ``reminders`` for the model behind it."""

    images: tuple[Image, ...] = ()
    reminders: tuple[str, ...] = ()


Bring = Callable[[], Awaitable[Brought]]
"""Gets what the words bring, at the moment at which they are said. What it raises ends the turn."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    text: str
    bring: Bring | None


class Interjections:
    """A queue of the user's texts. The front end puts, the loop takes; both in the event loop's thread."""

    def __init__(self) -> None:
        self._queue: deque[_Waiting] = deque()

    def put(self, text: str, bring: Bring | None = None) -> None:
        self._queue.append(_Waiting(text, bring))

    async def next(self) -> tuple[str, Brought] | None:
        """Takes the oldest, with what it brings; None where nothing waits. While that is being brought the
        words still wait: the user can take them back, and a turn that is stopped does not lose them."""
        while self._queue:
            first = self._queue[0]
            brought = Brought() if first.bring is None else await first.bring()
            if self._queue and self._queue[0] is first:
                self._queue.popleft()
                return first.text, brought
        return None

    def take_all(self) -> list[str]:
        """All that waits, oldest first; the queue is empty after."""
        texts = list(self.waiting)
        self._queue.clear()
        return texts

    def take_last(self) -> str | None:
        """The newest back, for the user to edit."""
        return self._queue.pop().text if self._queue else None

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def waiting(self) -> tuple[str, ...]:
        return tuple(waiting.text for waiting in self._queue)
