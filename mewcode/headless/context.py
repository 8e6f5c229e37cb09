"""``-p /context``: what fills the model's window, without a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from mewcode.context.report import report_object, report_text
from mewcode.headless.output import write_line, write_text
from mewcode.infra.terminal_text import safe_text
from mewcode.options import Options, OutputFormat

if TYPE_CHECKING:
    from mewcode.context.parts import Parts

_COMMAND = "/context"


def asks_for_context(options: Options) -> bool:
    """Whether the prompt is the command. One that begins with two slashes is a message, as in the REPL."""
    return options.input_format == "text" and (options.prompt or "").strip() == _COMMAND


def write_context(parts: Parts, session_id: str, kind: OutputFormat, out: TextIO) -> None:
    """A table, or for the JSON formats one object (see `report_object`). Raises as the methods of
    `headless.output.Output` do."""
    if kind == "text":
        write_text(out, safe_text(report_text(parts)))
    else:
        write_line(out, report_object(parts, session_id))
