"""The picker's list: order, filter, selection, what is seen."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl.picker_filter import read_filter
from mewcode.repl.picker_list import SessionList, ShownHit, key_of
from mewcode.sessions.catalog_entry import CatalogEntry
from tests.support.session_source import entry

PARSER = entry("a1", "Fix the parser", updated=300.0, size=10)
DOCS = entry("b2", "write docs", updated=200.0, size=999, branch="parse-docs")
CACHE = entry("c3", "缓存 cache", updated=100.0, size=50)
UNKNOWN = entry("d4", "", updated=400.0, size=0)


def listed(*entries: CatalogEntry) -> SessionList:
    found = SessionList()
    found.take(entries or (CACHE, DOCS, PARSER, UNKNOWN))
    apply(found)
    return found


def apply(found: SessionList) -> None:
    for _ in found.steps():
        pass


def use(found: SessionList, text: str) -> None:
    found.use(read_filter(text))
    apply(found)


def ids(found: Sequence[CatalogEntry]) -> str:
    return " ".join(session.id for session in found)


def test_the_newest_come_first_and_sorting_goes_round() -> None:
    found = listed()
    assert ids(found.shown) == "d4 a1 b2 c3"
    for order in ("b2 c3 a1 d4", "a1 b2 c3 d4", "d4 a1 b2 c3"):
        found.next_sort()
        apply(found)
        assert ids(found.shown) == order


def test_of_equal_age_the_order_stays() -> None:
    one, two = entry("x1", "one"), entry("x2", "two")
    assert ids(listed(one, two).shown) == ids(listed(two, one).shown)


def test_words_put_the_best_first_unless_another_order_is_wanted() -> None:
    found = listed()
    use(found, "parse")
    assert set(ids(found.shown).split()) == {"a1", "b2"}
    found.next_sort()  # by size
    apply(found)
    assert ids(found.shown) == "b2 a1"
    use(found, "缓存")
    assert ids(found.shown) == "c3"
    use(found, "parse zebra")
    assert found.shown == []
    assert found.current is None


def test_a_new_filter_selects_the_first_and_news_keep_the_selection() -> None:
    found = listed()
    found.move(2)
    assert found.current == DOCS
    found.take((CACHE, DOCS, PARSER, UNKNOWN, entry("e5", "newest", updated=900.0)))
    apply(found)
    assert found.current == DOCS
    use(found, "e")
    assert found.selected == 0
    use(found, "")
    assert found.current is not None
    assert found.current.id == "e5"


def test_what_is_found_so_far_is_shown_when_asked_for() -> None:
    found = SessionList()
    found.take([entry(f"s{number:03}", "parser", updated=1000.0 - number) for number in range(200)])
    found.use(read_filter("parser"))
    steps = found.steps()
    next(steps)
    assert found.shown == []
    steps.send(True)
    assert 0 < len(found.shown) < 200
    for _ in steps:
        pass
    assert len(found.shown) == 200


def test_a_session_that_goes_leaves_the_selection_at_its_place() -> None:
    found = listed()
    found.move(1)
    found.remove(PARSER)
    apply(found)
    assert found.current == DOCS
    found.last()
    found.remove(CACHE)
    apply(found)
    assert found.current == DOCS
    found.add(PARSER)
    apply(found)
    found.select(PARSER)
    assert ids(found.shown) == "d4 a1 b2"
    assert found.current == PARSER


def test_hits_decide_and_take_rows() -> None:
    found = listed()
    hits = tuple(ShownHit(turn, "text", ()) for turn in (1, 2, 3))
    found.hits = {key_of(CACHE): hits, key_of(PARSER): hits[:1]}
    use(found, '"text')
    assert ids(found.shown) == "c3 a1"  # as they were found
    assert [found.height(session) for session in found.shown] == [3, 2]
    use(found, "")
    assert [found.height(session) for session in found.shown] == [1, 1, 1, 1]


def test_what_a_fork_was_made_from() -> None:
    fork = entry("f6", "again", parent_session="b2")
    orphan = entry("f7", "again", parent_session="zz")
    found = listed(DOCS, fork, orphan)
    assert [found.parent_of(session) for session in (DOCS, fork, orphan)] == ["", "write docs", "zz"]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 40),
    st.integers(1, 12),
    st.lists(st.integers(-50, 50), max_size=8),
    st.booleans(),
)
def test_the_selected_one_is_seen_and_no_row_is_wasted(
    count: int, rows: int, moves: list[int], with_hits: bool
) -> None:
    entries = [entry(f"s{number:03}", "t", updated=1000.0 - number) for number in range(count)]
    found = listed(*entries) if entries else SessionList()
    if with_hits:
        found.hits = {
            key_of(session): (ShownHit(1, "x", ()),) * (number % 4) for number, session in enumerate(entries)
        }
        use(found, '"x')
    for by in moves:
        found.move(by)
        seen = found.visible(rows)
        heights = [found.height(session) for session in seen]
        if not found.shown:
            assert list(seen) == []
            continue
        assert found.current in seen
        if found.height(found.current) <= rows:
            assert sum(heights[: list(seen).index(found.current) + 1]) <= rows
        assert sum(heights[:-1]) < rows
        everything = sum(map(found.height, found.shown))
        assert sum(heights) >= min(rows, everything) - 2
