"""Runs a word of `mewcode memory`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mewcode.infra.paths import Places
from mewcode.memory.answers.view import Answer
from mewcode.memory_commands.context import Context
from mewcode.options import Options


def run_memory(options: Options, environ: Mapping[str, str], places: Places) -> int:
    """Does what ``options.words`` say (see `words.check_words`); the exit code. Raises `MewCodeError`."""
    context = Context(options, environ, places)
    return context.print(command_of(options.words[0])(context))


def command_of(verb: str) -> Callable[[Context], Answer]:
    """What runs a word. To list should be quick: only what the word needs is imported."""
    from mewcode.memory_commands import reading

    if verb in reading.COMMANDS:
        return reading.COMMANDS[verb]
    from mewcode.memory_commands import writing

    return writing.COMMANDS[verb]
