"""The fixtures with which the fake model server itself is tested."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support.fake_llm_client import connected
from tests.support.fixtures import fake_llm

__all__ = ["client", "fake_llm"]


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with connected() as each:
        yield each
