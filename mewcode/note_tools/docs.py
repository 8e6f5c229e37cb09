"""The model's tool for documents: search_docs. It is there where the config names any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from mewcode.core.outcome import TextView, ToolOutcome
from mewcode.infra.fence import fenced_data
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.note_tools.refreshing import Refresh
from mewcode.tools.base import AnyTool, Tool, ToolContext, ToolSession
from mewcode.tools.in_thread import in_thread

if TYPE_CHECKING:
    import asyncio

    from mewcode.infra.supervisor import TaskScope
    from mewcode.memory.knowledge.base import KnowledgeBase, Report
    from mewcode.memory.recall.values import Passage

_MOST_BYTES = 24_000
"""Of the passages in one answer, in UTF-8."""
_MOST_PROBLEMS = 3


class SearchDocsArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Words to find passages by."""

    query: Annotated[str, Meta(description="A few words.", min_length=1, max_length=500)]
    limit: Annotated[int, Meta(description="Most passages to give. Default: 5.", ge=1, le=20)] = 5
    offset: Annotated[int, Meta(description="Passages to leave out, as the answer says.", ge=0, le=400)] = 0


class SessionDocs:
    """The documents of a session. ``open_base`` is called when they are first asked for, in any thread;
    ``scope`` owns the work beside the conversation."""

    def __init__(self, open_base: Callable[[], KnowledgeBase], scope: Callable[[], TaskScope]) -> None:
        self._open = open_base
        self._base: KnowledgeBase | None = None
        self.refresh: Refresh[Report] = Refresh(
            lambda progress, stop: self.base().refresh(progress, stop), scope, "documents"
        )

    def base(self) -> KnowledgeBase:
        """To be called in a thread; two at once may each make one."""
        if self._base is None:
            self._base = self._open()
        return self._base

    def tools(self) -> tuple[AnyTool, ...]:
        """The model's tool."""
        return (SearchDocsTool(self),)

    def begin(self) -> asyncio.Task[Report]:
        """Brings the index up to date, if that is not under way."""
        return self.refresh.begin()


class SearchDocsTool(Tool[SearchDocsArgs]):
    name = "search_docs"
    read_only = True
    pages = True
    args_type = SearchDocsArgs

    def __init__(self, docs: SessionDocs) -> None:
        self._docs = docs

    @property
    def description(self) -> str:
        return Path(__file__).with_name("search_docs.md").read_text(encoding="utf-8").strip()

    def summary(self, args: SearchDocsArgs, session: ToolSession) -> str:
        return safe_line(args.query)

    async def run(self, args: SearchDocsArgs, context: ToolContext) -> ToolOutcome:
        report = await self._docs.refresh.ready(context.progress)
        may_read = context.session.may_read
        found = await in_thread(
            lambda _: self._docs.base().search(args.query, args.limit, args.offset, may_read)
        )
        shown = _fitting(found.passages)
        told = []
        if shown:
            told.append(fenced_data("documents", "\n\n".join(map(_passage_text, shown))))
        else:
            told.append("Nothing more fits these words." if args.offset else "No document fits these words.")
        if found.more or len(shown) < len(found.passages):
            told.append(f"There is more: offset {args.offset + len(shown)}.")
        told += _state(report)
        places = "\n".join(f"{_place(passage)}  {safe_line(passage.heading)}".rstrip() for passage in shown)
        count = f"{len(shown)} passage{'s' if len(shown) != 1 else ''}"
        return ToolOutcome.text("\n".join(told), TextView(count, places))


def _fitting(passages: tuple[Passage, ...]) -> tuple[Passage, ...]:
    """As many as one answer takes; at least one."""
    left = _MOST_BYTES
    for count, passage in enumerate(passages):
        left -= len(_passage_text(passage).encode())
        if left < 0 and count:
            return passages[:count]
    return passages


def _place(passage: Passage) -> str:
    return f"{safe_line(passage.path, 500)}:{passage.line}"


def _passage_text(passage: Passage) -> str:
    heading = safe_line(passage.heading, 300)
    return f"## {_place(passage)}{f' — {heading}' if heading else ''}\n{safe_text(passage.text)}"


def _state(report: Report | None) -> list[str]:
    """What is to be said of the index; nothing where all is well."""
    if report is None or not (report.is_whole or report.problems):
        return ["The documents are still being read: ask again for those that are missing."]
    empty = [] if report.documents else ["There are no documents in the paths that the user named."]
    problems = [safe_line(problem, 300) for problem in report.problems[:_MOST_PROBLEMS]]
    more = len(report.problems) - len(problems)
    rest = [f"({more} more)"] if more > 0 else []
    return [*empty, *(f"Not read: {problem}" for problem in problems), *rest]
