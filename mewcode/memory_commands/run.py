"""Runs a word of `mewcode memory`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mewcode.infra.paths import Places
from mewcode.memory_commands.context import Context
from mewcode.options import Options


def run_memory(options: Options, environ: Mapping[str, str], places: Places) -> int:
    """Does what ``options.words`` say (see `words.check_words`); the exit code. Raises `MewCodeError`."""
    return command_of(options.words[0])(Context(options, environ, places))


def command_of(verb: str) -> Callable[[Context], int]:
    """What runs a word. To list should be quick: only what the word needs is imported."""
    if verb in ("list", "show", "history", "path"):
        from mewcode.memory_commands import reading

        return reading.COMMANDS[verb]
    from mewcode.memory_commands import writing

    return writing.COMMANDS[verb]
