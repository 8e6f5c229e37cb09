"""What a list of sessions shows of each, and how the catalogue keeps it: light to import, quick to read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mewcode.core.codec import clean_text


class CatalogEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A session. ``folder``: the root of its workspace. ``title``: the user's, else a model's, else the first
    prompt, else what it was forked off; ``named``: it is the user's. ``updated``: Unix time of its last
    record that has one (labels apart), else of the file. ``messages``, ``turns``: of the session's own file.
    ``size``: of the conversation, in bytes. ``tokens``, ``cost_usd``: of all its own requests; None where a
    price is unknown. ``damaged``: broken lines. ``indexed``: False while only its name, or the beginning and
    the end of its file, are known: the counts are 0 then.
    """

    sessions_dir: str
    folder: str
    id: str
    title: str = ""
    named: bool = False
    first_prompt: str = ""
    updated: float = 0.0
    messages: int = 0
    turns: int = 0
    size: int = 0
    model: str = ""
    cwd: str = ""
    branch: str = ""
    parent_session: str = ""
    tokens: int = 0
    cost_usd: float | None = 0.0
    tags: tuple[str, ...] = ()
    pinned: bool = False
    damaged: int = 0
    indexed: bool = True

    @property
    def path(self) -> Path:
        """The session's folder. Made when asked for: ten thousand of them take longer than to read the
        list."""
        return Path(self.sessions_dir, self.id)


class Hit(msgspec.Struct, frozen=True):
    """A message that holds what was looked for. ``path``: its session's folder. ``turn``: as in the
    transcript; ``ts``: Unix time, 0 where unknown; ``snippet``: one line, safe to show; ``marks``: where in
    it a regular expression matched, as pairs of start and end."""

    session: str
    turn: int
    role: str
    ts: float
    snippet: str
    path: Path
    marks: tuple[tuple[int, int], ...] = ()


class Found(msgspec.Struct, frozen=True):
    """What a search found. ``is_complete``: nothing was left out, neither for number nor for time."""

    hits: list[Hit]
    is_complete: bool = True


def entry_fields(entry: CatalogEntry) -> dict[str, Any]:
    """An entry as scripts are given it."""
    fields = msgspec.structs.asdict(entry)
    del fields["sessions_dir"]
    return {"id": fields.pop("id"), "path": entry.path, **fields}


def encode_entry(entry: CatalogEntry) -> bytes:
    """An entry as the catalogue keeps it: without its place, which the reader knows."""
    bare = msgspec.structs.replace(entry, sessions_dir="", folder="")
    return msgspec.json.encode(bare)[len(b'["","",') :]


def decode_entries(kept: Sequence[bytes], sessions_dir: str, folder: str) -> list[CatalogEntry]:
    """Entries from `encode_entry`, in their order; all in one step, which ten thousand of them need."""
    is_text = clean_text(sessions_dir) == sessions_dir
    place = msgspec.json.encode([sessions_dir if is_text else "", clean_text(folder)])[:-1] + b","
    if not kept:
        return []
    rows = b"[" + place + (b"," + place).join(kept) + b"]"
    entries = msgspec.json.decode(rows, type=list[CatalogEntry])
    if is_text:
        return entries
    # The name of a folder above is in some other encoding: JSON cannot carry it.
    return [msgspec.structs.replace(entry, sessions_dir=sessions_dir) for entry in entries]


def with_titles(entries: list[CatalogEntry]) -> list[CatalogEntry]:
    """The entries; a fork in which nothing was said yet bears the title of what it was forked off."""
    if all(entry.title or not entry.parent_session for entry in entries):
        return entries
    titles = {entry.id: entry.title for entry in entries}
    parents = {entry.id: entry.parent_session for entry in entries}
    return [
        msgspec.structs.replace(entry, title=_inherited(entry, titles, parents))
        if entry.parent_session and not entry.title
        else entry
        for entry in entries
    ]


def _inherited(entry: CatalogEntry, titles: dict[str, str], parents: dict[str, str]) -> str:
    seen = {entry.id}
    parent = entry.parent_session
    while parent in titles and parent not in seen:
        if titles[parent]:
            return titles[parent]
        seen.add(parent)
        parent = parents[parent]
    return f"(fork of {entry.parent_session})"
