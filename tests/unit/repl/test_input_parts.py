"""Parts of the input: pastes, mentions, pictures, the search through history, characters."""

from __future__ import annotations

import asyncio
import base64
import io
import os
from pathlib import Path

import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.document import Document

from mewcode.core.errors import MewCodeError, ToolError
from mewcode.repl.clipboard_picture import read_clipboard_picture
from mewcode.repl.editor import edit_text, editor_command
from mewcode.repl.folder_list import list_folder
from mewcode.repl.graphemes import length_after, length_before
from mewcode.repl.history import HistorySearch, ProjectHistory
from mewcode.repl.mentions import Mention, find_mentions, has_mention, mention_at, mention_of
from mewcode.repl.paste_input import PasteInput
from mewcode.repl.pasted import Pasted, marker_after, marker_before
from mewcode.repl.pictures import LARGEST_SIDE, Pictures, dropped_pictures, fit_picture
from mewcode.repl.theme import THEMES
from mewcode.repl.turns import is_note, is_own
from mewcode.tools.picture import LARGEST_BYTES, picture_of

# --- pastes -----------------------------------------------------------------------------------------------


def test_a_short_paste_stays_a_long_one_is_folded() -> None:
    pasted = Pasted()
    assert pasted.add("a\r\nb\rc") == "a\nb\nc"
    assert pasted.add("x\n" * 15) == "x\n" * 15
    assert pasted.add("x\r\n" * 16) == "[paste 1: 16 lines]"
    assert pasted.add("y" * 5000) == "[paste 2: 1 line]"
    assert pasted.unfold("see [paste 1: 16 lines].") == "see " + "x\n" * 16 + "."
    assert pasted.unfold("[paste 9: 3 lines]") == "[paste 9: 3 lines]"
    assert pasted.fold("see " + "x\n" * 16) == "see [paste 1: 16 lines]"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet="a[]\r\n ", min_size=1), max_size=5), st.integers(0, 3))
def test_what_is_folded_is_sent_as_it_was(texts: list[str], times: int) -> None:
    pasted = Pasted()
    whole = "".join(text + "\n" * 16 * times for text in texts)
    shown = "".join(pasted.add(text + "\n" * 16 * times) for text in texts)
    if "\r" not in whole:
        assert pasted.unfold(shown) == whole
        assert pasted.unfold(pasted.fold(whole)) == whole


def test_a_marker_is_one_for_the_keys() -> None:
    marker = "[paste 12: 5,000 lines]"
    assert marker_before(f"see {marker}") == len(marker)
    assert marker_before(f"see {marker[:-1]}") == 0
    assert marker_after(f"{marker} and") == len(marker)
    assert marker_after(f" {marker}") == 0
    assert marker_before("[image 1: PNG, 3 KB]") == 20


def test_what_was_pasted_is_not_typed() -> None:
    pasted = Pasted()
    text = pasted.add("see @/etc/passwd") + " and @a.py"
    assert "passwd" not in pasted.typed(text)
    assert "@a.py" in pasted.typed(text)
    pasted.said(text)
    assert "passwd" in pasted.typed(text)


# --- mentions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("@a.py", Mention("a.py")),
        ("see @src/a.py, please", Mention("src/a.py")),
        ("(@src/a.py)", Mention("src/a.py")),
        ("@a.py#20-45", Mention("a.py", 20, 45)),
        ("@a.py#L20-L45", Mention("a.py", 20, 45)),
        ("@a.py#20", Mention("a.py", 20, 20)),
        ("@a.py#20-", Mention("a.py", 20, 0)),
        ('@"a b.txt"', Mention("a b.txt")),
        ("@'a b.txt'#3-4", Mention("a b.txt", 3, 4)),
        ("@a\\ b.txt", Mention("a b.txt")),
        ("看看@src/a.py里的错误", Mention("src/a.py")),
        ("看@说明.md。", Mention("说明.md")),
        ("@notes#1.md", Mention("notes#1.md")),
        ("@~/x.txt", Mention("~/x.txt")),
        ("@docs/", Mention("docs/")),
    ],
)
def test_mentions_are_read(text: str, reading: Mention) -> None:
    (readings,) = find_mentions(text)
    assert reading in readings


@pytest.mark.parametrize("text", ["me@example.org", "a @ b", "no mention", "pkg@1.2", "x/@scope/pkg", "@@"])
def test_what_is_no_mention(text: str) -> None:
    assert not has_mention(text)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab/. \"'#@1-，里\\", max_size=20).filter(lambda path: path.strip() == path and path))
