"""The pause of the cycle collector around a start, and what an exit still does."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mewcode.infra import collector


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    collector._paused = False
    gc.unfreeze()
    gc.enable()


def test_a_start_is_not_disturbed_and_what_it_made_is_left_alone() -> None:
    collector.pause()
    assert not gc.isenabled()
    collector.start_done()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0


def test_only_what_was_paused_goes_on() -> None:
    """Where the library is used, the collector is its user's."""
    gc.disable()
    collector.start_done()
    assert not gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_the_second_call_does_nothing() -> None:
    collector.pause()
    collector.start_done()
    gc.unfreeze()
    collector.start_done()
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["--no-such-flag"], 2)])
def test_an_exit_does_all_that_was_asked_of_it(arguments: list[str], code: int) -> None:
    """Handlers run and what was written comes out, though nothing is collected any more."""
    program = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print('last words', gc.isenabled(), gc.get_freeze_count() > 0))\n"
        "print('first words')\n"
        "from mewcode.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    lines = done.stdout.splitlines()
    assert done.returncode == code
    assert (lines[0], lines[-1]) == ("first words", "last words False True")
