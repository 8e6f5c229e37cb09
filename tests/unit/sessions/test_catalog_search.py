"""Search: words, phrases, Chinese, accents, and what is too common to say anything."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.message import Message, Text
from mewcode.sessions.catalog import Catalog
from mewcode.sessions.catalog_search import search
from mewcode.sessions.record import encode_message
from mewcode.sessions.search_text import index_text, read_query, snippet
from tests.support.archive import answered, asked, make_session, said

TEXTS = {
    "fix": "Fix the parser of permission rules in read_file.py",
    "cn": "会话存档的搜索功能，用pytest测试",
    "jp": "セッションの検索",
    "kr": "세션검색 기능",
    "accent": "Déjà vu in the Café",
    "wide": "Ｆｕｌｌｗｉｄｔｈ ＴＥＸＴ",
    "order": "rules permission",
}


@pytest.fixture
def catalog(tmp_path):
    lines = [said(name, text, number) for number, (name, text) in enumerate(TEXTS.items(), 1)]
    make_session(tmp_path / "s", "one", *lines)
    opened = Catalog(tmp_path / "s", tmp_path / "c.sqlite")
    opened.refresh()
    yield opened
    opened.close()


def found(catalog, query):
    names = list(TEXTS)
    return {names[hit.turn - 1] for hit in search(catalog, query)}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("parser", {"fix"}),
        ("PARSER fix", {"fix"}),
        ("parser café", set()),
        ("permission rules", {"fix", "order"}),
        ('"permission rules"', {"fix"}),
        ("“permission rules”", {"fix"}),
        ('"permission rules', {"fix"}),
        ("read_file.py", {"fix"}),
        ("permis*", {"fix", "order"}),
        ("permis", {"fix", "order"}),
        ("会话", {"cn"}),
        ("话存", {"cn"}),
        ("存档的搜索", {"cn"}),
        ("档", {"cn"}),
        ("能", {"cn"}),
        ("索话", set()),
        ("会话 测试", {"cn"}),
        ("用pytest测试", {"cn"}),
        ('"功能，用pytest"', {"cn"}),
        ("検索", {"jp"}),
        ("검색", {"kr"}),
        ("deja cafe", {"accent"}),
        ("CAFÉ", {"accent"}),
        ("fullwidth text", {"wide"}),
        ("ｐａｒｓｅｒ", {"fix"}),
    ],
)
def test_what_is_found(catalog, query, names):
    assert found(catalog, query) == names


@pytest.mark.parametrize(
    "query", ["", " ", '""', '"', "*", "，。", "\x00", '" *', "-- ; DROP", "NEAR(", "a:b OR c", "^", "\udcff"]
)
def test_nothing_to_look_for_is_no_error(catalog, query):
    assert search(catalog, query) == []


@pytest.mark.parametrize("origin", ["reminder", "recall"])
def test_calls_and_results_are_searched_and_what_the_program_added_is_not(tmp_path, origin):
    reminder = encode_message(Message("r", "user", (Text("needle reminder"),), origin), ts=1)
    make_session(
        tmp_path / "s", "one", said("u", "go"), reminder,
        asked("a", "c1", command="pytest -k needle\nsecond"), answered("t", "c1", "no needle here", 4.0),
    )  # fmt: skip
    catalog = Catalog(tmp_path / "s", tmp_path / "c.sqlite")
    catalog.refresh()
    hits = search(catalog, "needle")
    assert sorted((hit.role, hit.turn, hit.ts) for hit in hits) == [("assistant", 1, 1.0), ("tool", 1, 4.0)]
    assert len(search(catalog, "second")) == 1
    catalog.close()


def test_words_that_stand_everywhere_are_dropped_where_rarer_ones_are_there(tmp_path):
    lines = [said(f"u{i}", f"common word{i}") for i in range(200)]
    make_session(tmp_path / "s", "one", *lines, said("x", "rare by itself"))
    catalog = Catalog(tmp_path / "s", tmp_path / "c.sqlite")
    catalog.refresh()
    assert [hit.snippet for hit in search(catalog, "common rare")] == ["rare by itself"]
    assert len(search(catalog, "common", 500)) == 200
    assert len(search(catalog, "common", 7)) == 7
    assert [hit.snippet for hit in search(catalog, "common word7")] == ["common word7"]
    catalog.close()


def test_a_file_that_changed_since_gives_no_snippet(catalog, tmp_path):
    (tmp_path / "s" / "one" / "conversation.jsonl").write_bytes(b"")
    assert [hit.snippet for hit in search(catalog, "parser")] == [""]


def test_a_record_saved_from_a_broken_line_has_its_own_snippet(tmp_path):
    make_session(tmp_path / "s", "one", b'{"role":"us' + said("u", "saved needle"))
    catalog = Catalog(tmp_path / "s", tmp_path / "c.sqlite")
    catalog.refresh()
    assert [hit.snippet for hit in search(catalog, "needle")] == ["saved needle"]
    catalog.close()


def test_a_snippet_shows_the_place_and_nothing_that_steers_a_terminal(tmp_path):
    text = "x " * 500 + "before the \x1b[31mneedle\x1b[0m behind " + "y " * 500
    make_session(tmp_path / "s", "one", said("u", text))
    catalog = Catalog(tmp_path / "s", tmp_path / "c.sqlite")
    catalog.refresh()
    [hit] = search(catalog, "needle")
    assert "before the needle behind" in hit.snippet
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert len(hit.snippet) <= 170
    catalog.close()


@settings(max_examples=200)
@given(st.text("ab 会话存é\n", max_size=40), st.text(max_size=20))
def test_a_snippet_is_a_piece_of_the_text(text, query):
    flat = " ".join(text.split())
    assert snippet(text, read_query(query), 20).strip("… ") in flat


@settings(max_examples=150)
@given(st.text("ab会话存。 ", min_size=1, max_size=15), st.data())
def test_every_part_of_a_text_is_found_as_a_phrase(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    # Latin words are found whole only.
    while start > 0 and text[start - 1].isascii() and text[start - 1] != " " and text[start] in "ab":
        start -= 1
    while end < len(text) and text[end - 1] in "ab" and text[end] in "ab":
        end += 1
    terms = read_query(f'"{text[start:end]}"')
    import sqlite3

    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE w USING fts5(body, tokenize='unicode61 remove_diacritics 2')")
    connection.execute("INSERT INTO w VALUES (?)", (index_text(text),))
    for term in terms:
        assert connection.execute("SELECT count(*) FROM w WHERE w MATCH ?", (term.match,)).fetchone() == (1,)
    connection.close()


@settings(max_examples=150)
@given(st.text(max_size=30), st.booleans())
def test_any_query_is_one_that_the_index_understands(query, beginnings):
    import sqlite3

    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE w USING fts5(body)")
    terms = read_query(query, beginnings=beginnings)
    if terms:
        connection.execute("SELECT * FROM w WHERE w MATCH ?", (" AND ".join(t.match for t in terms),))
    connection.close()
