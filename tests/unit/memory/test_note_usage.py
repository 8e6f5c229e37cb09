"""Uses: appended, counted once, folded by month."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.memory.changes import Update
from mewcode.memory.entry import Cache, Use
from mewcode.memory.files import NoteCalls
from mewcode.memory.usage import USAGE, add_rename, add_uses, compact, read_usage
from tests.support.notes import NOW, add, note, one, ref, store

MONTH = 31 * 86_400


def usage_file(tmp_path: Path) -> Path:
    return tmp_path / "project" / "memory" / USAGE


def test_a_use_is_one_line_and_touches_no_note(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a"), note("b"))
    before = notes.path(one(notes, "a")).stat().st_mtime_ns
    notes.used([one(notes, "a"), one(notes, "b")], "recall")
    notes.used([one(notes, "a")], "read")
    assert notes.uses()["project", one(notes, "a").file].count == 2
    assert notes.path(one(notes, "a")).stat().st_mtime_ns == before
    assert len(usage_file(tmp_path).read_bytes().splitlines()) == 3
    assert usage_file(tmp_path).stat().st_mode & 0o077 == 0


def test_once_a_month_it_is_folded(tmp_path: Path) -> None:
    moment = NOW
    notes = store(tmp_path, clock=lambda: moment)
    add(notes, note("a"), note("b"))
    for _ in range(5):
        notes.used([one(notes, "a")], "recall")
    since = notes.look()["project"].usage.since
    moment += MONTH
    notes.used([one(notes, "b")], "recall")
    add(notes, note("c"))
    lines = usage_file(tmp_path).read_bytes().splitlines()
    assert len(lines) == 3
    add(notes, note("d"))
    assert usage_file(tmp_path).read_bytes().splitlines() == lines, "once a month"
    found = store(tmp_path).look()["project"].usage
    assert found.of("project_knowledge_a.md") == Use(5, NOW)
    assert found.of("project_knowledge_b.md").count == 1
    assert found.since == since == NOW
    moment += MONTH
    notes.used([one(notes, "a")], "recall")
    add(notes, note("e"))
    assert store(tmp_path).look()["project"].usage.of("project_knowledge_a.md").count == 6
    assert store(tmp_path).look()["project"].usage.since == NOW


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a"))
    notes.used([one(notes, "a")], "recall")
    notes.apply([Update(ref(one(notes, "a")), {"tags": ["x"]})], by="user")
    look = notes.look()["project"]
    assert look.cache.uses_size == usage_file(tmp_path).stat().st_size
    notes.used([one(notes, "a")], "recall")
    assert read_usage(tmp_path / "project" / "memory", look.cache).of("project_knowledge_a.md").count == 2


GOOD = st.builds(
    lambda file, ts: b'{"file":"%s.md","ts":%d}' % (file, ts),
    st.sampled_from([b"a", b"b"]),
    st.integers(1, 99),
)
ODD = st.sampled_from([
    b"null", b"[]", b'{"ts":1}', b'{"file":"a.md","ts":"x"}', b'{"file":"a.md","ts":1,"count":-5}', b"\xff",
    b'{"file":"a.md","ts":1,"from":3}', b'{"file":"a.md","ts":1,"from":"a.md"}', b"", b'{"torn',
])  # fmt: skip
LINES = st.one_of(GOOD, ODD)


@settings(max_examples=60)
@given(st.lists(LINES, max_size=12), st.integers(0, 12))
def test_reading_in_parts_is_reading_at_once(tmp_path_factory, lines: list[bytes], cut: int) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("usage")
    path = folder / USAGE
    path.write_bytes(b"".join(line + b"\n" for line in lines[:cut]))
    first = read_usage(folder, None)
    with path.open("ab") as stream:
        stream.write(b"".join(line + b"\n" for line in lines[cut:]))
    cache = Cache(uses=first.uses, uses_size=first.size, uses_inode=first.inode, uses_since=first.since)
    assert read_usage(folder, cache) == read_usage(folder, None)
    assert all(use.count >= 0 for use in read_usage(folder, None).uses.values())
    whole = read_usage(folder, None)
    if compact(folder, whole, now=1e10):
        again = read_usage(folder, None)
        assert (again.uses, again.since) == (whole.uses, whole.since)


def test_a_renamed_note_keeps_its_uses(tmp_path: Path) -> None:
    calls = NoteCalls()
    add_uses(tmp_path, ["a.md", "a.md"], "read", now=1.0, calls=calls)
    add_rename(tmp_path, "a.md", "b.md", now=2.0, calls=calls)
    add_uses(tmp_path, ["b.md"], "read", now=3.0, calls=calls)
    assert read_usage(tmp_path, None).uses == {"b.md": Use(3, 3.0)}
