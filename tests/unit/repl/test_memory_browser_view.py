"""The whole of the browser of notes, as lines; and the text of its preview."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.memory.entry import Entry, Use
from mewcode.memory.history import Change, Step
from mewcode.repl.cell_width import cell_width
from mewcode.repl.memory_browser_items import TABS, ChangeItem, FileItem, Item, NoteItem, Standing
from mewcode.repl.memory_browser_rows import details
from mewcode.repl.memory_browser_source import Text
from mewcode.repl.memory_browser_text import preview_lines
from mewcode.repl.memory_browser_view import BrowserView, Mode
from mewcode.repl.theme import THEMES, ThemeName

NOW = 1_000_000.0
DAY = 86_400.0
SGR = re.compile(r"\x1b\[[0-9;]*m")
WILD = st.text(max_size=60)


def entry(name: str, **more: object) -> Entry:
    made = {"level": "project", "type": "project_knowledge", "line": f"About {name}."} | more
    return Entry(f"{name}.md", (0, 0, 0), "", name=name, **made)  # type: ignore[arg-type]


def item(name: str, standing: Standing = "live", **more: object) -> NoteItem:
    return NoteItem(entry(name, **more), standing, Use(), NOW - 12 * DAY)


def change(*what: str, is_undone: bool = False) -> ChangeItem:
    made = Change("c1", NOW, "agent", what, (Step("a.md", "old\n", "new\n"),), reason="a merge")
    return ChangeItem((("project", made),), "; ".join(what), is_undone)


def view(*items: Item, theme: ThemeName = "no-color") -> BrowserView:
    made = BrowserView(THEMES[theme], lambda: NOW)
    for tab in TABS:
        made.items.take(tab, items)
    apply(made)
    return made


def apply(made: BrowserView) -> None:
    for _ in made.items.steps():
        pass


def lines(made: BrowserView, width: int, height: int) -> list[str]:
    return [SGR.sub("", line).rstrip() for line in made.frame(width, height).lines]


class Shown:
    def shown(self) -> list[str]:
        return ["first", "second"]


def test_at_80_columns_it_is_all_there() -> None:
    made = view(item("Linter", pinned=True), item("发布日期", level="user", type="user_preference"))
    shown = lines(made, 79, 24)
    assert len(shown) == 24
    assert shown[0].split() == ["notes", "2", "inbox", "2", "instructions", "2", "history", "2"]
    assert shown[1] == "❯ type to filter"
    assert shown[2] == "  ^S in force · ^T every type · ^L both levels"
    assert shown[3].split() == ["❯", "*", "project", "Linter", "About", "Linter.", "12", "d"]
    assert shown[4].split() == ["~", "user", "发布日期", "About", "发布日期.", "12", "d"]
    assert shown[-2] == "* pinned · project level · from user · updated 12 days ago · Linter.md"
    assert shown[-1] == "→ shows · ^E edits · ^P unpins · ^X moves · ^D forgets · ^Z undoes · tab next"


@pytest.mark.parametrize(
    ("standing", "mark", "keys"),
    [
        ("expired", "-", "→ shows · ^R restores · ^E edits · ^D forgets · ^Z undoes · tab next"),
        ("forgotten", "x", "→ shows · ^R restores · ^Z undoes · tab next"),
        ("inbox", "?", "→ shows · ^Y approves · ^D refuses · ^E edits · ^Z undoes · tab next"),
    ],
)
def test_the_keys_are_those_that_the_note_can_take(standing: Standing, mark: str, keys: str) -> None:
    made = view(item("Linter", standing))
    made.items.state = "every state"
    apply(made)
    shown = lines(made, 79, 24)
    assert shown[3].startswith(f"❯   {mark} project")
    assert shown[-1] == keys


def test_a_filter_that_is_set_stands_out() -> None:
    made = view(item("Linter"), item("Style", type="reference_material"), theme="dark")
    made.items.next_type()
    made.items.next_level()
    apply(made)
    [row] = [line for line in made.frame(79, 24).lines if "^T" in line]
    assert "\x1b[38;5;117m · ^T project_knowledge\x1b[0m" in row
    assert "\x1b[38;5;117m · ^L project level\x1b[0m" in row
    assert made.items.shown == [item("Linter")]


def test_notes_that_are_not_in_force_are_hinted_at() -> None:
    shown = lines(view(item("Linter", "expired")), 79, 24)
    assert "  no note is in force" in shown
    assert "  ^S shows the others" in shown


def test_a_long_message_takes_more_rows_where_there_is_room() -> None:
    made = view(item("Linter"))
    made.message = "word " * 40
    assert [bool(line) for line in lines(made, 79, 24)][-5:] == [False, True, True, True, True]
    assert lines(made, 79, 8)[-2].startswith("word ")
    assert lines(made, 79, 8)[-3] == ""


def test_a_preview_takes_all_of_a_narrow_screen_and_half_of_a_wide_one() -> None:
    made = view(item("Linter"))
    made.preview, made.preview_title = Shown(), "Linter"
    assert lines(made, 139, 24)[0].startswith(" notes 1 ")
    assert lines(made, 140, 24)[1].endswith("│ first")
    made.mode = "preview"
    shown = lines(made, 139, 24)
    assert shown[:3] == ["Linter", "first", "second"]
    assert shown[-1] == "↑↓ scroll · e edits · p pins · m moves · d forgets · u undoes · ← goes back"


def test_the_id_of_a_change_lets_no_sequence_through() -> None:
    made = Change("c\x1b]52;c;aGk=\x07 1\x1b[31m", NOW, "agent")
    assert details(ChangeItem((("project", made),), "", False), NOW) == "by the agent · c 1"


def test_other_tabs_have_rows_of_their_own() -> None:
    made = view(change("created A", "moved B"), change("forgotten C", is_undone=True))
    made.items.use_tab("history")
    apply(made)
    shown = lines(made, 100, 24)
    assert shown[2].endswith("agent   created A; moved B")
    assert shown[3].endswith("agent   forgotten C  taken back")
    assert shown[-2] == "by the agent · a merge · c1"
    made = view(FileItem(Path("/a"), "MEWCODE.md", 0, "project, 3 bytes", ("it is cut",)))
    made.items.use_tab("instructions")
    apply(made)
    shown = lines(made, 100, 24)
    assert shown[2] == "❯   ! MEWCODE.md  project, 3 bytes"
    assert shown[-2] == "it is cut · project, 3 bytes"


def test_all_that_is_known_of_a_note_is_in_its_preview() -> None:
    known = item(
        "Linter", origin="agent", confidence=0.8, source=("s1/m4",), aliases=("ruff", "检查"), tags=("py",),
        supersedes=("old.md",), created="2026-01-02T10:00:00Z", valid_from="2026-01-01", problem="bad head",
        description="What checks the code.",
    )  # fmt: skip
    known = NoteItem(known.entry, "live", Use(3, NOW - 7_200), known.changed)
    shown = preview_lines(known, [Text("We use **ruff**.")], THEMES["no-color"], 78, NOW)
    assert shown == [
        "type        project_knowledge",
        "level       project",
        "state       in force",
        "age         updated 12 days ago · noted 2026-01-02",
        "holds       2026-01-01 to now",
        "origin      from the agent, 80% sure",
        "source      s1/m4",
        "use         used 3 times, last 2 h 0 min ago",
        "tags        py",
        "aliases     ruff, 检查",
        "supersedes  old.md",
        "file        Linter.md",
        "problem     bad head",
        "about       What checks the code.",
        "",
        "We use ruff.",
    ]


def test_a_change_is_shown_as_a_diff() -> None:
    shown = preview_lines(change("updated A"), [], THEMES["no-color"], 78, NOW)
    assert "project/a.md  +1 -1" in shown
    assert any(line.endswith("-old") for line in shown)
    assert any(line.endswith("+new") for line in shown)


@settings(max_examples=150, deadline=None)
@given(
    width=st.integers(1, 220),
    height=st.integers(1, 60),
    names=st.lists(WILD, max_size=8),
    typed=WILD,
    mode=st.sampled_from(["list", "preview", "confirm"]),
    tab=st.sampled_from(TABS),
    theme=st.sampled_from(["no-color", "dark", "light"]),
)
def test_it_fits_any_screen_whatever_the_notes_hold(
    width: int, height: int, names: list[str], typed: str, mode: Mode, tab: str, theme: ThemeName
) -> None:
    made = view(
        *(item(name, tags=(name,), line=name) for name in names),
        *(FileItem(None, name, 1, name, (name,)) for name in names),
        *(change(name) for name in names),
        theme=theme,
    )
    made.items.use_tab(tab)  # type: ignore[arg-type]
    made.filter.insert(typed)
    made.items.use_words(made.filter.text)
    made.mode, made.message, made.question = mode, typed, typed
    made.preview, made.preview_title, made.withheld = Shown(), "x", 3
    apply(made)
    frame = made.frame(width, height)
    assert len(frame.lines) == max(3, height)
    for line in frame.lines:
        bare = SGR.sub("", line)
        assert "\x1b" not in bare
        assert cell_width(bare) <= max(10, width)


@settings(max_examples=100, deadline=None)
@given(width=st.integers(20, 120), text=st.text(max_size=200), name=WILD)
def test_a_preview_fits_its_width_and_lets_no_sequence_through(width: int, text: str, name: str) -> None:
    shown = preview_lines(
        item(name, tags=(text,), problem=text), [Text(text, name), Text(text)], THEMES["dark"], width, NOW
    )
    for line in shown:
        bare = SGR.sub("", line)
        assert "\x1b" not in bare
        assert cell_width(bare) <= width
