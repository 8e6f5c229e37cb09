"""The choice in the live part of the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mewcode.repl.panel import Chosen, Option, Panel
from mewcode.repl.theme import THEMES

OPTIONS = (Option("a", "Alpha", "the first"), Option("b", "Beta"), Option("c", "Say why", asks_text=True))


def with_panel(scenario: Callable[[Panel], None], **fields: object) -> None:
    async def run() -> None:
        panel = Panel("Which?\nreally", OPTIONS, **fields)  # type: ignore[arg-type]
        scenario(panel)
        panel.outcome.cancel()

    asyncio.run(run())


def test_enter_takes_the_first() -> None:
    def scenario(panel: Panel) -> None:
        panel.choose()
        assert panel.outcome.result() == Chosen("a")
        panel.choose(1)
        assert panel.outcome.result() == Chosen("a")

    with_panel(scenario)


@pytest.mark.parametrize(("moves", "taken"), [((1,), "b"), ((-1, -1), "b"), ((1, 1, 1), "a")])
def test_arrows_go_round(moves: tuple[int, ...], taken: str) -> None:
    def scenario(panel: Panel) -> None:
        for by in moves:
            panel.move(by)
        panel.choose()
        assert panel.outcome.result() == Chosen(taken)

    with_panel(scenario)


def test_a_digit_beyond_the_last_is_ignored() -> None:
    def scenario(panel: Panel) -> None:
        panel.choose(8)
        panel.choose(-1)
        assert not panel.outcome.done()
        panel.choose(1)
        assert panel.outcome.result() == Chosen("b")

    with_panel(scenario)


def test_an_option_may_ask_for_words_and_esc_goes_back_one_step() -> None:
    def scenario(panel: Panel) -> None:
        panel.choose(2)
        assert not panel.outcome.done()
        assert "type your words" in panel.lines(THEMES["no-color"], 80)[-1]
        panel.cancel()
        assert panel.writing is None
        panel.choose(2)
        panel.write("因为")
        assert panel.outcome.result() == Chosen("c", "因为")

    with_panel(scenario)


def test_esc_cancels() -> None:
    def scenario(panel: Panel) -> None:
        panel.cancel()
        assert panel.outcome.result() is None

    with_panel(scenario)


def test_a_key_meant_for_what_was_being_typed_takes_nothing() -> None:
    def scenario(panel: Panel) -> None:
        panel.accepts_from = panel.outcome.get_loop().time() + 1_000
        panel.choose()
        panel.choose(0)
        assert not panel.outcome.done()
        panel.accepts_from = 0.0
        panel.choose()
        assert panel.outcome.done()

    with_panel(scenario)


def test_lines_fit_and_scroll_and_show_no_escapes() -> None:
    async def run() -> None:
        options = tuple(Option(str(n), f"\x1b[31moption {n} 长长长的名字", "x" * 200) for n in range(30))
        panel = Panel("title " * 40, options, 20)
        lines = panel.lines(THEMES["no-color"], 80)
        assert all("\x1b" not in line for line in lines)
        assert any("option 20" in line for line in lines)
        assert len(lines) == 13  # title, filter, ten options, keys
        assert "20 more" in lines[-1]

    asyncio.run(run())


def test_a_long_title_leaves_the_options_on_the_screen() -> None:
    async def run() -> None:
        panel = Panel("Why?" + "\n" * 1000 + "end", OPTIONS)
        lines = panel.lines(THEMES["no-color"], 60)
        panel.outcome.cancel()
        assert lines[8] == "… 993 more lines"
        assert lines[9].endswith("1. Alpha  the first")

    asyncio.run(run())


def _many(count: int = 12) -> tuple[Option, ...]:
    names = ["gpt-5", "gpt-5-mini", "claude-opus", "claude-haiku", "qwen3:8b", "模型"]
    names += [f"other-{number}" for number in range(count - len(names))]
    return tuple(Option(name, name, "openai" if name.startswith("gpt") else "local") for name in names)


def with_many(scenario: Callable[[Panel], None], selected: int = 0) -> None:
    async def run() -> None:
        panel = Panel("Which?", _many(), selected)
        scenario(panel)
        panel.outcome.cancel()

    asyncio.run(run())


def test_typing_filters_many_options() -> None:
    def scenario(panel: Panel) -> None:
        assert panel.filters
        panel.look_for("5")
        panel.look_for(" OPEN")
        assert [option.value for option in panel.found] == ["gpt-5", "gpt-5-mini"]
        panel.move(1)
        panel.choose()
        assert panel.outcome.result() == Chosen("gpt-5-mini")

    with_many(scenario)


def test_the_selected_option_stays_selected_where_it_is_found() -> None:
    def scenario(panel: Panel) -> None:
        panel.look_for("claude")
        assert panel.found[panel.selected].value == "claude-haiku"
        panel.look_for(" opus")
        assert panel.found[panel.selected].value == "claude-opus"
        panel.erase()
        assert panel.found[panel.selected].value == "claude-opus"

    with_many(scenario, selected=3)


def test_nothing_found_takes_nothing_and_esc_clears_the_filter_first() -> None:
    def scenario(panel: Panel) -> None:
        panel.look_for("zzz")
        panel.move(1)
        panel.choose()
        assert not panel.outcome.done()
        lines = panel.lines(THEMES["no-color"], 60)
        assert any("nothing matches" in line for line in lines)
        assert "clears the filter" in lines[-1]
        panel.cancel()
        assert (panel.filter, panel.outcome.done(), len(panel.found)) == ("", False, 12)
        panel.look_for("模型")
        assert [option.value for option in panel.found] == ["模型"]
        panel.cancel()
        panel.cancel()
        assert panel.outcome.result() is None

    with_many(scenario)


def test_a_pasted_text_is_one_line_without_escapes_and_bounded() -> None:
    def scenario(panel: Panel) -> None:
        panel.look_for("\x1b[31mgpt\nmini" + "x" * 500)
        assert "\x1b" not in panel.filter
        assert "\n" not in panel.filter
        assert len(panel.filter) <= 80
        assert all(len(line) < 60 for line in panel.lines(THEMES["no-color"], 60))

    with_many(scenario)


def test_few_options_have_no_filter() -> None:
    def scenario(panel: Panel) -> None:
        panel.look_for("beta")
        assert (panel.filter, panel.found) == ("", OPTIONS)

    with_panel(scenario)


def test_the_selected_option_is_among_the_lines_of_any_height() -> None:
    async def scenario() -> None:
        title = "\n".join(f"title {number}" for number in range(20))
        panel = Panel(title, tuple(Option(str(number), f"option {number}") for number in range(30)))
        for rows in range(3, 40):
            for selected in (0, 7, 29):
                panel.selected = selected
                lines = panel.lines(THEMES["no-color"], 60, rows)
                assert any(f"❯ option {selected}" == line for line in lines)
                assert lines[-1].startswith("enter takes it")
                assert len(lines) <= max(rows, 4)
        panel.outcome.cancel()

    asyncio.run(scenario())


def test_words_for_the_input_are_no_choice() -> None:
    async def scenario() -> None:
        panel = Panel("allow?", (Option("yes", "Yes"), Option("no", "No")))
        panel.look_for("words")
        panel.choose()
        panel.choose(1)
        assert not panel.outcome.done()
        panel.accepts_from = 0.0
        panel.choose(1)
        assert panel.outcome.result() == Chosen("no")

    asyncio.run(scenario())
