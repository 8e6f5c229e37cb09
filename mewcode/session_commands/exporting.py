"""`export`: a session as a file that others can read."""

from __future__ import annotations

import sys

from mewcode.core.errors import SessionError
from mewcode.infra.atomic import write_atomic
from mewcode.infra.redact import redact
from mewcode.session_commands.context import Context, tell
from mewcode.sessions.export_html import as_html
from mewcode.sessions.export_json import as_json
from mewcode.sessions.export_markdown import as_markdown
from mewcode.tools.shell_session import SECRET_NAMES

_FORMATS = {"markdown": as_markdown, "html": as_html, "json": as_json}


def export(context: Context) -> int:
    """To standard output, or to the file that was named (0600; an existing one is left alone)."""
    options, flags = context.options, context.options.session_flags
    folder = context.find(options.words[1])
    [entry] = [entry for entry in context.entries() if entry.id == folder.name]
    known = [value for name in SECRET_NAMES if (value := context.environ.get(name))]

    def clean(text: str) -> str:
        return text if flags.with_secrets else redact(text, known)

    kind = "json" if options.as_json else flags.format
    text = _FORMATS[kind](entry, clean)
    if flags.output is None:
        sys.stdout.write(text)
    else:
        target = flags.output.expanduser()
        target = target if target.is_absolute() else context.places.cwd / target
        if target.exists():
            raise SessionError(f"{target} exists.", "Name another file with --output, or remove that one.")
        try:
            write_atomic(target, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise SessionError(f"{target} cannot be written: {error.strerror or error}") from error
        tell(f"written to {target}")
    if not flags.with_secrets:
        tell("what looks like a secret was blacked out; read it before you pass it on")
    return 0
