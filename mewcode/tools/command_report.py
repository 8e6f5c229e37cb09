"""How the end of a command is told, to the model and to the person."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

import msgspec

from mewcode.core.outcome import ToolOutcome, Whole
from mewcode.tools.bounded_output import BoundedOutput

# Characters of the output that go to the screen with a finished command: what a person scrolls through.
_SHOWN = 8_000


def shell_code(returncode: int) -> int:
    """The exit code as a shell gives it: 128 and the signal's number where a signal ended it."""
    return returncode if returncode >= 0 else 128 - returncode


def exit_words(returncode: int) -> str:
    """``exit code 1``, or with the signal's name: ``exit code 143 (ended by SIGTERM)``."""
    if returncode >= 0:
        return f"exit code {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:  # a real-time signal has no name
        name = f"signal {-returncode}"
    return f"exit code {shell_code(returncode)} (ended by {name})"


async def kept_whole(
    output: BoundedOutput, tell: Callable[[str], ToolOutcome], before: str = ""
) -> ToolOutcome:
    """The outcome that ``tell`` makes of the output as the model reads it, ``before`` in front, and where
    that is not all of it, what is to be kept of the rest. The outcome's text begins with what it is given."""
    shown = output.shown()
    outcome = tell(before + shown.text)
    if not shown.note:
        return outcome
    text = await asyncio.to_thread(output.whole)
    return msgspec.structs.replace(outcome, whole=Whole(before + text, len(before) + shown.said_at))


def shown_tail(output: str) -> str:
    """The end of an output for the screen, from the beginning of a line."""
    if len(output) <= _SHOWN:
        return output
    tail = output[-_SHOWN:]
    return tail[tail.find("\n", 0, _SHOWN // 2) + 1 :]