def test_a_path_comes_back_from_its_mention(path: str) -> None:
    if '"' in path and "'" in path:
        return  # no quotes are left for it
    (readings, *_) = find_mentions(f"see {mention_of(path)} now")
    assert Mention(path) in readings


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab@/. \"'#1-，里\\\n", max_size=60))
def test_reading_mentions_never_fails(text: str) -> None:
    for readings in find_mentions(text):
        assert readings
        assert len(readings) <= 30
    mention_at(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see @src/a", (6, "src/a")),
        ("@", (1, "")),
        ('@"a b', (5, "a b")),
        ("看@输", (2, "输")),
        ("me@exa", None),
        ("@a.py and", None),
        ('@"a b" x', None),
    ],
)
def test_the_mention_at_the_cursor(text: str, found: tuple[int, str] | None) -> None:
    assert mention_at(text) == found


def test_a_folder_is_listed_where_it_is_spelt_out(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("sub/b.txt", "sub/.hidden", "Sun.txt"):
        (tmp_path / name).write_text("")
    assert list_folder("./s", tmp_path) == ["./sub/", "./Sun.txt"]
    assert list_folder("./sub/", tmp_path) == ["./sub/b.txt"]
    assert list_folder("./sub/.h", tmp_path) == ["./sub/.hidden"]
    assert list_folder(f"{tmp_path}/no/x", tmp_path) == []


# --- pictures ---------------------------------------------------------------------------------------------


def picture(width: int, height: int, form: str = "PNG", mode: str = "RGB", *, noise: bool = False) -> bytes:
    into = io.BytesIO()
    size = (width, height)
    image = (
        PIL.Image.frombytes("RGB", size, os.urandom(width * height * 3))
        if noise
        else PIL.Image.new(mode, size)
    )
    image.save(into, form)
    return into.getvalue()


def test_a_small_picture_is_sent_as_it_is() -> None:
    data = picture(20, 10)
    assert base64.b64decode(fit_picture(data, "a.png").data) == data


@pytest.mark.parametrize(("form", "mode"), [("PNG", "RGB"), ("PNG", "RGBA"), ("JPEG", "RGB"), ("GIF", "P")])
def test_a_large_picture_is_scaled(form: str, mode: str) -> None:
    image = fit_picture(picture(3000, 1000, form, mode), "a")
    scaled = picture_of(base64.b64decode(image.data))
    assert scaled is not None
    assert scaled.media_type == image.media_type
    assert max(scaled.width, scaled.height) == LARGEST_SIDE


def test_a_heavy_picture_is_made_lighter() -> None:
    image = fit_picture(picture(1500, 1500, noise=True), "a")
    assert len(base64.b64decode(image.data)) <= LARGEST_BYTES


def test_without_the_extra_a_large_picture_is_refused_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL.Image", None)
    with pytest.raises(ToolError, match="too large") as refused:
        fit_picture(picture(3000, 10), "a.png")
    assert "mewcode[images]" in refused.value.hint


def test_damage_and_other_files_are_refused() -> None:
    with pytest.raises(ToolError, match="no PNG"):
        fit_picture(b"text", "a.png")
    with pytest.raises(ToolError, match="cannot be read"):
        fit_picture(picture(3000, 10)[:60], "a.png")


def test_markers_stand_for_pictures() -> None:
    pictures = Pictures()
    first, second = pictures.add(picture(3, 3)), pictures.add(picture(4, 4))
    assert first == "[image 1: PNG, 1 KB]"
    assert [len(pictures.within(text)) for text in (f"{second} {first}", first, "[image 9: PNG, 1 KB]")] == [
        2,
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("/a/b.png", ["/a/b.png"]),
        ("'/a/my b.png'", ["/a/my b.png"]),
        ("/a/my\\ b.png ", ["/a/my b.png"]),
        ("/a/my b.png", ["/a/my b.png"]),
        ("file:///a/my%20b.png", ["/a/my b.png"]),
        ("/a/b.png /a/c.jpg", ["/a/b.png", "/a/c.jpg"]),
        ("see /a/b.png", []),
        ("/a/b.txt", []),
        ("b.png", []),
        ("/a/gone.png", []),
        ("'/a/b.png", []),
    ],
)
def test_dropped_paths(text: str, paths: list[str]) -> None:
    there = {"/a/b.png", "/a/my b.png", "/a/c.jpg"}
    assert dropped_pictures(text, there.__contains__) == paths


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_the_clipboard_is_asked_by_what_is_there(tmp_path: Path) -> None:
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "WAYLAND_DISPLAY": "wayland-0"}
    with pytest.raises(ToolError, match="cannot be read here"):
        asyncio.run(read_clipboard_picture({"PATH": str(tmp_path)}, "linux"))
    program(tmp_path, "wl-paste", "exit 1")
    with pytest.raises(ToolError, match="no picture"):
        asyncio.run(read_clipboard_picture(environ, "linux"))
    program(tmp_path, "xclip", "printf picture")
    assert asyncio.run(read_clipboard_picture(environ, "linux")) == b"picture"
    program(tmp_path, "osascript", "printf '«data PNGf89504E47»'")
    assert asyncio.run(read_clipboard_picture(environ, "darwin")) == b"\x89PNG"


