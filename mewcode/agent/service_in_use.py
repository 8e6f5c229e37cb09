"""The service that a session talks to, and the way to another while the old one may still be answering."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mewcode.agent.surroundings import Surroundings
from mewcode.infra.supervisor import TaskScope
from mewcode.providers.base import Provider
from mewcode.providers.registry import Service


class ServiceInUse:
    """``changed`` is told of another service."""

    def __init__(
        self,
        provider: Provider,
        service: Service,
        around: Surroundings,
        changed: Callable[[Service], None],
        background: TaskScope,
    ) -> None:
        self.provider = provider
        self.service = service
        self._around = around
        self._changed = changed
        self._background = background
        self._asides: set[asyncio.Future[None]] = set()

    def turn_to(self, service: Service) -> Provider:
        """The provider of another service; the old one's connections are closed in the background."""
        old, self.provider = self.provider, self._around.make(service)
        self.service = service
        self._changed(service)
        self._background.start("close provider", self._close(old, set(self._asides)))
        return self.provider

    @contextmanager
    def held(self) -> Iterator[Provider]:
        """Within it the service's connections stay open, also where the session turns to another one."""
        ended = asyncio.get_running_loop().create_future()
        self._asides.add(ended)
        try:
            yield self.provider
        finally:
            self._asides.discard(ended)
            ended.set_result(None)

    async def _close(self, old: Provider, asides: set[asyncio.Future[None]]) -> None:
        """Closes a provider once the questions aside that it answers are done with."""
        try:
            for aside in asides:
                await aside
        finally:
            await old.aclose()
