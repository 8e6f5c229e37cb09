"""The picker's keys, against sessions in memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput

from mewcode.core.message import Message, Text
from mewcode.repl.picker import Picker
from mewcode.repl.picker_view import PickerView
from mewcode.repl.theme import THEMES
from mewcode.sessions.catalog_entry import CatalogEntry
from tests.support.list_desk import LIMIT, ListDesk, Output, list_desk
from tests.support.session_source import MemorySource, entry

HERE, REPOSITORY = "this folder", "this repository"
FIX = entry("s1", "Fix the parser", updated=300.0)
DOCS = entry("s2", "write docs", updated=200.0)
CACHE = entry("s3", "缓存坏了", updated=100.0)
OTHER = entry("o1", "elsewhere", folder="/other", updated=50.0)


class Desk(ListDesk[Picker]):
    @property
    def picker(self) -> Picker:
        return self.listed

    @property
    def view(self) -> PickerView:
        return self.listed.view

    def shown(self) -> str:
        return " ".join(session.id for session in self.view.sessions.shown)


def source(**more: object) -> MemorySource:
    return MemorySource({HERE: [CACHE, DOCS, FIX], REPOSITORY: [FIX, DOCS, CACHE, OTHER]}, **more)  # type: ignore[arg-type]


@contextmanager
def _desk(given: MemorySource, current: str | None) -> Iterator[Desk]:
    def make(keys: PipeInput, output: Output) -> Picker:
        view = PickerView(THEMES["no-color"], given.scopes, current, clock=lambda: 400.0)
        return Picker(view, given, keys, output)

    with list_desk(Desk, make) as desk:
        yield desk


def run(
    given: MemorySource, work: Callable[[Desk], Awaitable[None]], current: str | None = None
) -> CatalogEntry | None:
    """What was picked when ``work`` had been done with the picker."""

    async def main() -> CatalogEntry | None:
        with _desk(given, current) as desk:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(desk.picker.run())
                await desk.until(lambda: desk.picker.app.is_running)
                await desk.until(lambda: desk.view.sessions.shown or desk.view.message)
                await work(desk)
                if not running.done():
                    desk.picker.leave()
                async with asyncio.timeout(LIMIT):
                    return await running

    return asyncio.run(main())


def test_enter_takes_the_selected_one() -> None:
    async def work(desk: Desk) -> None:
        await desk.press("\x1b[B", lambda: desk.view.sessions.current == DOCS)
        desk.keys.send_text("\r")
        await desk.ended()

    assert run(source(), work) == DOCS


@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_esc_and_ctrl_c_leave(key: str) -> None:
    async def work(desk: Desk) -> None:
        desk.keys.send_text(key)
        await desk.ended()

    assert run(source(), work) is None


def test_the_session_that_goes_on_here_is_no_choice_and_stays() -> None:
    given = source()

    async def work(desk: Desk) -> None:
        assert desk.view.sessions.current == DOCS
        await desk.see("\x1b[A\x04", "this session goes on here: it stays")
        desk.keys.send_text("\r")
        await desk.ended()

    assert run(given, work, current="s1") is None
    assert not [call for call in given.calls if call[0] == "trash"]


def test_typing_filters_and_esc_first_clears_the_filter() -> None:
    async def work(desk: Desk) -> None:
        await desk.press("缓存", lambda: desk.shown() == "s3")
        await desk.press("\x7f\x7f", lambda: desk.shown() == "s1 s2 s3")
        await desk.press("write fix", lambda: desk.shown() == "")
        assert "nothing matches" in desk.screen()
        await desk.press("\x17", lambda: desk.shown() == "s2")
        await desk.press("\x15", lambda: desk.shown() == "s1 s2 s3")
        await desk.press("docs", lambda: desk.shown() == "s2")
        await desk.press("\x1b", lambda: desk.shown() == "s1 s2 s3")
        await desk.press("\x1b[200~fix\nthe\x1b[201~", lambda: desk.shown() == "s1")
        desk.keys.send_text("\r")
        await desk.ended()

    assert run(source(), work) == FIX


def test_keys_that_move() -> None:
    many = MemorySource({HERE: [entry(f"s{number:03}", "t", updated=1e3 - number) for number in range(100)]})

    async def work(desk: Desk) -> None:
        sessions = desk.view.sessions
        await desk.press("\x1b[F", lambda: sessions.selected == 99)
        await desk.press("\x1b[B", lambda: sessions.selected == 99)
        await desk.press("\x1b[5~", lambda: sessions.selected == 81)
        await desk.press("\x1b[6~", lambda: sessions.selected == 99)
        await desk.press("\x1b[H", lambda: sessions.selected == 0)
        await desk.press("\x1b[A\x1b[B\x1b[B", lambda: sessions.selected == 2)
        desk.output.size = Size(9, 40)
        await desk.press("\x1b[6~", lambda: sessions.selected > 2)

    assert run(many, work) is None


def test_a_search_shows_hits_under_their_sessions() -> None:
    given = source(texts={"s2": ["the tokenizer", "a tokenizer again"], "s3": ["no such thing"]})

    async def work(desk: Desk) -> None:
        await desk.press('"tokenizer', lambda: desk.shown() == "s2")
        assert "   1 the \x1b[1;4mtokenizer\x1b[0m" in desk.screen()
        await desk.press("\x15re:th.ng", lambda: desk.shown() == "s3")
        assert "no such \x1b[1;4mthing\x1b[0m" in desk.screen()
        await desk.see("\x15re:th(", "no regular expression")
        assert desk.shown() == ""
        await desk.press("\x15", lambda: desk.shown() == "s1 s2 s3")

    run(given, work)
    assert ("search", '"tokenizer', HERE) in given.calls


def test_it_is_seen_where_a_search_left_hits_out() -> None:
    given = source(texts={"s2": ["the tokenizer"]})
    given.is_complete = False

    async def work(desk: Desk) -> None:
        await desk.see('"tokenizer', "1+ of 3")
        await desk.press("\x15", lambda: desk.shown() == "s1 s2 s3")
        await desk.see("s1", "1 of 3")

    run(given, work)


def test_what_a_search_finds_too_late_is_dropped() -> None:
    gate = threading.Event()
    given = source(texts={"s2": ["slow"]}, gates={"search": gate})

    async def work(desk: Desk) -> None:
        await desk.press('"slow', lambda: ("search", '"slow', HERE) in given.calls)
        await desk.press("\x15fix", lambda: desk.shown() == "s1")
        gate.set()
        await desk.press("\x15", lambda: desk.shown() == "s1 s2 s3" and not desk.view.searching)

    run(given, work)


def test_pin_is_a_switch() -> None:
    given = source()

    async def work(desk: Desk) -> None:
        await desk.see("\x10", "❯ *   Fix the parser")
        await desk.press("\x10", lambda: not desk.view.sessions.shown[0].pinned)
        await desk.until(lambda: given.calls.count(("pin", "s1", False)) == 1)

    run(given, work)
    assert [call for call in given.calls if call[0] == "pin"] == [("pin", "s1", True), ("pin", "s1", False)]


def test_a_pin_that_fails_is_taken_back_and_told() -> None:
    async def work(desk: Desk) -> None:
        await desk.see("\x10", "the disk is full")
        assert not desk.view.sessions.shown[0].pinned

    run(source(failures={"pin": "the disk is full"}), work)


def test_renaming_in_place() -> None:
    given = source()

    async def work(desk: Desk) -> None:
        await desk.see("\x12", "enter keeps the title")
        await desk.see("\x15词法\x1b[D新", "新法")
        await desk.press("\r", lambda: desk.view.sessions.shown[0].named)
        assert "❯     词新法" in desk.screen()
        await desk.see("\x12xyz", "词新法xyz")
        await desk.press("\x1b", lambda: desk.view.mode == "list")
        assert "词新法xyz" not in desk.screen()
        await desk.press("\x12\x15\r", lambda: ("rename", "s1", "") in given.calls)
        await desk.see("", "❯     Fix the parser")

    run(given, work)
    assert [call for call in given.calls if call[0] == "rename"] == [
        ("rename", "s1", "词新法"),
        ("rename", "s1", ""),
    ]


def test_to_the_trash_and_back() -> None:
    given = source()

    async def work(desk: Desk) -> None:
        await desk.see("\x04", "move to the trash? (y/n) Fix the parser")
        await desk.press("n", lambda: desk.view.mode == "list")
        await desk.press("\x04\r", lambda: desk.view.mode == "list")
        await desk.press("\x04y", lambda: desk.shown() == "s2 s3")
        await desk.see("", "moved to the trash · ^Z brings it back: Fix the parser")
        await desk.press("\x1a", lambda: desk.shown() == "s1 s2 s3")
        assert desk.view.sessions.current == FIX

    run(given, work)
    assert [call[0] for call in given.calls if call[0] in ("trash", "restore")] == ["trash", "restore"]


def test_one_that_cannot_go_stays_and_says_why() -> None:
    async def work(desk: Desk) -> None:
        await desk.see("\x04y", "Session s1 is in use by process 7.")
        assert desk.shown() == "s1 s2 s3"

    run(source(failures={"trash": "Session s1 is in use by process 7."}), work)


def test_what_was_trashed_stays_away_when_the_list_is_read_anew() -> None:
    gate = threading.Event()
    given = source(gates={"refresh": gate}, later={HERE: [[FIX, DOCS, CACHE]]})

    async def work(desk: Desk) -> None:
        await desk.press("\x04y", lambda: desk.shown() == "s2 s3")
        gate.set()
        await desk.until(lambda: not desk.view.reading)
        assert desk.shown() == "s2 s3"

    run(given, work)


def test_tab_looks_further_and_ctrl_s_sorts() -> None:
    given = source()

    async def work(desk: Desk) -> None:
        await desk.press("\t", lambda: desk.shown() == "s1 s2 s3 o1")
        assert REPOSITORY in desk.screen()
        assert "other" in desk.screen()
        await desk.press("\x13\x13", lambda: "by title" in desk.screen())
        assert desk.shown() == "o1 s1 s2 s3"
        await desk.press("\t", lambda: desk.shown() == "s1 s2 s3")

    run(given, work)


def test_what_is_learned_later_fills_in_and_the_selection_stays() -> None:
    gate = threading.Event()
    bare = [entry("s1", "", updated=300.0), entry("s2", "", updated=200.0)]
    given = MemorySource({HERE: bare}, later={HERE: [[FIX, DOCS, CACHE]]}, gates={"refresh": gate})

    async def work(desk: Desk) -> None:
        assert "reading…" in desk.screen()
        await desk.press("\x1b[B", lambda: desk.view.sessions.selected == 1)
        gate.set()
        await desk.see("", "❯     write docs")
        await desk.until(lambda: "reading…" not in desk.screen())

    run(given, work)


def test_who_has_one_open_is_asked_for_what_is_seen() -> None:
    given = source(holders={"s2": (4242, 300.0)})

    async def work(desk: Desk) -> None:
        await desk.see("", "●  write docs")
        await desk.see("\x1b[B", "open in another window (process 4242, since ")

    run(given, work)
    assert sorted(call[1] for call in given.calls if call[0] == "open_by") == ["s1", "s2", "s3"]


@pytest.mark.parametrize("back", ["\x1b[D", "\x1b", "\x0f"])
def test_the_preview_scrolls_and_goes_back(back: str) -> None:
    said = [Message(str(turn), "user", (Text(f"line {turn}"),), "user") for turn in range(60)]
    given = source(messages=said)

    async def work(desk: Desk) -> None:
        await desk.see("\x1b[C", "line 59")
        await desk.press("\x1b[H", lambda: "line 0\n" in desk.screen() + "\n")
        await desk.see("\x1b[F\x1b[A\x1b[A", "line 58")
        assert "line 59" not in desk.screen()
        desk.output.size = Size(30, 160)
        await desk.see("\x1b[B\x1b[B", "│ ")
        await desk.see("", "line 59")
        await desk.see(back, "tab where")

    assert run(given, work) is None


def test_enter_in_the_preview_takes_it() -> None:
    async def work(desk: Desk) -> None:
        await desk.see("\x1b[B\x0f", "nothing was said in this session")
        desk.keys.send_text("\r")
        await desk.ended()

    assert run(source(), work) == DOCS


def test_sessions_that_cannot_be_read_are_told() -> None:
    async def work(desk: Desk) -> None:
        await desk.see("", "the index cannot be read")

    run(source(failures={"known": "the index cannot be read"}), work)


def test_ten_thousand_are_filtered_while_keys_go_on() -> None:
    """A key is drawn before the filter is done."""
    many = [
        entry(f"s{number:05}", f"parser of part {number} and all", updated=1e6 - number)
        for number in range(10_000)
    ]

    async def work(desk: Desk) -> None:
        await desk.press("par", lambda: "❯ par" in desk.screen())
        await desk.press("t99", lambda: "s00099" in desk.shown()[:7])

    run(MemorySource({HERE: many}), work)
