"""Fixtures around the stand-ins; `tests/conftest.py` imports them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .fake_llm import FakeLLM


@pytest.fixture
def fake_llm() -> Iterator[FakeLLM]:
    """A running fake model server with an empty script.

    A problem it noted (see `FakeLLM.problems`) fails the test; a test that expects one clears the list.
    """
    with FakeLLM() as server:
        yield server
    server.assert_clean()
