"""When a request is sent again, and how long to wait before."""

from __future__ import annotations

import random

import msgspec

from mewcode.core.errors import ProviderError


class RetryPolicy(msgspec.Struct, frozen=True):
    """Seconds throughout. The waits double from ``base`` to ``cap``, with up to a quarter taken off so that
    many clients do not come back at once. Eight attempts wait about two minutes in all, which outlasts the
    usual overload. A service's own Retry-After is obeyed up to ``longest_wait``; beyond it, waiting in
    silence is worse than an answer."""

    max_attempts: int = 8
    base: float = 1.0
    cap: float = 32.0
    longest_wait: float = 300.0

    def delay(self, attempt: int, error: ProviderError) -> float | None:
        """Seconds to wait after attempt number ``attempt`` (from 1) failed, or None to give up."""
        if not error.retryable or attempt >= self.max_attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.longest_wait else None
        wait = min(self.cap, self.base * 2.0 ** (attempt - 1))
        return wait * (1 - random.random() / 4)  # noqa: S311 - spreading load, not keeping secrets
