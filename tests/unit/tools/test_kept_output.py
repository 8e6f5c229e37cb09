"""Output that the model reads in part is kept whole, and can be paged through."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from file_session import answer, make_session, read_paths
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_support import with_shell

from mewcode.agent.offload import put_aside
from mewcode.sessions.archive import SessionWriter
from mewcode.tools import bounded_output
from mewcode.tools.bash_output import BashOutputArgs, BashOutputTool
from mewcode.tools.bounded_output import OUTPUT_LIMIT, BoundedOutput, clean_bytes
from mewcode.tools.grep import GrepTool
from mewcode.tools.read_file import ReadFileTool
from mewcode.tools.text_page import PAGE_BYTES

parts = st.sampled_from(
    [
        b"line\n",
        b"\n",
        b"x" * 50,
        "中文\n".encode(),
        b"\xff",
        b"\x1b[31m",
        b"\x1b]0;t\x07",
        b"\x1b]0",
        b"1%\r",
    ]
)
floods = st.lists(parts | st.binary(max_size=5), max_size=400).map(b"".join)


def bounded(data: bytes, limit: int, kept: int) -> BoundedOutput:
    output = BoundedOutput(limit, kept)
    for start in range(0, len(data), 97):
        output.feed(data[start : start + 97])
    return output


@settings(max_examples=200, deadline=None)
@given(floods, st.integers(1, 300))
def test_the_whole_is_cleaned_as_if_at_once(data, at_once):
    before, bounded_output._CLEANED_AT_ONCE = bounded_output._CLEANED_AT_ONCE, at_once
    try:
        assert bounded(data, 120, 100_000).whole() == clean_bytes(data)
    finally:
        bounded_output._CLEANED_AT_ONCE = before


@settings(max_examples=200, deadline=None)
@given(floods, st.integers(120, 700), st.integers(0, 40_000))
def test_what_is_kept_changes_nothing_of_what_is_shown(data, limit, kept):
    output = bounded(data, limit, kept)
    assert output.text() == bounded(data, limit, 0).text()
    shown = output.shown()
    assert shown.text == output.text()
    if shown.note:
        assert shown.text[shown.said_at :] == " ...]\n" + shown.tail


def test_more_than_is_kept_has_a_hole_that_is_told_of():
    data = b"".join(b"line %05d\n" % number for number in range(10_000))
    text = bounded(data, 200, 20_000).whole()
    assert text.startswith("line 00000\n")
    assert text.endswith("line 09999\n")
    head, _, rest = text.partition("[... ")
    tail = rest.partition(" left out ...]\n")[2]
    assert 19_000 < len(head) + len(tail) <= 20_000
    assert f"{10_000 - head.count(chr(10)) - tail.count(chr(10)):,} lines" in rest


@pytest.fixture
def writer(tmp_path):
    writer = SessionWriter.create(
        tmp_path / "ws" / ".mewcode" / "sessions", cwd="/", provider="p", model="m", mode="default"
    )
    yield writer
    writer.close()


def test_a_command_s_output_is_kept_whole_beside_what_is_shown(tmp_path, writer):
    async def scenario(shell):
        outcome = await shell.run("echo begin; seq 100000; echo 中文; exit 3")
        text = outcome.content[0].text
        assert len(text) <= OUTPUT_LIMIT + 20
        assert outcome.whole.text == "".join(["begin\n", *(f"{n}\n" for n in range(1, 100_001)), "中文\n"])
        shown = put_aside(outcome, "c1", writer.keep_result)
        (note,) = [line for line in shown.content[0].text.splitlines() if line.startswith("[... ")]
        path = writer.folder / "tool-results" / "c1"
        assert f"The whole text is in {path}: read_file" in note
        assert shown.content[0].text.endswith("中文\nexit code 3")
        assert path.read_text(encoding="utf-8") == outcome.whole.text
        assert shown.view == outcome.view
        short = await shell.run("seq 1000")
        assert short.whole is None
        writer.flush()

    with_shell(tmp_path, scenario)


def test_a_background_process_s_news_are_kept_too(tmp_path):
    async def scenario(shell):
        await shell.run("seq 20000", background=True)
        await shell.state.background["bg1"].wait_ended()
        outcome = await BashOutputTool().run(BashOutputArgs("bg1"), shell.context)
        assert outcome.whole.text == "".join(f"{n}\n" for n in range(1, 20_001))
        text, at = outcome.content[0].text, outcome.whole.said_at
        assert text[at:].startswith(" ...]\n")
        assert text[:at].splitlines()[-1].startswith("[... ")

    with_shell(tmp_path, scenario)


def test_a_kept_result_is_paged_through_without_being_put_aside_again(tmp_path, writer):
    whole = "".join(f"{number} 一行文字 {'x' * (number % 90)}\n" for number in range(1, 5_001))
    path = writer.keep_result("c1", whole)
    session = make_session(tmp_path / "ws")
    assert ReadFileTool.pages
    read, offset = [], 1
    while True:
        page = answer(ReadFileTool(), session, path=str(path), offset=offset)
        assert len(page.encode()) <= PAGE_BYTES + 500
        lines = [line.partition("\t")[2] for line in page.splitlines() if "\t" in line]
        read += lines
        offset += len(lines)
        if "go on with offset=" not in page:
            break
        assert f"go on with offset={offset}]" in page
    assert "".join(line + "\n" for line in read) == whole
    assert "4321 一行文字" in answer(GrepTool(), session, pattern="^4321 ", path=str(path))
    assert "4321 一行文字" in answer(GrepTool(), session, pattern="^4321 ", path=str(path.parent))


def test_a_result_that_is_not_where_it_was_is_found_in_this_session(tmp_path, writer):
    path = writer.keep_result("c1", "text\n")
    gone = tmp_path / "elsewhere" / "sessions" / "20260101-000000-0000" / "tool-results" / "c1"
    session = make_session(tmp_path / "ws", results=lambda: writer.folder / "tool-results")
    assert read_paths(ReadFileTool(), session, path=str(gone)) == [str(path.resolve())]
    assert "text" in answer(ReadFileTool(), session, path=str(gone))
    for other in (gone.with_name("c2"), gone.parent / ".." / "c1", tmp_path / "tool-results" / "c1"):
        assert read_paths(ReadFileTool(), session, path=str(other)) == [os.path.realpath(other)]
    gone.parent.mkdir(parents=True)
    gone.write_text("its own\n")
    assert "its own" in answer(ReadFileTool(), session, path=str(gone))
    gone.unlink()
    path.unlink()
    Path(path).symlink_to(tmp_path / "secret")
    (tmp_path / "secret").write_text("secret")
    assert read_paths(ReadFileTool(), session, path=str(gone)) == [str((tmp_path / "secret").resolve())]
