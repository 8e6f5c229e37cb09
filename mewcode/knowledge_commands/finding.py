"""`list`, `search` and `rebuild`."""

from __future__ import annotations

import sys
import time

from mewcode.infra.terminal_text import safe_line
from mewcode.knowledge_commands.context import Context
from mewcode.knowledge_source import document_path, documents_in
from mewcode.memory.answers.view import Answer

_NONE = "no paths are named yet: mewcode knowledge add PATH"
_LINES = 6
"""Of a passage, for a person."""
_TELL = 0.2
"""Seconds between two words on how far it is."""


def list_all(context: Context) -> Answer:
    config = context.loaded.config
    value, lines = [], []
    for place, text in enumerate(config.knowledge.paths):
        found = documents_in(document_path(text, context.places, context.environ), context.places)
        where = config.origin(f"knowledge.paths.{place}")
        count = len(found.documents)
        value.append({"path": text, "where": where, "documents": count, "problems": found.problems})
        counted = f"{count} document{'s' if count != 1 else ''}"
        said = "; ".join(map(safe_line, found.problems)) or counted
        lines.append(f"{safe_line(text)}  {said}  ({safe_line(where, 300)})")
    return Answer(value, tuple(lines), hint="" if value else _NONE)


def search(context: Context) -> Answer:
    """What is new or changed is read first."""
    if not context.loaded.config.knowledge.paths:
        return Answer([], hint=_NONE)
    flags = context.options.knowledge_flags
    base = context.base()
    progress = _Progress()
    report = base.refresh(progress.tell)
    progress.end()
    found = base.search(" ".join(context.words), flags.limit, flags.offset)
    value = [
        {"path": passage.path, "line": passage.line, "heading": passage.heading, "text": passage.text}
        for passage in found.passages
    ]
    lines: list[str] = []
    for passage in found.passages:
        heading = f"  {safe_line(passage.heading, 300)}" if passage.heading else ""
        lines += ["", f"{safe_line(passage.path, 500)}:{passage.line}{heading}"]
        said = passage.text.split("\n")
        lines += [f"  {line}".rstrip() for line in said[:_LINES]]
        lines += ["  …"] if len(said) > _LINES else []
    hint = f"there is more: --offset {flags.offset + len(value)}" if found.more else ""
    return Answer(value, tuple(lines[1:]), report.problems, hint or ("" if value else "nothing fits"))


def rebuild(context: Context) -> Answer:
    if not context.loaded.config.knowledge.paths:
        return Answer({"documents": 0, "problems": []}, hint=_NONE)
    base = context.base()
    base.forget()
    progress = _Progress()
    report = base.refresh(progress.tell)
    progress.end()
    value = {"documents": report.documents, "problems": report.problems}
    line = f"{report.documents} document{'s' if report.documents != 1 else ''}"
    return Answer(value, (line,), report.problems, is_done=report.is_whole)


class _Progress:
    """A line that says how far it is, where a person watches."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._last = time.monotonic()
        self._wrote = False

    def tell(self, count: int) -> None:
        now = time.monotonic()
        if self._is_shown and now - self._last >= _TELL:
            self._last, self._wrote = now, True
            sys.stderr.write(f"\r{count} documents read")
            sys.stderr.flush()

    def end(self) -> None:
        if self._wrote:
            sys.stderr.write("\r\x1b[K")


COMMANDS = {"list": list_all, "search": search, "rebuild": rebuild}
