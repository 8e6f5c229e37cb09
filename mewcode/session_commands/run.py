"""Runs a word of `mewcode sessions`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from mewcode.infra.paths import Places
from mewcode.options import Options
from mewcode.session_commands.context import Context


def run_sessions(options: Options, environ: Mapping[str, str], places: Places) -> int:
    """Does what ``options.words`` say (see `words.check_words`); the exit code. Raises `MewCodeError`."""
    return command_of(options.words[0])(Context(options, environ, places, time.time()))


def command_of(verb: str) -> Callable[[Context], int]:
    """What runs a word. To list and to search should be quick: only what the word needs is imported."""
    if verb in ("list", "show", "search", "usage"):
        from mewcode.session_commands import finding

        return finding.COMMANDS[verb]
    if verb in ("rename", "pin", "unpin", "tag", "untag"):
        from mewcode.session_commands import labelling

        return labelling.COMMANDS[verb]
    if verb == "export":
        from mewcode.session_commands.exporting import export

        return export
    if verb == "import":
        from mewcode.session_commands.importing import import_all

        return import_all
    from mewcode.session_commands import keeping

    return keeping.COMMANDS[verb]
