"""Files found by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from mewcode.core.access import Access, ReadAccess
from mewcode.core.outcome import TextView, ToolOutcome
from mewcode.infra.path_glob import PathGlob, split_base
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.tools.base import Tool, ToolContext, ToolSession
from mewcode.tools.file_access import judged_path, missing, refuse_no_folder, resolve_path
from mewcode.tools.in_thread import Stop, in_thread
from mewcode.tools.ripgrep import RipgrepFinder, find_ripgrep, run_search
from mewcode.tools.search import Records, Search

_SHOWN = 200
# Names held at once; beyond, the newest of these are shown and the answer says so.
_HELD = 100_000


class GlobArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """A path pattern, below the folder ``path``."""

    pattern: Annotated[str, Meta(description="Such as `**/*.py` or `src/**/test_*.ts`.", min_length=1)]
    path: Annotated[str, Meta(description="The folder to search. Default: the working folder.")] = "."


class GlobTool(Tool[GlobArgs]):
    name = "glob"
    read_only = True
    args_type = GlobArgs

    def __init__(self, find: RipgrepFinder = find_ripgrep) -> None:
        self._find = find

    def accesses(self, args: GlobArgs, session: ToolSession) -> Sequence[Access]:
        """Reads the folder that the pattern begins with, wherever ``..`` or an absolute pattern leads."""
        return (ReadAccess(judged_path(session, _place(args)[0])),)

    def summary(self, args: GlobArgs, session: ToolSession) -> str:
        return safe_line(args.pattern if args.path in ("", ".") else f"{args.pattern} in {args.path}")

    async def run(self, args: GlobArgs, context: ToolContext) -> ToolOutcome:
        """Lists files, newest first. Raises `ToolError` for a folder that does not exist, a pattern that
        cannot be used, and a search that takes too long."""
        session = context.session
        place, rest = _place(args)
        base = resolve_path(session, place, context.judged)
        if not base.exists():
            raise missing(session, base)
        refuse_no_folder(base, session.display(base))
        pattern = PathGlob(rest)
        names = await self._names(base, pattern)
        ordered = await in_thread(lambda stop: _newest(base, names, stop))
        if not ordered:
            return ToolOutcome.text(_nothing(args, base, rest, session), TextView("no files"))
        body = "\n".join(session.display(base / name) for name in ordered[:_SHOWN])
        count = f"{len(ordered):,}{'+' if len(names) >= _HELD else ''}"
        if len(ordered) > _SHOWN:
            body += f"\n[{_SHOWN} newest of {count} files; narrow the pattern to see others]"
        return ToolOutcome.text(body, TextView(f"{count} file{'s' if count != '1' else ''}", safe_text(body)))

    async def _names(self, base: Path, pattern: PathGlob) -> list[str]:
        records = Records(b"\0")
        names: list[str] = []

        def consume(chunk: bytes) -> bool:
            for record in records.feed(chunk):
                name = os.fsdecode(record.removeprefix(b"./"))
                parts = name.split("/")
                if pattern.matches(parts) and (
                    pattern.names_hidden or not any(part[:1] == "." for part in parts)
                ):
                    names.append(name)
            return len(names) < _HELD

        await run_search(Search(str(base), hidden=pattern.names_hidden), self._find(), consume)
        return names


def _place(args: GlobArgs) -> tuple[str, str]:
    """The folder to search, as written, and the pattern within it."""
    base, rest = split_base(args.pattern)
    if base.startswith(("/", "~")):
        return base, rest
    return os.path.join(args.path or ".", base), rest


def _newest(base: Path, names: Sequence[str], stop: Stop) -> list[str]:
    """The names by time of change, newest first; those removed meanwhile are left out."""
    dated: list[tuple[int, str]] = []
    for name in names:
        stop.check()
        try:
            dated.append((-os.stat(base / name, follow_symlinks=False).st_mtime_ns, name))
        except OSError:
            continue
    return [name for _, name in sorted(dated)]


def _nothing(args: GlobArgs, base: Path, rest: str, session: ToolSession) -> str:
    answer = f"No file matches {args.pattern} in {session.display(base)}."
    try:
        is_folder = (base / rest).is_dir()
    except (OSError, ValueError):  # no name that could exist
        is_folder = False
    if is_folder:
        return f"{answer} {rest} is a folder: use {args.pattern.rstrip('/')}/** for what is in it."
    if "/" not in args.pattern and "*" in args.pattern:
        return f"{answer} To look in sub-folders too, use **/{args.pattern}."
    return f"{answer} What git ignores and hidden files are left out unless named."
