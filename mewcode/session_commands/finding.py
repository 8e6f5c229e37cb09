"""`list`, `show`, `search`, `usage`: they read, and change nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from mewcode.infra.terminal_text import safe_line
from mewcode.session_commands.context import Context, entry_line, size_text, tell
from mewcode.sessions.browse import REGEX, newest_folders
from mewcode.sessions.catalog import Catalog
from mewcode.sessions.catalog_entry import CatalogEntry, Hit, entry_fields
from mewcode.sessions.catalog_search import search
from mewcode.sessions.space import Space, space_of
from mewcode.sessions.transcript import read_transcript
from mewcode.sessions.trash import list_trash

_Found = tuple[Hit, CatalogEntry]
_BAR = 30
_LARGEST = 15


def list_all(context: Context) -> int:
    entries = [entry for found in context.with_each_catalog(Catalog.entries) for entry in found]
    entries.sort(key=lambda entry: (entry.updated, entry.id), reverse=True)
    lines = [entry_line(entry, context.now) for entry in entries]
    if len(context.workspaces()) > 1:
        lines = [f"{line}  {_place(entry)}" for line, entry in zip(lines, entries, strict=True)]
    context.answer([entry_fields(entry) for entry in entries], lines)
    if not entries and not context.options.as_json:
        tell("there are no sessions yet")
    return 0


def _place(entry: CatalogEntry) -> str:
    return safe_line(entry.folder, 80)


def show(context: Context) -> int:
    folder = context.find(context.options.words[1])
    entries, brief = context.with_catalog(lambda found: (found.entries(), found.brief(folder.name)))
    [entry] = [entry for entry in entries if entry.id == folder.name]
    spoken = read_transcript(folder)
    lines = [entry_line(entry, context.now), ""]
    lines += [f"brief: {brief}", ""] if brief else []
    turn = 0
    for message in spoken:
        if message.turn != turn:
            turn = message.turn
            lines.append(f"-- turn {turn} --")
        lines += [f"{message.role}: {message.text}", ""]
    context.answer(entry_fields(entry) | {"brief": brief, "transcript": spoken}, lines)
    return 0


def search_all(context: Context) -> int:
    query = " ".join(context.options.words[1:])
    limit = context.options.session_flags.limit
    found = (
        _search_regex(context, query, limit) if query.startswith(REGEX) else _search(context, query, limit)
    )
    lines = []
    for hit, entry in found:
        lines.append(
            f"{safe_line(hit.session, 40)} turn {hit.turn} ({hit.role})  {safe_line(entry.title, 60)}"
        )
        lines.append(f"    {hit.snippet}")
    context.answer([_hit_fields(hit, entry) for hit, entry in found], lines)
    if not found and not context.options.as_json:
        tell("no message holds that")
    return 0


def _search(context: Context, query: str, limit: int) -> list[_Found]:
    def find(catalog: Catalog) -> list[_Found]:
        hits = search(catalog, query, limit)
        entries = {entry.id: entry for entry in catalog.entries()} if hits else {}
        return [(hit, entries[hit.session]) for hit in hits if hit.session in entries]

    return [item for found in context.with_each_catalog(find) for item in found][:limit]


def _search_regex(context: Context, query: str, limit: int) -> list[_Found]:
    """The newest sessions first."""
    from mewcode.sessions.regex_search import SECONDS, regex_search

    folders = newest_folders(context.workspaces())
    found = regex_search(query.removeprefix(REGEX).strip(), folders, limit)
    if not found.is_complete:
        tell(f"stopped after {SECONDS:.0f} seconds: there may be more")
    if not found.hits:
        return []
    listed = context.with_each_catalog(Catalog.entries)
    entries = {entry.path: entry for entries in listed for entry in entries}
    return [(hit, entries[hit.path]) for hit in found.hits if hit.path in entries]


def _hit_fields(hit: Hit, entry: CatalogEntry) -> dict[str, Any]:
    fields = msgspec.structs.asdict(hit) | {"title": entry.title, "folder": entry.folder}
    return {name: value for name, value in fields.items() if name != "marks"}


def usage(context: Context) -> int:
    entries = context.entries()
    seen: set[tuple[int, int]] = set()  # what a fork shares counts with the older session
    spaces = {entry.id: space_of(entry.path, seen) for entry in sorted(entries, key=lambda entry: entry.id)}
    trash = {item.id: space_of(item.path, seen).total for item in list_trash(context.sessions_dir)}
    total = sum(space.total for space in spaces.values())
    parts = {name: sum(getattr(space, name) for space in spaces.values()) for name in Space.__struct_fields__}
    costs = [entry.cost_usd for entry in entries]
    cost = None if None in costs else sum(filter(None, costs))
    largest = sorted(entries, key=lambda entry: spaces[entry.id].total, reverse=True)
    value = {
        "sessions": len(entries),
        "bytes": total,
        **parts,
        "trash_sessions": len(trash),
        "trash_bytes": sum(trash.values()),
        "tokens": sum(entry.tokens for entry in entries),
        "cost_usd": cost,
        "by_session": [
            {"id": entry.id, "title": entry.title, "bytes": spaces[entry.id].total, "tokens": entry.tokens,
             "cost_usd": entry.cost_usd}
            for entry in largest
        ],
    }  # fmt: skip
    context.answer(value, _usage_lines(value, largest, spaces))
    return 0


def _usage_lines(value: dict[str, Any], largest: list[CatalogEntry], spaces: dict[str, Space]) -> list[str]:
    price = "unknown" if value["cost_usd"] is None else f"${value['cost_usd']:.2f}"
    lines = [
        f"{value['sessions']} sessions, {size_text(value['bytes'])}: conversations "
        f"{size_text(value['conversation'])}, tool results {size_text(value['tool_results'])}, checkpoints "
        f"{size_text(value['checkpoints'])}, other {size_text(value['other'])}",
        f"trash: {value['trash_sessions']} sessions, {size_text(value['trash_bytes'])}",
        f"{value['tokens']:,} tokens, cost {price}",
    ]
    most = max((space.total for space in spaces.values()), default=0) or 1
    for entry in largest[:_LARGEST]:
        size = spaces[entry.id].total
        bar = "#" * max(1, round(_BAR * size / most))
        lines.append(
            f"{safe_line(entry.id, 40):<20} {size_text(size):>9} {bar:<{_BAR}} {safe_line(entry.title, 50)}"
        )
    return lines


COMMANDS = {"list": list_all, "show": show, "search": search_all, "usage": usage}
