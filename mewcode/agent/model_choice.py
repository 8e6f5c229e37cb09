"""Which model, where nobody named one: the service is asked what it offers."""

from __future__ import annotations

import asyncio

from mewcode.core.errors import NotConfigured, ProviderError
from mewcode.providers.base import Provider
from mewcode.providers.catalog import Catalog
from mewcode.providers.retry import RetryPolicy

# Nobody sees these waits: fewer and shorter than a request's.
_LISTING = RetryPolicy(max_attempts=4, base=0.5)


async def choose_model(provider: Provider, catalog: Catalog) -> str:
    """The catalogue's first among those that the service offers, else the service's first. Raises
    `ProviderError`, and `NotConfigured` where it offers none."""
    offered = await _offered(provider)
    if not offered:
        raise NotConfigured(
            "the service offers no model", "Name one with --model, or load one into the local server."
        )
    preferred = [name for name in catalog.names() if name in offered]
    return preferred[0] if preferred else offered[0]


async def _offered(provider: Provider) -> tuple[str, ...]:
    """The models that the service lists; asked again, as requests are, when it is not there."""
    for attempt in range(1, _LISTING.max_attempts + 1):
        try:
            return await provider.list_models()
        except ProviderError as error:
            wait = _LISTING.delay(attempt, error)
            if wait is None:
                raise
            await asyncio.sleep(wait)
    return ()
