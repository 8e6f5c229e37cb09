"""Which briefs a new session is told of, and which sessions still want one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.sessions import briefs
from mewcode.sessions.brief_index import INDEX_FILE, indexed_names, note_names
from mewcode.sessions.briefs import (
    SessionBrief,
    brief_state,
    index_briefs,
    is_named,
    keep_brief,
    known_title,
    labels_in,
    newest_names,
    recent_briefs,
    without_brief,
)
from mewcode.sessions.record import (
    Base,
    Fork,
    brief_record,
    decode_line,
    encode_record,
    session_record,
    title_record,
)
from tests.support.archive import add_lines, head, make_session, said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".mewcode" / "sessions"


def name(day: int, mark: int = 0) -> str:
    return f"202611{day:02}-120000-{mark:04x}"


def noon(day: int) -> float:
    return time.mktime((2026, 11, day, 12, 0, 0, 0, 0, -1))


def brief(text: str, ts: float, by: str = "m") -> bytes:
    return encode_record(brief_record(text, ts=ts, by=by))


def session(folder: Path, day: int, *lines: bytes, mark: int = 0) -> Path:
    return make_session(folder, name(day, mark), head(name(day, mark), seal="ours"), *lines)


def ours(session_id: str, seal: str) -> bool:
    return seal == "ours"


def texts(found: tuple[SessionBrief, ...]) -> list[str]:
    return [item.text for item in found]


def test_the_newest_three_with_day_and_title(folder: Path) -> None:
    for day in range(1, 8):
        session(folder, day, said("a", f"prompt {day}"), brief(f"done {day}", noon(day) + 60))
    add_lines(folder / name(7), encode_record(title_record("A model's", ts=noon(7), auto=True)))
    add_lines(folder / name(6), encode_record(title_record("Mine 标题", ts=noon(6))))
    found = recent_briefs(folder, name(9), ours)
    assert [(item.day, item.title, item.text, item.by) for item in found] == [
        ("2026-11-07", "A model's", "done 7", "m"),
        ("2026-11-06", "Mine 标题", "done 6", "m"),
        ("2026-11-05", "prompt 5", "done 5", "m"),
    ]


def test_a_resumed_session_is_told_the_same(folder: Path) -> None:
    for day in (1, 2, 3):
        session(folder, day, brief(f"done {day}", noon(day) + 60))
    current = session(folder, 5, said("a", "now"))
    before = recent_briefs(folder, current.name, ours)
    assert texts(before) == ["done 3", "done 2", "done 1"]
    # What came later: another session, another brief, another name.
    session(folder, 6, brief("done 6", noon(6)))
    keep_brief(folder / name(3), "done again", ts=noon(7), by="")
    add_lines(folder / name(2), encode_record(title_record("Renamed", ts=noon(8))))
    keep_brief(current, "of itself", ts=noon(5) - 1, by="")
    index_briefs(folder)
    assert recent_briefs(folder, current.name, ours) == before


def test_a_fork_is_told_what_its_origin_was(folder: Path) -> None:
    session(folder, 1, brief("old", noon(1)))
    origin = session(folder, 3, said("a", "go"), brief("of the origin", noon(3) + 60))
    record = session_record(
        name(8), ts=noon(8), cwd="", mode="", provider="", model="", seal="ours",
        fork=Fork(origin.name, "a", [Base("base", 1)]),
    )  # fmt: skip
    make_session(folder, name(8), encode_record(record))
    session(folder, 6, brief("later", noon(6)))
    assert texts(recent_briefs(folder, name(8), ours)) == ["old"]


def test_only_what_the_user_made(folder: Path) -> None:
    session(folder, 1, brief("mine", noon(1)))
    make_session(folder, name(2), head(name(2), seal="stranger's"), brief("evil", noon(2)))
    make_session(folder, name(3), brief("no head", noon(3)))
    assert texts(recent_briefs(folder, name(9), ours)) == ["mine"]


def test_what_is_odd_is_left_out(folder: Path, tmp_path: Path) -> None:
    make_session(folder, "old-name", brief("foreign", 1.0))
    session(folder, 1, b'{"type":"brief","ts":1,"text":7}\n')
    session(folder, 2, b'{"type":"brief","ts":1,"text":"half')
    session(folder, 3, brief("line\n two \x1b[31mred\u202e", 1.0))
    (folder / name(4)).symlink_to(tmp_path)
    (folder / name(5)).mkdir()
    os.mkfifo(folder / name(5) / "conversation.jsonl")
    session(folder, 6, said("a", '{"type":"brief","text":"said"}'))
    (folder / "99999999-999999-ffff").mkdir()
    assert texts(recent_briefs(folder, name(9), ours)) == ["line two red"]
    assert recent_briefs(folder, "old-name", ours) == ()
    assert recent_briefs(tmp_path / "none", name(9), ours) == ()


@given(st.lists(st.sampled_from([
    brief("b", 1.0), brief("c", 9.0), encode_record(title_record("t", ts=1.0)),
    b'"title"\n', b'"brief""title"\n', b"\n", said("a", '"brief"'), b'{"type":"title","title":"half"',
])), st.booleans())  # fmt: skip
def test_labels_are_those_of_the_lines_that_are_labels(lines: list[bytes], is_cut: bool) -> None:
    piece = b"".join(lines)[3 if is_cut else 0 :]
    records = map(decode_line, reversed(piece.split(b"\n")))
    labels = [record for record in records if isinstance(record, dict)]
    assert list(labels_in(piece, 5.0)) == [label for label in labels if label["ts"] < 5.0]


def test_a_brief_deep_in_a_file_is_not_looked_for(folder: Path) -> None:
    session(folder, 1, brief("deep", noon(1)), said("a", "x" * 70_000))
    assert recent_briefs(folder, name(9), ours) == ()


def test_with_the_index_and_without(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(80):
        session(folder, 10, said("a", "hi"), mark=number)
    for day in (2, 4, 6, 8):
        keep_brief(session(folder, day, said("a", "hi")), f"done {day}", ts=noon(day), by="")
    index = folder.parent / INDEX_FILE
    assert indexed_names(folder) == ([name(8), name(6), name(4), name(2)], True)
    # The newest fifty of all names hold none; the index knows where to look.
    assert texts(recent_briefs(folder, name(11), ours)) == ["done 8", "done 6", "done 4"]
    assert texts(recent_briefs(folder, name(7), ours)) == ["done 6", "done 4", "done 2"]

    def no_list(path: Path) -> list[str]:
        raise AssertionError("listed all folders")

    with monkeypatch.context() as patch:
        patch.setattr(briefs.os, "listdir", no_list)
        assert len(recent_briefs(folder, name(11), ours)) == 3
    index.unlink()
    assert recent_briefs(folder, name(11), ours) == ()
    assert indexed_names(folder) == ([], True)
    index.unlink()
    assert texts(recent_briefs(folder, name(9), ours)) == ["done 8", "done 6", "done 4"]
    session(folder, 12, brief("copied here", noon(12)))
    index_briefs(folder)
    assert indexed_names(folder) == ([name(12)], True)


def test_the_index_stays_small_and_takes_no_nonsense(folder: Path) -> None:
    folder.mkdir(parents=True)
    index = folder.parent / INDEX_FILE
    index.write_bytes(b"../../etc\n\xff\xfe\n" + b"x" * 70_000)
    note_names(folder, [name(1), "../x", name(2)])
    assert index.stat().st_size < 200
    assert indexed_names(folder) == ([name(2), name(1)], True)
    assert index.stat().st_mode & 0o777 == 0o600
    index.unlink()
    index.mkdir()
    note_names(folder, [name(1)])
    assert indexed_names(folder) == ([], False)


def test_the_newest_names_of_many(folder: Path) -> None:
    folder.mkdir(parents=True)
    names = [f"20{year:02}0{month}15-120000-0000" for year in range(10, 30) for month in range(1, 10)]
    for item in [*names, "trash", "2026", "20261115-120000-zzzz"]:
        (folder / item).mkdir()
    assert newest_names(folder)[:50] == sorted(names, reverse=True)[:50]
    assert (
        newest_names(folder, "20150101")[:50] == [n for n in sorted(names, reverse=True) if n < "2015"][:50]
    )
    assert newest_names(folder, "2009") == []


def test_who_wrote_the_brief_of_all_that_was_said(folder: Path) -> None:
    made = session(folder, 1, said("a", "hi"), said("b", "ho", role="assistant"))
    assert brief_state(made) is None
    stamp = (made / "conversation.jsonl").stat().st_mtime_ns
    keep_brief(made, "done", ts=2.0, by="")
    assert brief_state(made) == ""
    assert (made / "conversation.jsonl").stat().st_mtime_ns == stamp
    keep_brief(made, "done", ts=3.0, by="big-model")
    add_lines(made, encode_record({"type": "usage", "ts": 4.0, "models": {}, "cost_usd": 0}))
    assert brief_state(made) == "big-model"
    add_lines(made, said("c", "more"))
    assert brief_state(made) is None
    assert brief_state(folder / "nothing") is None


def test_titles_at_the_ends_of_a_file(folder: Path) -> None:
    made = session(folder, 1, said("a", "first words"))
    assert (known_title(made), is_named(made)) == ("first words", False)
    add_lines(made, encode_record(title_record("Made", ts=1.0, auto=True)))
    assert (known_title(made), is_named(made)) == ("Made", False)
    add_lines(made, encode_record(title_record("Mine", ts=2.0)))
    add_lines(made, encode_record(title_record("Made later", ts=3.0, auto=True)))
    assert (known_title(made), is_named(made)) == ("Mine", True)
    add_lines(made, encode_record(title_record("", ts=4.0)))
    assert (known_title(made), is_named(made)) == ("Made later", False)


def test_which_sessions_want_a_brief(folder: Path) -> None:
    for day in range(1, 7):
        session(folder, day, said("a", "hi"))
    keep_brief(folder / name(1), "plain", ts=1.0, by="")
    keep_brief(folder / name(2), "good", ts=1.0, by="m")
    make_session(folder, name(7), head(name(7), seal="other"), said("a", "hi"))
    make_session(folder, name(8))
    os.utime(folder / name(3) / "conversation.jsonl", (1_000, 1_000))

    def wanting(*, improves: bool) -> list[str]:
        found = without_brief(folder, name(6), ours, since=2_000.0, improves=improves, stop=lambda: False)
        return [path.name for path in found]

    assert wanting(improves=False) == [name(5), name(4)]
    assert wanting(improves=True) == [name(5), name(4), name(1)]
    stopped = without_brief(folder, name(6), ours, since=0.0, improves=True, stop=lambda: True)
    assert list(stopped) == []
