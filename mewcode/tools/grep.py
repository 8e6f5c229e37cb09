"""Files searched for a regular expression."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from mewcode.core.access import Access, ReadAccess
from mewcode.core.errors import ToolError
from mewcode.core.outcome import TextView, ToolOutcome
from mewcode.infra.path_glob import PathGlob, split_base
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.tools.base import Tool, ToolContext, ToolSession
from mewcode.tools.file_access import (
    explained,
    judged_path,
    missing,
    open_regular,
    read_up_to,
    resolve_path,
)
from mewcode.tools.grep_report import DEFAULT_SHOWN, GrepReport
from mewcode.tools.ripgrep import RipgrepFinder, find_ripgrep, run_search
from mewcode.tools.search import Search
from mewcode.tools.text_file import BINARY_PROBE, is_binary

# Name patterns that ripgrep may filter by itself, as a file type.
_SIMPLE_NAME = r"[\w.*?{},\[\]+-]+"


class GrepArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A regular expression and where to look for it, with 2,000 lines of output at most."""

    pattern: Annotated[str, Meta(description="The regular expression.", min_length=1)]
    path: Annotated[str, Meta(description="A folder or file. Default: the working folder.")] = "."
    glob: Annotated[str, Meta(description="Only files of this name: `*.py`, `src/**/*.ts`.")] = ""
    output_mode: Annotated[
        Literal["content", "files", "count"], Meta(description="What to show. Default: content.")
    ] = "content"
    ignore_case: Annotated[bool, Meta(description="Upper and lower case are the same.")] = False
    context: Annotated[int, Meta(description="Lines to show around each match.", ge=0, le=50)] = 0
    multiline: Annotated[bool, Meta(description="A match may span lines.")] = False
    limit: Annotated[
        int, Meta(description=f"Most lines of output. Default: {DEFAULT_SHOWN}.", ge=1, le=2000)
    ] = DEFAULT_SHOWN


class GrepTool(Tool[GrepArgs]):
    name = "grep"
    read_only = True
    args_type = GrepArgs

    def __init__(self, find: RipgrepFinder = find_ripgrep) -> None:
        self._find = find

    def accesses(self, args: GrepArgs, session: ToolSession) -> Sequence[Access]:
        """Reads ``path``, and what the beginning of ``glob`` leads to."""
        path = args.path or "."
        read: tuple[Access, ...] = (ReadAccess(judged_path(session, path)),)
        base, _ = split_base(args.glob)
        if base.startswith(("/", "~")) or ".." in base.split("/"):
            read += (ReadAccess(judged_path(session, os.path.join(path, os.path.expanduser(base)))),)
        return read

    def summary(self, args: GrepArgs, session: ToolSession) -> str:
        where = [part for part in (args.path, args.glob) if part not in ("", ".")]
        return safe_line(args.pattern + (f" in {' '.join(where)}" if where else ""))

    async def run(self, args: GrepArgs, context: ToolContext) -> ToolOutcome:
        """Searches. Raises `ToolError` for a path that does not exist, a pattern that makes no sense, and a
        search that takes too long."""
        session = context.session
        path = resolve_path(session, args.path or ".", context.judged)
        base, target = _place(path, session)
        names = _name_glob(args.glob) if args.glob and not target else None
        hidden = names is not None and names.names_hidden
        report = GrepReport(args.output_mode, args.limit, lambda name: session.display(base / name))
        kept_back: set[str] = set()
        if not target:
            report.accept = lambda name: (
                _wanted(name.split("/"), names, hidden) and _may_show(base / name, session, kept_back)
            )
        simple = re.fullmatch(_SIMPLE_NAME, args.glob)
        search = Search(
            base=str(base),
            target=target,
            pattern=args.pattern,
            hidden=hidden,
            ignore_case=args.ignore_case,
            multiline=args.multiline,
            context=args.context if args.output_mode == "content" else 0,
            mode=args.output_mode,
            name_filter=args.glob if simple else "",
        )
        await run_search(search, self._find(), report.feed)
        note = f"\n[{len(kept_back):,} more matching files must not be read]" if kept_back else ""
        if not report.files:
            return ToolOutcome.text(
                f"No match for {args.pattern} in {session.display(path)}"
                f"{f' ({args.glob})' if args.glob else ''}. "
                "Hidden files, and those that git ignores, are searched only where path names them."
                f"{note}",
                TextView("no matches"),
            )
        body = report.text() + note
        return ToolOutcome.text(body, TextView(report.summary(), safe_text(body)))


def _place(path: Path, session: ToolSession) -> tuple[Path, str]:
    """The folder to search and, where a file was named, the file in it."""
    if path.is_dir():
        return path, ""
    if not path.exists():
        raise missing(session, path)
    shown = session.display(path)
    with explained(shown), open_regular(path, shown) as (descriptor, _):
        if is_binary(read_up_to(descriptor, BINARY_PROBE)):
            raise ToolError(f"{shown} is binary; its text cannot be searched.")
    return path.parent, path.name


def _name_glob(glob: str) -> PathGlob:
    if glob.startswith(("/", "~")):
        raise ToolError("glob is relative to path. Put the folder into path.")
    # As in .gitignore: a name without a folder is looked for in all of them.
    return PathGlob(glob if "/" in glob else f"**/{glob}")


def _may_show(file: Path, session: ToolSession, kept_back: set[str]) -> bool:
    """Whether the policy lets a file be read; one that it does not is added to ``kept_back``."""
    if session.may_read is None or session.may_read(file):
        return True
    kept_back.add(str(file))
    return False


def _wanted(parts: Sequence[str], names: PathGlob | None, hidden: bool) -> bool:
    if not hidden and any(part.startswith(".") for part in parts):
        return False
    return names is None or names.matches(parts)
