"""The command runs in this process: what it sets up for a process of its own is taken back."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    ours = logging.getLogger("mewcode")
    handlers, propagate, level = list(ours.handlers), ours.propagate, ours.level
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, interrupt)
    for handler in ours.handlers[:]:
        if handler not in handlers:
            handler.close()
    ours.handlers[:], ours.propagate = handlers, propagate
    ours.setLevel(level)
