"""write_file: new files, replaced files, and what is refused."""

from __future__ import annotations

import codecs
import errno
import os
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import ToolError
from mewcode.core.outcome import DiffView, TextView
from mewcode.tools import replace_file as replacing
from mewcode.tools.diff_view import diff_view
from mewcode.tools.read_file import ReadFileTool
from mewcode.tools.registry import decode_args
from mewcode.tools.write_file import WriteFileTool
from tests.unit.tools.file_session import answer, call, make_session, read_paths

TOOL = WriteFileTool()


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path)


def put(session, name, data):
    path = session.root / name
    path.write_bytes(data)
    answer(ReadFileTool(), session, path=name)
    return path


def test_a_new_file_with_its_folders(session):
    old = os.umask(0o027)
    try:
        outcome = call(TOOL, session, path="a/b/c.txt", content="x\ny")
    finally:
        os.umask(old)
    path = session.root / "a/b/c.txt"
    assert path.read_bytes() == b"x\ny"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE((session.root / "a").stat().st_mode) == 0o750
    assert outcome.content[0].text == "Created a/b/c.txt: 2 lines, 3 bytes."
    assert outcome.view == DiffView("a/b/c.txt", "", "x\ny", True)
    assert [entry.name for entry in path.parent.iterdir()] == ["c.txt"]


def test_what_was_written_may_be_written_again(session):
    answer(TOOL, session, path="f", content="one")
    assert answer(TOOL, session, path="f", content="two\n") == "Replaced f: 1 line, 4 bytes."


def test_an_existing_file_must_have_been_read_and_be_unchanged(session):
    (session.root / "f").write_bytes(b"theirs")
    with pytest.raises(ToolError, match="Read it first"):
        answer(TOOL, session, path="f", content="x")
    path = put(session, "f", b"seen")
    path.write_bytes(b"SEEN")
    with pytest.raises(ToolError, match="changed on disk"):
        answer(TOOL, session, path="f", content="x")
    assert path.read_bytes() == b"SEEN"


def test_an_empty_file_holds_nothing_to_lose(session):
    (session.root / "f").touch()
    answer(TOOL, session, path="f", content="x")
    assert (session.root / "f").read_bytes() == b"x"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\nb\n", "x\r\ny\n", b"x\ny\n"),
        (b"a\nb\n", "x\r\ny\r\n", b"x\r\ny\r\n"),
        (codecs.BOM_UTF8 + b"a\n", "x\n", codecs.BOM_UTF8 + b"x\n"),
        (codecs.BOM_UTF8 + b"a\n", "\ufeffx\n", codecs.BOM_UTF8 + b"x\n"),
        ("\ufeffa\r\n".encode("utf-16-le"), "中\n", "\ufeff中\r\n".encode("utf-16-le")),
    ],
)
def test_encoding_and_endings_of_an_existing_file_are_kept(session, before, content, after):
    path = put(session, "f", before)
    answer(TOOL, session, path="f", content=content)
    assert path.read_bytes() == after


def test_what_cannot_be_written_is_refused(session):
    (session.root / "sub").mkdir()
    os.mkfifo(session.root / "pipe")
    (session.root / "latin").write_bytes(b"caf\xe9 " * 10)
    (session.root / "plain").write_bytes(b"x")
    for path, words in [
        ("sub", "is a folder"),
        ("new/", "names a folder"),
        ("/", "names a folder"),
        ("pipe", "named pipe"),
        ("/dev/null", "device"),
        ("latin", "not valid UTF-8"),
        ("plain/x", "not a folder|is a file"),
        ("n" * 300, "name is too long"),
    ]:
        with pytest.raises(ToolError, match=words):
            answer(TOOL, session, path=path, content="x")
    with pytest.raises(ToolError, match="half a character"):
        answer(TOOL, session, path="f", content="a\ud800")
    with pytest.raises(ToolError, match="at most 10 MB"):
        answer(TOOL, session, path="f", content="x" * (10 * 1024 * 1024 + 1))
    assert not (session.root / "f").exists()


def test_a_full_disk_leaves_no_half_file(session, monkeypatch):
    def write(descriptor, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(replacing.os, "write", write)
    with pytest.raises(ToolError, match="no space left"):
        answer(TOOL, session, path="f", content="x")
    assert not list(session.root.iterdir())


def test_a_file_that_appears_meanwhile_is_not_written_over(session, monkeypatch):
    path = session.root / "f"
    real = os.fsync

    def fsync(descriptor):
        path.write_bytes(b"theirs")
        real(descriptor)

    monkeypatch.setattr(replacing.os, "fsync", fsync)
    with pytest.raises(ToolError, match="someone else meanwhile"):
        answer(TOOL, session, path="f", content="x")
    assert path.read_bytes() == b"theirs"


def test_a_file_system_without_links(session, monkeypatch):
    def link(*args, **kwargs):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(replacing.os, "link", link)
    answer(TOOL, session, path="f", content="x")
    assert [(entry.name, entry.read_bytes()) for entry in session.root.iterdir()] == [("f", b"x")]


def test_preview_writes_nothing(session):
    view = TOOL.preview(decode_args(TOOL, {"path": "n/f", "content": "x"}), session)
    assert view == DiffView("n/f", "", "x", True)
    assert not list(session.root.iterdir())


def test_accesses_are_resolved(session, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside").resolve()
    (session.root / "door").symlink_to(outside)
    assert read_paths(TOOL, session, path="door/n/x", content="") == [str(outside / "n/x")]
    (session.root / "dangling").symlink_to(outside / "new.txt")
    assert read_paths(TOOL, session, path="dangling", content="") == [str(outside / "new.txt")]
    answer(TOOL, session, path="dangling", content="through")
    assert (outside / "new.txt").read_text() == "through"
    assert (session.root / "dangling").is_symlink()


def test_very_long_changes_get_a_note_in_place_of_a_diff():
    assert diff_view("f", "x" * 5_000_000, "y") == TextView("f: 5,000,000 characters become 1")


@settings(max_examples=100)
@given(st.text())
def test_a_view_holds_nothing_that_a_terminal_obeys(text):
    view = diff_view(text, text, "")
    for shown in (view.path, view.before):
        assert all(char in "\n\t" or ord(char) > 0x1F for char in shown)
        assert not set(shown) & set("\x7f\x9b\u200b\u202e\u2066\ufeff")
