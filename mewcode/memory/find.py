"""Which note a person means."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mewcode.memory.entry import Entry
from mewcode.memory.names import SUFFIX, file_key, name_key


def matching(wanted: str, entries: Sequence[Entry], now: float, *, live_first: bool = True) -> list[Entry]:
    """The notes that a word may mean: by file, by name or alias, then by the beginning of either, then by a
    part of the name. The first of these ways that finds any counts; with ``live_first`` notes in force, where
    there are some among them."""
    key = name_key(wanted)
    file = file_key(wanted.removesuffix(SUFFIX)) + SUFFIX
    base = file.rpartition("/")[2]
    if not key:
        return []
    ways: tuple[Callable[[Entry], bool], ...] = (
        lambda entry: file_key(entry.file) == file,
        lambda entry: file_key(entry.file.rpartition("/")[2]) == base,
        lambda entry: name_key(entry.name) == key,
        lambda entry: any(name_key(alias) == key for alias in entry.aliases),
        lambda entry: name_key(entry.name).startswith(key) or file_key(entry.file).startswith(key),
        lambda entry: key in name_key(entry.name),
    )
    for is_meant in ways:
        found = [entry for entry in entries if is_meant(entry)]
        if found:
            live = [entry for entry in found if entry.state(now) == "live"]
            return live if live and live_first else found
    return []
