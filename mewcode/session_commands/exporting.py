"""`export`: a session as a file that others can read."""

from __future__ import annotations

import sys

from mewcode.infra.redact import redact
from mewcode.infra.terminal_text import safe_text
from mewcode.session_commands.context import Context, tell
from mewcode.sessions.export import check_target, exported, write_export
from mewcode.sessions.export_facts import facts_of
from mewcode.tools.shell_session import SECRET_NAMES


def export(context: Context) -> int:
    """To standard output, or to the file that was named (0600; an existing one is left alone)."""
    options, flags = context.options, context.options.session_flags
    folder = context.find(options.words[1])
    known = [value for name in SECRET_NAMES if (value := context.environ.get(name))]

    def clean(text: str) -> str:
        return text if flags.with_secrets else redact(text, known)

    target = None
    if flags.output is not None:
        # An absolute path stays what it is.
        target = context.places.cwd / flags.output.expanduser()
        check_target(target)
    text = exported(facts_of(folder), "json" if options.as_json else flags.format, clean)
    if target is None:
        # On a screen, control characters that somebody said would act.
        sys.stdout.write(safe_text(text) if sys.stdout.isatty() else text)
    else:
        write_export(target, text)
        tell(f"written to {target}")
    if not flags.with_secrets:
        tell("what looks like a secret was blacked out; read it before you pass it on")
    return 0
