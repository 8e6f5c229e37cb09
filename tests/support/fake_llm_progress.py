"""How a test and the threads of the fake model server wait for each other."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator

from .fake_llm_wire import AnswerCutError, Connection


class Progress:
    """One lock around the server's records, and everyone who waits for them to change."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._watchers: set[_Watcher] = set()

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """Hold the lock; wake all who wait when it is given back."""
        with self._changed:
            yield
            self._changed.notify_all()
            for watcher in self._watchers:
                watcher.wake()

    def wait(self, reached: Callable[[], bool], timeout: float) -> bool:
        """Block until `reached` holds; False when the time is over."""
        with self._changed:
            return self._changed.wait_for(reached, timeout)

    async def watch(self, reached: Callable[[], bool], timeout: float) -> bool:
        """`wait` for a coroutine; it may be cancelled."""
        watcher = _Watcher()
        with self._changed:
            self._watchers.add(watcher)
        try:
            async with asyncio.timeout(timeout):
                while not reached():
                    await watcher.changed()
        except TimeoutError:
            return False
        finally:
            with self._changed:
                self._watchers.discard(watcher)
        return True


class Gates:
    """Where answers are held until the test releases them, the client leaves or the server closes."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._reached: Counter[str] = Counter()
        self._released: set[str] = set()
        self._held: dict[socket.socket, str] = {}
        self._closed = False

    def reached(self, name: str) -> int:
        """How many answers have come to this gate."""
        return self._reached[name]

    def release(self, name: str) -> None:
        """Open the gate for good."""
        with self._progress.change():
            self._released.add(name)
            for wake, gate in self._held.items():
                if gate == name:
                    wake.send(b"x")

    def close(self) -> None:
        """End every wait, now and later, with AnswerCutError."""
        with self._progress.change():
            self._closed = True
            for wake in self._held:
                wake.send(b"x")

    def hold(self, connection: Connection, name: str) -> None:
        """Wait at a gate. Raises ClientGoneError, AnswerCutError."""
        with self._progress.change():
            self._reached[name] += 1
        self._wait(connection, name, None)

    def pause(self, connection: Connection, seconds: float) -> None:
        """Wait for a time. Raises ClientGoneError, AnswerCutError."""
        self._wait(connection, "", seconds)

    def _wait(self, connection: Connection, name: str, seconds: float | None) -> None:
        woken, wake = socket.socketpair()
        with woken, wake:
            with self._progress.change():
                self._held[wake] = name
                if name in self._released or self._closed:
                    wake.send(b"x")
            try:
                connection.wait_for(woken, seconds)
            finally:
                with self._progress.change():
                    del self._held[wake]
        if self._closed:
            raise AnswerCutError


class _Watcher:
    """Carries changes from the server's threads into one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    async def changed(self) -> None:
        await self._event.wait()
        self._event.clear()

    def wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop ended a moment ago
            self._loop.call_soon_threadsafe(self._event.set)
