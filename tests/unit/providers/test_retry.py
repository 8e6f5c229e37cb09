"""How long to wait before a request is sent again."""

from __future__ import annotations

import pytest

from mewcode.core.errors import AuthError, BadRequest, ConnectionFailed, Overloaded, RateLimited, StreamBroken
from mewcode.providers.retry import RetryPolicy


def test_waits_double_up_to_a_cap_and_vary() -> None:
    policy = RetryPolicy(base=1.0, cap=8.0)
    for attempt, longest in enumerate([1, 2, 4, 8, 8, 8, 8], start=1):
        waits = {policy.delay(attempt, Overloaded("x")) for _ in range(50)}
        assert all(longest * 0.75 <= wait <= longest for wait in waits)
        assert len(waits) > 1


def test_the_default_outlasts_an_overload_of_a_minute() -> None:
    policy = RetryPolicy()
    waits = [policy.delay(attempt, Overloaded("x")) for attempt in range(1, policy.max_attempts)]
    assert 60 < sum(waits) < 120


@pytest.mark.parametrize("kind", [RateLimited, Overloaded, ConnectionFailed, StreamBroken])
def test_the_last_attempt_is_the_last(kind) -> None:
    policy = RetryPolicy(max_attempts=3)
    assert policy.delay(2, kind("x")) is not None
    assert policy.delay(3, kind("x")) is None


@pytest.mark.parametrize("kind", [AuthError, BadRequest])
def test_a_refusal_is_final(kind) -> None:
    assert RetryPolicy().delay(1, kind("x")) is None


def test_the_services_own_wait_is_obeyed_within_bounds() -> None:
    policy = RetryPolicy(longest_wait=10)
    assert policy.delay(1, RateLimited("x", retry_after=7.5)) == 7.5
    assert policy.delay(1, RateLimited("x", retry_after=0.0)) == 0.0
    assert policy.delay(1, RateLimited("x", retry_after=10.1)) is None
