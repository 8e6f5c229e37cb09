"""Runs a word of `mewcode knowledge`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mewcode.infra.paths import Places
from mewcode.knowledge_commands.context import Context
from mewcode.memory.answers.view import Answer
from mewcode.options import Options


def run_knowledge(options: Options, environ: Mapping[str, str], places: Places) -> int:
    """Does what ``options.words`` say (see `words.check_words`); the exit code. Raises `MewCodeError`."""
    context = Context(options, environ, places)
    return context.print(command_of(options.words[0])(context))


def command_of(verb: str) -> Callable[[Context], Answer]:
    """What runs a word."""
    if verb in ("add", "remove"):
        from mewcode.knowledge_commands import naming

        return naming.COMMANDS[verb]
    from mewcode.knowledge_commands import finding

    return finding.COMMANDS[verb]
