"""Sessions to choose from: at once from what is known, then brought up to date, searched and changed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import MewCodeError, SessionBusy, SessionError
from mewcode.infra.paths import find_places
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.browse import EVERYWHERE, REPOSITORY, THIS_FOLDER, SessionBrowser, update
from mewcode.sessions.lock import held_by
from mewcode.sessions.regex_process import _around
from mewcode.sessions.regex_search import regex_search
from mewcode.sessions.workspaces import cache_path, remember_root
from tests.support.archive import add_lines, answered, asked, head, make_session, said
from tests.support.program import ROOT

ONE, TWO = "20260101-100000-aaaa", "20260202-100000-bbbb"


def never() -> bool:
    return False


@pytest.fixture
def places(tmp_path):
    (tmp_path / "project").mkdir()
    return find_places(tmp_path / "project", {"HOME": str(tmp_path / "home")})


@pytest.fixture
def sessions(places) -> Path:
    folder = places.project / "sessions"
    make_session(folder, ONE, head(ONE), said("u", "fix the parser", 10), said("a", "done", 11, "assistant"))
    make_session(folder, TWO, said("u", "write the docs", 20), mtime=20)
    return folder


@pytest.fixture
def browser(places):
    return SessionBrowser(places, now=lambda: 99.0)


def refreshed(browser, scope=THIS_FOLDER):
    told = []
    browser.refresh(scope, told.append, never)
    return {entry.id: entry for entry in told[-1]}


def named(browser, name, scope=THIS_FOLDER):
    return next(entry for entry in browser.known(scope) if entry.id == name)


def test_a_cold_cache_gives_names_and_ages(browser, sessions):
    make_session(sessions, "foreign", said("u", "x"))
    make_session(sessions, "20269999-999999-abcd", said("u", "x"))
    (sessions / "trash").mkdir()
    found = {entry.id: entry for entry in browser.known(THIS_FOLDER)}
    assert found.keys() >= {ONE, TWO}
    assert "foreign" not in found
    assert "trash" not in found
    assert not any(entry.indexed or entry.title for entry in found.values())
    assert time.strftime("%Y%m%d-%H%M%S", time.localtime(found[ONE].updated)) == ONE[:15]


def test_a_link_is_no_session(browser, sessions, tmp_path):
    elsewhere = make_session(tmp_path / "elsewhere", "20260303-100000-cccc", said("u", "not yours", 30))
    (sessions / "20260303-100000-cccc").symlink_to(elsewhere)
    linked = sessions / "20260304-100000-dddd"
    linked.mkdir()
    (linked / "conversation.jsonl").symlink_to(elsewhere / "conversation.jsonl")
    assert sorted(entry.id for entry in browser.known(THIS_FOLDER)) == [ONE, TWO, linked.name]
    with pytest.raises(SessionError, match="cannot be read"):
        browser.preview(named(browser, linked.name))
    assert sorted(refreshed(browser)) == [ONE, TWO]
    assert not browser.search("re:not yours", THIS_FOLDER, never).hits


def test_what_was_refreshed_is_known_at_once(browser, sessions, places):
    fresh = refreshed(browser)
    known = {entry.id: entry for entry in browser.known(THIS_FOLDER)}
    assert known == fresh
    assert (known[ONE].title, known[ONE].messages, known[ONE].path) == ("fix the parser", 2, sessions / ONE)
    assert known[ONE].folder == str(places.root)
    make_session(sessions, "20260303-100000-cccc", said("u", "new"))
    (sessions / TWO / "conversation.jsonl").unlink()
    (sessions / TWO).rmdir()
    known = {entry.id: entry.title for entry in browser.known(THIS_FOLDER)}
    assert known == {ONE: "fix the parser", "20260303-100000-cccc": ""}


def test_a_project_without_sessions_has_none_and_gets_no_files(browser, places):
    assert browser.known(EVERYWHERE) == []
    told = []
    browser.refresh(EVERYWHERE, told.append, never)
    assert told == [[]]
    assert browser.search('"x"', EVERYWHERE, never).hits == []
    assert browser.search("re:x", EVERYWHERE, never).hits == []
    update(places, never)
    assert not places.project.exists()
    assert not cache_path(places.project / "sessions").exists()


@pytest.mark.parametrize("damage", [b"garbage " * 1000, b""])
def test_a_damaged_cache_is_as_good_as_none_until_it_is_mended(browser, sessions, damage):
    refreshed(browser)
    cache_path(sessions).write_bytes(damage)
    assert {entry.id for entry in browser.known(THIS_FOLDER)} == {ONE, TWO}
    assert refreshed(browser)[ONE].title == "fix the parser"
    assert named(browser, ONE).title == "fix the parser"


def test_a_cache_of_another_version_is_not_read(browser, sessions):
    refreshed(browser)
    connection = sqlite3.connect(cache_path(sessions))
    connection.execute("PRAGMA user_version=1")
    connection.close()
    assert named(browser, ONE).title == ""


def test_work_goes_on_in_the_cache_while_it_is_listed(browser, sessions):
    refreshed(browser)
    connection = sqlite3.connect(cache_path(sessions), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE listed SET updated = 0")
    assert named(browser, ONE).title == "fix the parser"
    connection.execute("ROLLBACK")
    connection.close()


def test_refresh_tells_as_it_learns_and_ends_when_told(browser, sessions, monkeypatch):
    monkeypatch.setattr("mewcode.sessions.browse._PAUSE", 0.0)
    monkeypatch.setattr("mewcode.sessions.browse._BUSY_SHARE", 0)
    told = []
    browser.refresh(THIS_FOLDER, told.append, never)
    assert [sum(entry.indexed for entry in entries) for entries in told] == [0, 1, 2, 2]
    for number in range(5):
        make_session(sessions, f"2026040{number + 1}-100000-aaaa", said("u", "more"))
    again = []
    browser.refresh(THIS_FOLDER, again.append, lambda: len(again) >= 2)
    assert len(again) == 3
    assert sum(entry.indexed for entry in again[-1]) < 7
    assert len(again[-1]) == 7


def test_scopes(browser, sessions, places, tmp_path):
    other = tmp_path / "other"
    make_session(other / ".mewcode" / "sessions", ONE, said("u", "elsewhere"))
    remember_root(places.user, other, now=1)
    remember_root(places.user, places.root, now=2)
    assert len(browser.known(THIS_FOLDER)) == len(browser.known(REPOSITORY)) == 2
    told = []
    browser.refresh(EVERYWHERE, told.append, never)
    assert sorted((entry.id, entry.folder, entry.title) for entry in told[-1]) == [
        (ONE, str(other), "elsewhere"), (ONE, str(places.root), "fix the parser"),
        (TWO, str(places.root), "write the docs"),
    ]  # fmt: skip
    assert {hit.path for hit in browser.search("re:.", EVERYWHERE, never).hits} == {
        sessions / ONE, sessions / TWO, other / ".mewcode" / "sessions" / ONE,
    }  # fmt: skip


def test_phrases_stand_as_they_were_typed(browser, sessions):
    add_lines(
        sessions / ONE, said("v", "a-b and Café  au\nlait", 12), said("w", "a b and cafe-au-lait", 13),
        said("x", "会话存档的搜索", 14),
    )  # fmt: skip
    refreshed(browser)

    def turns(query):
        return sorted(hit.turn for hit in browser.search(query, THIS_FOLDER, never).hits)

    assert turns('"a-b"') == [2]
    assert turns('"a b"') == [3]
    assert turns('"cafe au lait"') == [2]
    assert turns('"存档的"') == [4]
    assert turns('"the par') == [1]
    assert turns('"the par"') == []
    [hit] = browser.search('"the parser"', THIS_FOLDER, never).hits
    assert (hit.path, hit.turn, hit.snippet) == (sessions / ONE, 1, "fix the parser")


def test_a_regular_expression_reads_every_message(browser, sessions):
    add_lines(
        sessions / ONE, asked("b", "c1", command="pytest -k needle"),
        answered("t", "c1", "E  needle\x1b[31m 42"),
        said("c", "x" * 5000 + " Needle7 " + "y" * 5000, 12, "assistant"), b"torn",
        said("v", "会话 needle存档", 15),
    )  # fmt: skip
    found = [(hit.turn, hit.role) for hit in browser.search("re:needle", THIS_FOLDER, never).hits]
    assert found == [(1, "assistant"), (1, "tool"), (1, "assistant"), (2, "user")]
    assert [hit.snippet for hit in browser.search(r"re: ^E +needle \d+$", THIS_FOLDER, never).hits] == [
        "E needle 42"
    ]
    [hit] = browser.search(r"re:Needle\d", THIS_FOLDER, never).hits
    assert hit.snippet[slice(*hit.marks[0])] == "Needle7"
    assert len(hit.snippet) <= 162
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert [hit.turn for hit in browser.search("re:存档", THIS_FOLDER, never).hits] == [2]
    assert browser.search("re:", THIS_FOLDER, never).hits == []


@pytest.mark.parametrize("pattern", ["(", "[", "a{99999999999}", "(?P<", "\\"])
def test_what_is_no_regular_expression_is_said(browser, sessions, pattern):
    with pytest.raises(SessionError, match="no regular expression"):
        browser.search("re:" + pattern, THIS_FOLDER, never)


@settings(max_examples=200)
@given(st.text("ab 会\n", max_size=900), st.integers(0, 900), st.integers(0, 900))
def test_the_snippet_of_a_match_shows_where_it_is(text, one, other):
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    snippet, first, last = _around(text, start, end)
    assert len(snippet) <= 162
    assert "\n" not in snippet
    assert 0 <= first <= last <= len(snippet)
    shown = " ".join(snippet[first:last].split())
    assert shown.rstrip("…") in " ".join(text[start:end].split())
    assert snippet.strip("…").strip() in " ".join(text.split())


def test_a_pattern_that_explodes_costs_only_the_message_it_explodes_on(sessions):
    add_lines(sessions / ONE, said("v", "a" * 60 + "!", 12), said("w", "aab", 13))
    found = regex_search(r"^(a|a)+b$", [sessions / ONE, sessions / "gone"], 10)
    assert ([hit.turn for hit in found.hits], found.is_complete) == ([3], True)


def test_a_search_ends_when_told_and_when_its_time_is_over(sessions):
    assert not regex_search("x", [sessions / ONE], 10, stop=lambda: True).is_complete
    assert not regex_search("x", [sessions / ONE], 10, seconds=0).is_complete
    assert len(regex_search(".", [sessions / ONE, sessions / TWO], 2).hits) == 2


def test_names_pins_and_the_trash(browser, sessions):
    refreshed(browser)
    one = named(browser, ONE)
    browser.rename(one, " My\nparser ")
    browser.pin(one, True)
    fresh = refreshed(browser)[ONE]
    assert (fresh.title, fresh.named, fresh.pinned, fresh.updated) == ("My parser", True, True, 11.0)
    browser.rename(one, "")
    browser.pin(one, False)
    fresh = refreshed(browser)[ONE]
    assert (fresh.title, fresh.named, fresh.pinned) == ("fix the parser", False, False)
    browser.trash(one)
    assert refreshed(browser).keys() == {TWO}
    browser.restore(one)
    assert refreshed(browser)[ONE] == fresh
    with pytest.raises(SessionError):
        browser.restore(one)


def test_a_session_that_is_open_is_told_and_stays(browser, sessions, places):
    entry = refreshed(browser)[ONE]
    assert browser.open_by(entry) is None
    writer = SessionWriter.open(sessions / ONE, now=lambda: 1234.0)
    try:
        holder = browser.open_by(entry)
        assert holder is not None
        assert holder[1] == 1234.0
        with pytest.raises(SessionBusy):
            browser.trash(entry)
    finally:
        writer.close()
    assert browser.open_by(entry) is None
    assert SessionBrowser(places).open_by(named(browser, TWO)) is None


def test_the_lock_of_a_process_that_ended_is_none(sessions):
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )

    owner = {"pid": int(child.stdout), "since": 5.0, "host": os.uname().nodename}
    (sessions / ONE / "conversation.lock").write_text(str(owner).replace("'", '"'))
    assert held_by(sessions / ONE) is None


def test_the_preview_is_the_end_of_the_conversation(browser, sessions):
    messages = browser.preview(refreshed(browser)[ONE])
    assert [message.text for message in messages] == ["fix the parser", "done"]


def test_update_makes_the_cache_warm_and_ends_when_told(browser, sessions, places):
    update(places, lambda: True)
    assert not any(entry.indexed for entry in browser.known(THIS_FOLDER))
    update(places, never)
    assert all(entry.indexed for entry in browser.known(THIS_FOLDER))


def test_many_threads_at_once(browser, sessions):
    for number in range(30):
        make_session(sessions, f"202605{number + 1:02}-100000-aaaa", said("u", f"needle {number}"))
    failed = []

    def work(call):
        try:
            call()
        except (sqlite3.Error, MewCodeError, OSError) as error:  # told below, in the test's own thread
            failed.append(error)

    calls = [
        lambda: browser.refresh(THIS_FOLDER, lambda entries: None, never),
        lambda: browser.search('"needle"', THIS_FOLDER, never),
        lambda: browser.known(THIS_FOLDER),
    ] * 3
    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    assert len(browser.search('"needle"', THIS_FOLDER, never).hits) == 30


@pytest.mark.parametrize("query", ['"needle"', "re:needle"])
def test_what_is_left_out_of_many_hits_is_said(browser, sessions, query):
    make_session(sessions, "20261130-120000-cccc", *(said(f"n{n}", "a needle", n) for n in range(100)))
    refreshed(browser)
    found = browser.search(query, THIS_FOLDER, never)
    assert (len(found.hits), found.is_complete) == (100, True)
    add_lines(sessions / ONE, said("more", "a needle", 200))
    refreshed(browser)
    found = browser.search(query, THIS_FOLDER, never)
    assert (len(found.hits), found.is_complete) == (100, False)


_WARM = """
import sys
from pathlib import Path
from mewcode.infra.paths import find_places
before = set(sys.modules)
from mewcode.sessions.browse import THIS_FOLDER, SessionBrowser
browser = SessionBrowser(find_places(Path(sys.argv[1]), {"HOME": sys.argv[2]}))
found = browser.known(THIS_FOLDER)
ours = {name for name in set(sys.modules) - before if name.startswith("mewcode.")}
print(len(found), sorted(ours))
"""


def test_the_list_loads_little(browser, sessions, places, tmp_path):
    refreshed(browser)
    argv = [sys.executable, "-c", _WARM, str(places.root), str(tmp_path / "home")]
    out = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=True, timeout=60).stdout
    assert out.startswith("2 ")
    for heavy in ("catalog_fold", "record", "reader", "catalog'", "search_text", "message"):
        assert heavy not in out
