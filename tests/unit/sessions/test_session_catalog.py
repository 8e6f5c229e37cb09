"""The catalogue: what it knows, and that it is the same however it came to know it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.message import Message, Text, Usage
from mewcode.sessions.catalog import Catalog
from mewcode.sessions.catalog_entry import entry_fields
from mewcode.sessions.catalog_search import search
from mewcode.sessions.labels import add_label
from mewcode.sessions.reader import load_session
from mewcode.sessions.record import (
    Base,
    Fork,
    Totals,
    brief_record,
    compact_record,
    encode_message,
    encode_record,
    pin_record,
    reads_record,
    rewind_record,
    session_record,
    tag_record,
    title_record,
    usage_record,
)
from mewcode.sessions.transcript import read_transcript
from mewcode.sessions.trash import list_trash, move_to_trash, restore_session
from tests.support.archive import add_lines, answered, asked, head, make_session, said
from tests.support.program import ROOT

NAME = "20260101-100000-aaaa"


def catalog_of(sessions: Path, cache: Path) -> Catalog:
    catalog = Catalog(sessions, cache)
    catalog.refresh()
    return catalog


def test_a_line_without_an_end_in_sight_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr("mewcode.sessions.catalog_glance.LONGEST", 1_000)
    long = said("b", "long " * 60_000)
    folder = make_session(tmp_path / "s", NAME, said("a", "first", 1), long, said("c", "last", 3))
    with closing(catalog_of(tmp_path / "s", tmp_path / "c")) as catalog:
        [entry] = catalog.entries()
        assert (entry.messages, entry.damaged, entry.first_prompt) == (2, 0, "first")
        assert [hit.snippet for hit in search(catalog, "last", 5)] == ["last"]
        assert not search(catalog, "long", 5)
        add_lines(folder, long[:-1])
        catalog.refresh()
        assert catalog.entries()[0].messages == 2
        add_lines(folder, b"\n", said("d", "more", 4))
        catalog.refresh()
        assert catalog.entries()[0].messages == 3


def only(sessions: Path, cache: Path):
    catalog = catalog_of(sessions, cache)
    try:
        [entry] = catalog.entries()
        return entry
    finally:
        catalog.close()


def test_what_is_known_of_a_session(tmp_path):
    usage = Usage(100, 20, 3, 4)
    answer = Message("a", "assistant", (Text("done"),), "model", "m2", usage)
    sessions = tmp_path / "sessions"
    folder = make_session(
        sessions,
        NAME,
        head(NAME, branch="main", parent_session="20250101-100000-bbbb"),
        encode_message(Message("r", "user", (Text("<reminder>"),), "reminder"), ts=2),
        said("u", "修复\x1b[31m the\n\nparser", 3),
        encode_message(answer, ts=4, model="m2"),
        said("v", "and the tests", 5),
        encode_record(usage_record(Totals({"m2": usage}, 0.25), ts=6)),
    )
    entry = only(sessions, tmp_path / "c.sqlite")
    assert entry_fields(entry) == {
        "id": NAME, "path": folder, "folder": "", "indexed": True, "title": "修复 the parser", "named": False,
        "first_prompt": "修复 the parser",
        "updated": 6.0, "messages": 4, "turns": 2, "size": (folder / "conversation.jsonl").stat().st_size,
        "model": "m2", "cwd": "/work", "branch": "main", "parent_session": "20250101-100000-bbbb",
        "tokens": 127, "cost_usd": 0.25, "tags": (), "pinned": False, "damaged": 0,
    }  # fmt: skip


def test_tokens_behind_the_last_totals_count_too(tmp_path):
    answer = Message("a", "assistant", (Text("x"),), "model", "m", Usage(1, 2))
    make_session(
        tmp_path / "s",
        NAME,
        encode_record(usage_record(Totals({"m": Usage(10, 5)}, None), ts=1)),
        encode_message(answer, ts=2, model="m"),
    )
    entry = only(tmp_path / "s", tmp_path / "c.sqlite")
    assert (entry.tokens, entry.cost_usd) == (18, None)


def test_labels_are_records_and_no_activity(tmp_path):
    folder = make_session(tmp_path / "s", NAME, said("u", "first", 50), mtime=1000)
    add_label(folder, title_record("  The\tbig\x1b[2J fix ", ts=9000))
    add_label(folder, pin_record(True, ts=9000))
    add_label(folder, tag_record(add=["a", "b"], ts=9000))
    add_label(folder, tag_record(add=["c"], remove=["a"], ts=9000))
    entry = only(tmp_path / "s", tmp_path / "c.sqlite")
    assert (entry.title, entry.named, entry.pinned, entry.tags) == ("The big fix", True, True, ("b", "c"))
    assert entry.updated == 50.0
    assert (folder / "conversation.jsonl").stat().st_mtime == 1000
    loaded = load_session(folder)
    assert (loaded.skipped, loaded.last_ts, len(loaded.messages)) == (0, 50.0, 1)
    add_label(folder, title_record("", ts=9000))
    add_label(folder, pin_record(False, ts=9000))
    entry = only(tmp_path / "s", tmp_path / "c.sqlite")
    assert (entry.title, entry.named, entry.pinned) == ("first", False, False)


def forked(name: str, parent: str, *lines: bytes, sessions: Path) -> Path:
    fork = Fork(parent, "u", [Base("base-1.jsonl", 10)])
    record = session_record(name, ts=20, cwd="/w", mode="default", provider="p", model="m1", fork=fork)
    return make_session(sessions, name, encode_record(record), *lines)


def test_a_models_title_stands_behind_the_users_own(tmp_path):
    folder = make_session(tmp_path / "s", NAME, said("u", "first"))
    cache = tmp_path / "c.sqlite"
    for record, title, named in (
        (title_record("By a model", ts=2, auto=True), "By a model", False),
        (title_record("Mine", ts=3), "Mine", True),
        (title_record("By a model again", ts=4, auto=True), "Mine", True),
        (title_record("", ts=5), "By a model again", False),
        (title_record("", ts=6, auto=True), "first", False),
    ):
        add_label(folder, record)
        entry = only(tmp_path / "s", cache)
        assert (entry.title, entry.named, entry.first_prompt) == (title, named, "first")


def test_the_last_brief_is_kept(tmp_path):
    make_session(
        tmp_path / "s", NAME, said("u", "x"), encode_record(brief_record("old", ts=2)),
        encode_record(brief_record("Fixed\x1b[31m it.\nAll green.", ts=3, by="m")),
    )  # fmt: skip
    catalog = catalog_of(tmp_path / "s", tmp_path / "c.sqlite")
    assert catalog.brief(NAME) == "Fixed it.\nAll green."
    assert catalog.brief("none") == ""
    assert catalog.entries()[0].updated == 1.0
    catalog.close()


def test_a_compaction_counts_nothing_twice(tmp_path):
    usage = Usage(100, 20)
    answer = Message("a", "assistant", (Text("done needle"),), "model", "m1", usage)
    marker = compact_record(
        "k", ts=5, parent="a", about={"mode": "default", "provider": "p", "model": "m2"}, turns=1,
        totals=Totals({"m1": usage}, 0.5),
    )  # fmt: skip
    copy = {"id": "a2", "of": "a", "role": "assistant", "content": "done needle", "ts": 5, "model": "m1",
            "usage": {"input_tokens": 100, "output_tokens": 20}}  # fmt: skip
    later = Message("b", "assistant", (Text("more"),), "model", "m1", Usage(1, 2))
    make_session(
        tmp_path / "s", NAME, head(NAME), said("u", "first", 2), encode_message(answer, ts=3),
        encode_record(marker), encode_record(copy), said("v", "second", 6), encode_message(later, ts=7),
        encode_record(reads_record({}, ts=8)),
    )  # fmt: skip
    catalog = catalog_of(tmp_path / "s", tmp_path / "c.sqlite")
    [entry] = catalog.entries()
    assert (entry.messages, entry.turns, entry.tokens, entry.cost_usd, entry.updated) == (4, 2, 123, 0.5, 8.0)
    assert [hit.turn for hit in search(catalog, "needle")] == [1]
    assert [hit.turn for hit in search(catalog, "second")] == [2]
    catalog.close()


def test_what_a_rewind_left_behind_is_still_found(tmp_path):
    make_session(
        tmp_path / "s", NAME, said("u", "first"), said("v", "abandoned"),
        encode_record(rewind_record("r", ts=3, to="u", before="v")), said("w", "instead", 4),
    )  # fmt: skip
    catalog = catalog_of(tmp_path / "s", tmp_path / "c.sqlite")
    assert (catalog.entries()[0].messages, [hit.turn for hit in search(catalog, "abandoned")]) == (3, [2])
    catalog.close()


def test_a_fork_bears_its_own_words_else_the_title_of_what_it_continues(tmp_path):
    sessions = tmp_path / "s"
    make_session(sessions, NAME, said("u", "the beginning"))
    forked("20260102-100000-bbbb", NAME, sessions=sessions)
    forked("20260103-100000-cccc", "20260102-100000-bbbb", sessions=sessions)
    forked("20260104-100000-dddd", NAME, said("v", "another way", 21), sessions=sessions)
    forked("20260105-100000-eeee", "20250101-100000-gone", sessions=sessions)
    carried = encode_record(usage_record(Totals({"m": Usage(50, 5)}, 0.5), ts=20) | {"carried": True})
    total = encode_record(usage_record(Totals({"m": Usage(60, 6)}, 0.75), ts=22))
    forked("20260106-100000-ffff", NAME, carried, said("v", "x", 21), total, sessions=sessions)
    catalog = catalog_of(sessions, tmp_path / "c.sqlite")
    found = {entry.id[-4:]: entry for entry in catalog.entries()}
    catalog.close()
    assert {name: (entry.title, entry.messages) for name, entry in found.items()} == {
        "aaaa": ("the beginning", 1), "bbbb": ("the beginning", 0), "cccc": ("the beginning", 0),
        "dddd": ("another way", 1), "eeee": ("(fork of 20250101-100000-gone)", 0), "ffff": ("x", 1),
    }  # fmt: skip
    assert found["dddd"].parent_session == NAME
    assert (found["ffff"].tokens, found["ffff"].cost_usd) == (11, 0.25)


def test_a_fork_goes_on_counting_turns(tmp_path):
    carried = encode_record(usage_record(Totals(), ts=20, turns=3) | {"carried": True})
    forked("20260106-100000-ffff", NAME, carried, said("v", "forked", 21), sessions=tmp_path / "s")
    with closing(catalog_of(tmp_path / "s", tmp_path / "c")) as catalog:
        assert [hit.turn for hit in search(catalog, "forked", 5)] == [4]
        assert catalog.entries()[0].turns == 1


def test_new_sessions_are_looked_at_before_they_are_read(tmp_path):
    sessions = tmp_path / "s"
    for number in range(3):
        long = (said(f"m{place}", "words " * 100) for place in range(400))
        label = encode_record(title_record(f"title {number}", ts=9)) if number else b""
        make_session(
            sessions, f"s{number}", head(f"s{number}", branch="main"), said("u", f"prompt {number}"), *long,
            label, mtime=100.0 + number,
        )  # fmt: skip
    catalog = Catalog(sessions, tmp_path / "c.sqlite")
    seen = []
    catalog.refresh(None, lambda: seen.append(catalog.entries()))
    catalog.close()
    assert {(entry.title, entry.branch, entry.indexed, entry.messages) for entry in seen[0]} == {
        ("title 2", "main", False, 0), ("title 1", "main", False, 0), ("prompt 0", "main", False, 0),
    }  # fmt: skip
    assert [sorted(entry.id for entry in found if entry.indexed) for found in seen] == [
        [], ["s2"], ["s1", "s2"], ["s0", "s1", "s2"],
    ]  # fmt: skip
    assert {entry.messages for entry in seen[-1]} == {401}


def test_it_stops_when_told_and_goes_on_later(tmp_path):
    for number in range(5):
        make_session(tmp_path / "s", f"s{number}", said("u", f"prompt {number}"))
    catalog = Catalog(tmp_path / "s", tmp_path / "c.sqlite")
    steps = []
    catalog.refresh(lambda: len(steps) >= 3, lambda: steps.append(1))
    assert sum(entry.indexed for entry in catalog.entries()) == 2
    catalog.refresh()
    assert all(entry.indexed and entry.messages == 1 for entry in catalog.entries())
    catalog.close()


def test_folders_of_other_names_are_sessions_and_other_files_are_left_alone(tmp_path):
    sessions = tmp_path / "s"
    make_session(sessions, "my old chat 会话", said("u", "foreign"))
    (sessions / "older.jsonl").write_bytes(said("u", "of an older layout"))
    (sessions / "empty").mkdir()
    os.mkdir(os.fsencode(sessions) + b"/not-utf8-\xff")
    Path(os.fsdecode(os.fsencode(sessions) + b"/not-utf8-\xff/conversation.jsonl")).write_bytes(
        said("u", "x")
    )
    entry = only(sessions, tmp_path / "c.sqlite")
    assert (entry.id, entry.title) == ("my old chat 会话", "foreign")
    moved = move_to_trash(sessions, entry.path, now=5)
    assert restore_session(sessions, moved.name) == entry.path
    assert (sessions / "older.jsonl").is_file()


def test_a_label_behind_half_a_line_stands_by_itself(tmp_path):
    folder = make_session(tmp_path / "s", NAME, said("u", "first"), b'{"role":"assistant","cont')
    add_label(folder, title_record("named", ts=2))
    entry = only(tmp_path / "s", tmp_path / "c.sqlite")
    assert (entry.title, entry.messages, entry.damaged) == ("named", 1, 1)


def test_copies_and_repeated_records_count_once(tmp_path):
    copy = encode_record({"id": "k", "of": "u", "role": "user", "content": "first", "ts": 9})
    make_session(
        tmp_path / "s", NAME, said("u", "first"), said("u", "first"), copy, said("u", "another of that id")
    )
    catalog = catalog_of(tmp_path / "s", tmp_path / "c.sqlite")
    assert catalog.entries()[0].messages == 2
    assert len(search(catalog, "first")) == 1
    catalog.close()


def test_the_plain_form_without_ids_and_without_a_last_newline(tmp_path):
    line = b'{"role":"user","content":"hello","ts":7}'
    folder = make_session(tmp_path / "s", NAME, line + b"\n", line)
    cache = tmp_path / "c.sqlite"
    assert only(tmp_path / "s", cache).messages == 2
    add_lines(folder, b"\n" + line + b"\n")
    assert only(tmp_path / "s", cache).messages == 3
    assert only(tmp_path / "s", cache).damaged == 0


def test_only_what_was_added_is_read(tmp_path):
    folder = make_session(tmp_path / "s", NAME, said("u", "first"), said("v", "second"))
    cache = tmp_path / "c.sqlite"
    only(tmp_path / "s", cache)
    # Another first line of the same length: who reads from the beginning would see it.
    path = folder / "conversation.jsonl"
    content = path.read_bytes()
    with path.open("r+b") as stream:
        stream.write(content.replace(b"first", b"FIRST", 1))
    add_lines(folder, said("w", "third"))
    entry = only(tmp_path / "s", cache)
    assert (entry.title, entry.messages) == ("first", 3)


def test_a_file_that_was_replaced_or_cut_is_read_anew(tmp_path):
    folder = make_session(tmp_path / "s", NAME, said("u", "first"), said("v", "second"))
    cache = tmp_path / "c.sqlite"
    only(tmp_path / "s", cache)
    path = folder / "conversation.jsonl"
    path.write_bytes(said("u", "cut"))
    assert (only(tmp_path / "s", cache).title, only(tmp_path / "s", cache).messages) == ("cut", 1)
    other = folder / "other"
    other.write_bytes(said("x", "replaced") + said("y", "by more"))
    os.replace(other, path)
    assert (only(tmp_path / "s", cache).title, only(tmp_path / "s", cache).messages) == ("replaced", 2)
    with path.open("r+b") as stream:  # the same file, with other words before the place reached
        stream.write(said("z", "rewritten from here on, and longer than before") * 3)
    assert only(tmp_path / "s", cache).title == "rewritten from here on, and longer than before"


def test_a_session_that_is_gone_is_forgotten(tmp_path):
    make_session(tmp_path / "s", NAME, said("u", "needle"))
    make_session(tmp_path / "s", "other", said("u", "needle"))
    catalog = catalog_of(tmp_path / "s", tmp_path / "c.sqlite")
    assert len(search(catalog, "needle")) == 2
    shutil.rmtree(tmp_path / "s" / NAME)
    catalog.refresh()
    assert [entry.id for entry in catalog.entries()] == ["other"]
    assert [hit.session for hit in search(catalog, "needle")] == ["other"]
    catalog.close()


def test_words_of_what_is_gone_do_not_pile_up(tmp_path, monkeypatch):
    monkeypatch.setattr("mewcode.sessions.catalog._FEW_ORPHANS", 3)
    folder = make_session(tmp_path / "s", NAME, *(said(f"u{i}", "needle") for i in range(5)))
    catalog = catalog_of(tmp_path / "s", tmp_path / "c.sqlite")
    (folder / "conversation.jsonl").write_bytes(said("x", "hay"))
    catalog.refresh()
    catalog.refresh()
    [count] = catalog.connection.execute("SELECT count(*) FROM words WHERE words MATCH 'needle'").fetchone()
    assert count == 0
    assert [hit.snippet for hit in search(catalog, "hay")] == ["hay"]
    catalog.close()


@pytest.mark.parametrize("damage", ["not a database", "torn", "another version"])
def test_a_damaged_cache_is_built_anew_with_a_notice(tmp_path, damage):
    make_session(tmp_path / "s", NAME, *(said(f"u{i}", f"needle {i}") for i in range(300)))
    cache = tmp_path / "c.sqlite"
    only(tmp_path / "s", cache)
    if damage == "not a database":
        cache.write_bytes(b"garbage " * 1000)
    elif damage == "torn":
        content = bytearray(cache.read_bytes())
        content[4096:] = b"\xff" * (len(content) - 4096)
        cache.write_bytes(content)
    else:
        connection = sqlite3.connect(cache)
        connection.execute("PRAGMA user_version=999")
        connection.close()
    catalog = Catalog(tmp_path / "s", cache)
    hits = catalog.run(lambda found: search(found, "needle", 500))
    assert len(hits) == 300
    assert "anew" in catalog.notice
    catalog.close()
    again = Catalog(tmp_path / "s", cache)
    assert len(again.run(lambda found: search(found, "needle", 500))) == 300
    assert again.notice == ""
    again.close()


def test_a_cache_that_cannot_be_kept_is_held_in_memory(tmp_path):
    make_session(tmp_path / "s", NAME, said("u", "needle"))
    (tmp_path / "file").write_text("in the way")
    catalog = Catalog(tmp_path / "s", tmp_path / "file" / "c.sqlite")
    assert len(catalog.run(lambda found: search(found, "needle"))) == 1
    assert "for this once" in catalog.notice
    catalog.close()


def test_the_cache_is_for_its_owner_alone(tmp_path):
    make_session(tmp_path / "s", NAME, said("u", "x"))
    catalog = catalog_of(tmp_path / "s", tmp_path / "cache" / "c.sqlite")
    for path in (tmp_path / "cache").iterdir():
        assert path.stat().st_mode & 0o077 == 0
    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0
    catalog.close()


def test_a_long_file_is_taken_in_steps(tmp_path, monkeypatch):
    monkeypatch.setattr("mewcode.sessions.catalog._STEP_BYTES", 100)
    make_session(tmp_path / "s", NAME, *(said(f"u{i}", f"needle {i}") for i in range(40)))
    assert only(tmp_path / "s", tmp_path / "c.sqlite").messages == 40


_REFRESH = """
import sys
from pathlib import Path
from mewcode.sessions import catalog as module
module._STEP_BYTES = 200
catalog = module.Catalog(Path(sys.argv[1]), Path(sys.argv[2]))
catalog.refresh()
print(sum(entry.messages for entry in catalog.entries()), catalog.notice)
catalog.close()
"""


def test_two_processes_at_once(tmp_path):
    for number in range(20):
        make_session(tmp_path / "s", f"s{number:02}", *(said(f"u{i}", "needle") for i in range(30)))
    argv = [sys.executable, "-c", _REFRESH, str(tmp_path / "s"), str(tmp_path / "c.sqlite")]
    children = [subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=ROOT, text=True) for _ in range(3)]
    for child in children:
        assert child.communicate(timeout=60)[0].strip() == "600"
        assert child.returncode == 0
    catalog = Catalog(tmp_path / "s", tmp_path / "c.sqlite")
    assert catalog.connection.execute("SELECT count(*) FROM messages").fetchone() == (600,)
    catalog.close()


TEXTS = st.text("ab 会话é\n", max_size=12)
LINES = st.one_of(
    st.builds(said, st.sampled_from("uvwxyz"), TEXTS, st.floats(1, 99)),
    st.builds(lambda words: said("", words), TEXTS),
    st.builds(lambda name, words: said(name, words, 2, "assistant"), st.sampled_from("abc"), TEXTS),
    st.builds(lambda words: asked("q", "c1", command=words), TEXTS),
    st.builds(lambda words: answered("t", "c1", words), TEXTS),
    st.builds(lambda words: encode_record(title_record(words, ts=5)), TEXTS),
    st.builds(lambda on: encode_record(pin_record(on, ts=5)), st.booleans()),
    st.builds(lambda tags: encode_record(tag_record(add=tags, ts=5)), st.lists(TEXTS, max_size=2)),
    st.just(head(NAME)),
    st.builds(lambda words, auto: encode_record(title_record(words, ts=5, auto=auto)), TEXTS, st.booleans()),
    st.builds(lambda words: encode_record(brief_record(words, ts=5)), TEXTS),
    st.builds(
        lambda to: encode_record(rewind_record("r", ts=6, to=to, before="u")),
        st.sampled_from(["u", "v", None]),
    ),
    st.builds(
        lambda turns: encode_record(
            compact_record("k", ts=6, parent="u", about={"model": "m9"}, turns=turns, totals=Totals({}, 0.5))
        ),
        st.integers(0, 3),
    ),
    st.builds(
        lambda name, words: encode_record(
            {"id": name + "2", "of": name, "role": "user", "content": words, "ts": 7}
        ),
        st.sampled_from("uvw"),
        TEXTS,
    ),
    st.builds(
        lambda parent: encode_record(
            session_record(
                "two",
                ts=8,
                cwd="/w",
                mode="",
                provider="",
                model="m",
                branch="b",
                fork=Fork(parent, None, []),
            )
        ),
        st.sampled_from(["one", "two", "gone"]),
    ),
    st.sampled_from(
        [b"\n", b"null\n", b"{}\n", b"[]\n", b"\xff\n", b'{"type":"later"}\n', b"\xef\xbb\xbf{}\n"]
    ),
)
# A line as it is, or torn off somewhere.
PIECES = st.tuples(LINES, st.one_of(st.none(), st.integers(0, 60))).map(
    lambda pair: pair[0] if pair[1] is None else pair[0][: pair[1]]
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["one", "two"]),
        st.lists(PIECES, max_size=5),
        st.sampled_from(["add", "add", "add", "new", "gone", "trash", "restore"]),
    ),
    max_size=7,
)  # fmt: skip


def trashed(sessions: Path) -> set[str]:
    return {item.id for item in list_trash(sessions)}


def known(catalog: Catalog):
    entries = sorted(catalog.entries(), key=lambda entry: entry.id)
    hits = {
        query: sorted(map(msgspec.structs.astuple, search(catalog, query, 1000)))
        for query in ("a", "b", "会", "会话", "bash")
    }
    rows = catalog.connection.execute(
        "SELECT id, turn, role, ts, start, length FROM messages JOIN sessions ON num = session ORDER BY 1, 5"
    ).fetchall()
    return entries, hits, rows


@settings(max_examples=60)
@given(STEPS)
def test_step_by_step_it_becomes_what_it_is_from_nothing(steps):
    with tempfile.TemporaryDirectory() as name:
        sessions = Path(name) / "s"
        grown = Catalog(sessions, Path(name) / "grown.sqlite")
        try:
            for session, pieces, how in steps:
                folder = sessions / session
                if how in ("new", "gone") and folder.exists():
                    shutil.rmtree(folder)
                elif how == "restore" and not folder.exists() and session in trashed(sessions):
                    restore_session(sessions, session)
                if how != "gone":
                    if not folder.exists():
                        make_session(sessions, session)
                    add_lines(folder, *pieces)
                if how == "trash":
                    move_to_trash(sessions, folder, now=9)
                grown.refresh()
            fresh = catalog_of(sessions, Path(name) / "fresh.sqlite")
            try:
                assert known(grown) == known(fresh)
                grown.rebuild()
                assert known(grown) == known(fresh)
            finally:
                fresh.close()
        finally:
            grown.close()


def test_a_disk_that_fills_while_it_is_indexed_costs_only_time(tmp_path):
    words = (" ".join(f"w{number}" for number in range(turn * 100, turn * 100 + 100)) for turn in range(50))
    make_session(tmp_path / "s", NAME, *(said(f"u{i}", f"needle {text}") for i, text in enumerate(words)))
    catalog = Catalog(tmp_path / "s", tmp_path / "c.sqlite")
    catalog.connection.execute("PRAGMA max_page_count=20")
    assert len(catalog.run(lambda found: search(found, "needle", 100))) == 50
    assert "full" in catalog.notice
    catalog.close()


def test_turns_are_numbered_in_the_order_of_the_file(tmp_path):
    lines = [
        encode_message(Message(name, role, (Text(f"words of {name}"),), origin), ts=1, parent=parent)
        for name, role, origin, parent in (
            ("u1", "user", "user", None), ("a1", "assistant", "model", "u1"), ("u2", "user", "user", "a1"),
            ("u3", "user", "user", "a1"),  # back to the first answer, and on from there
        )
    ]  # fmt: skip
    folder = make_session(tmp_path / "s", NAME, *lines)
    catalog = catalog_of(tmp_path / "s", tmp_path / "c.sqlite")
    assert [hit.turn for hit in search(catalog, "u3")] == [3]
    catalog.close()
    assert [(item.turn, item.text) for item in read_transcript(folder)] == [
        (1, "words of u1"), (1, "words of a1"), (3, "words of u3"),
    ]  # fmt: skip
