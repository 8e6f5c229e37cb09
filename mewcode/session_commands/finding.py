"""`list`, `show`, `search`, `usage`: they read, and change nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from mewcode.infra.terminal_text import safe_line
from mewcode.session_commands.context import Context, entry_line, size_text, tell
from mewcode.sessions.catalog import CatalogEntry
from mewcode.sessions.catalog_search import Hit, search
from mewcode.sessions.space import Space, space_of
from mewcode.sessions.transcript import read_transcript
from mewcode.sessions.trash import list_trash

_BAR = 30
_LARGEST = 15


def list_all(context: Context) -> int:
    entries = context.entries()
    context.answer(entries, [entry_line(entry, context.now) for entry in entries])
    if not entries and not context.options.as_json:
        tell("this project has no sessions yet")
    return 0


def show(context: Context) -> int:
    folder = context.find(context.options.words[1])
    [entry] = [entry for entry in context.entries() if entry.path.name == folder.name]
    spoken = read_transcript(folder)
    lines = [entry_line(entry, context.now), ""]
    turn = 0
    for message in spoken:
        if message.turn != turn:
            turn = message.turn
            lines.append(f"-- turn {turn} --")
        lines += [f"{message.role}: {message.text}", ""]
    context.answer(_fields(entry) | {"transcript": spoken}, lines)
    return 0


def search_all(context: Context) -> int:
    query = " ".join(context.options.words[1:])
    limit = context.options.session_flags.limit

    def find(catalog: Any) -> list[tuple[Hit, str]]:
        hits = search(catalog, query, limit)
        titles = {entry.id: entry.title for entry in catalog.entries()} if hits else {}
        return [(hit, titles.get(hit.session, "")) for hit in hits]

    found = context.with_catalog(find)
    lines = []
    for hit, title in found:
        lines.append(f"{safe_line(hit.session, 40)} turn {hit.turn} ({hit.role})  {safe_line(title, 60)}")
        lines.append(f"    {hit.snippet}")
    context.answer([_fields(hit) | {"title": title} for hit, title in found], lines)
    if not found and not context.options.as_json:
        tell("no message holds that")
    return 0


def usage(context: Context) -> int:
    entries = context.entries()
    spaces = {entry.id: space_of(entry.path) for entry in entries}
    trash = {item.id: space_of(item.path).total for item in list_trash(context.sessions_dir)}
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


def _fields(value: msgspec.Struct) -> dict[str, Any]:
    return msgspec.structs.asdict(value)


COMMANDS = {"list": list_all, "show": show, "search": search_all, "usage": usage}