# --- history ----------------------------------------------------------------------------------------------


def test_the_search_through_history() -> None:
    search = HistorySearch.over(["Fix one", "write", "fix two", "Fix one"], Document("draft", 2))
    assert search.document.text == "draft"
    search.type("f")
    search.type("ix")
    assert search.match == "Fix one"
    search.older()
    assert search.match == "fix two"
    search.older()
    assert search.match == "fix two"
    search.newer()
    assert search.document == Document("Fix one", 3)
    search.type("z")
    assert search.match is None
    assert "nothing found" in search.line(THEMES["no-color"], 80)
    search.erase()
    assert search.match == "Fix one"
    for _ in "fix":
        search.erase()
    assert search.document == search.draft
    search.type("F")
    assert [search.match, search.older(), search.match] == ["Fix one", None, "Fix one"]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(alphabet="abA输", max_size=4), max_size=20),
    st.text(alphabet="abA输", min_size=1, max_size=3),
)
def test_the_search_sees_every_match_once(entries: list[str], query: str) -> None:
    search = HistorySearch.over(entries, Document(""))
    search.type(query)
    seen = []
    while search.match is not None and search.match not in seen:
        seen.append(search.match)
        search.older()
    exact = query != query.lower()
    wanted = [
        entry for entry in dict.fromkeys(reversed(entries)) if query in (entry if exact else entry.lower())
    ]
    assert seen == wanted


def test_history_lasts_and_leaves_out_what_is_huge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    history = ProjectHistory(tmp_path)
    history.store_string("one\n两")
    history.store_string("x" * 300_000)
    assert list(ProjectHistory(tmp_path).load_history_strings()) == ["one\n两"]
    assert list(ProjectHistory(tmp_path / "other").load_history_strings()) == []


# --- characters -------------------------------------------------------------------------------------------

CHARACTERS = ["a", "好", "é", "e\u0301", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪", "❤️", "1️⃣", "\t", "한"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(CHARACTERS), min_size=1, max_size=8))
def test_a_line_is_walked_by_visible_characters(parts: list[str]) -> None:
    line = "".join(parts)
    steps, rest = [], line
    while rest:
        steps.append(rest[: length_after(rest)])
        rest = rest[length_after(rest) :]
    assert steps == parts
    rest = line
    for part in reversed(parts):
        assert rest[-length_before(rest) :] == part
        rest = rest[: -length_before(rest)]
    assert rest == ""


# --- editor, own inputs, pastes without an end ------------------------------------------------------------


def test_the_editor(tmp_path: Path) -> None:
    program(tmp_path, "add", 'printf "more 更多\\n" >> "$2"; test "$1" = -w')
    environ = {"PATH": "/usr/bin:/bin", "VISUAL": f"{tmp_path}/add -w", "EDITOR": "no"}
    assert asyncio.run(edit_text("text\n", environ)) == "text\nmore 更多"
    with pytest.raises(MewCodeError, match="code 1"):
        asyncio.run(edit_text("text", environ | {"VISUAL": f"{tmp_path}/add -x"}))
    with pytest.raises(MewCodeError, match="did not start"):
        asyncio.run(edit_text("text", environ | {"VISUAL": str(tmp_path / "gone")}))
    with pytest.raises(MewCodeError, match="no editor"):
        editor_command({"PATH": str(tmp_path)})
    with pytest.raises(MewCodeError, match="makes no sense"):
        editor_command({"EDITOR": "'vi"})


@pytest.mark.parametrize(
    ("text", "note", "own"),
    [
        ("# remember", True, True),
        ("# Title\nbody", False, False),
        ("#42 is broken", False, False),
        ("!ls", False, True),
        ("hello", False, False),
    ],
)
def test_what_is_for_neither_the_model_nor_the_commands(text: str, note: bool, own: bool) -> None:
    assert (is_note(text), is_own(text)) == (note, own)


def test_a_paste_without_its_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mewcode.repl.paste_input.PATIENCE", 0.01)
    leader, follower = os.openpty()
    keys: list[str] = []

    async def read() -> None:
        done = asyncio.Event()
        with os.fdopen(follower, encoding="utf-8") as stdin:
            terminal = PasteInput(stdin)

            def ready() -> None:
                keys.extend(press.data for press in terminal.read_keys())
                if keys:
                    done.set()

            with terminal.raw_mode(), terminal.attach(ready):
                os.write(leader, b"\x1b[200~two\nlines")
                async with asyncio.timeout(20):
                    await done.wait()
            terminal.close()

    asyncio.run(read())
    os.close(leader)
    assert keys == ["two\nlines"]
