"""What the user says while the model works: it goes along with the next tool results."""

from __future__ import annotations

from collections import deque


class Interjections:
    """A queue of the user's texts. The front end puts, the loop takes; both in the event loop's thread."""

    def __init__(self) -> None:
        self._texts: deque[str] = deque()

    def put(self, text: str) -> None:
        self._texts.append(text)

    def take_all(self) -> list[str]:
        """All that waits, oldest first; the queue is empty after."""
        texts = list(self._texts)
        self._texts.clear()
        return texts

    def take_last(self) -> str | None:
        """The newest back, for the user to edit."""
        return self._texts.pop() if self._texts else None

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def waiting(self) -> tuple[str, ...]:
        return tuple(self._texts)
