"""edit_file on real files: bytes, mode, links, and what is refused."""

from __future__ import annotations

import asyncio
import codecs
import errno
import os
import stat
import threading

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mewcode.core.access import WriteAccess
from mewcode.core.errors import ToolError
from mewcode.core.outcome import DiffView
from mewcode.tools import replace_file as replacing
from mewcode.tools.edit_file import EditFileTool
from mewcode.tools.read_file import ReadFileTool
from mewcode.tools.registry import decode_args
from tests.unit.tools.file_session import answer, call, make_context, make_session, read_paths

TOOL = EditFileTool()
READ = ReadFileTool()


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path)


def put(session, name, data):
    path = session.root / name
    path.write_bytes(data)
    answer(READ, session, path=name)
    return path


def one(old, new, **more):
    return [{"old_text": old, "new_text": new, **more}]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nold\nb\n", b"a\nnew\nb\n"),
        (b"a\r\nold\r\nb", b"a\r\nnew\r\nb"),
        (b"a\nold\r\nb\r", b"a\nnew\r\nb\r"),
        (codecs.BOM_UTF8 + "é old\n".encode(), codecs.BOM_UTF8 + "é new\n".encode()),
        (
            codecs.BOM_UTF16_LE + "中 old\r\n".encode("utf-16-le"),
            codecs.BOM_UTF16_LE + "中 new\r\n".encode("utf-16-le"),
        ),
        (
            codecs.BOM_UTF16_BE + "x old".encode("utf-16-be"),
            codecs.BOM_UTF16_BE + "x new".encode("utf-16-be"),
        ),
    ],
)
def test_every_other_byte_stays(session, before, after):
    path = put(session, "f.txt", before)
    answer(TOOL, session, path="f.txt", edits=one("old", "new"))
    assert path.read_bytes() == after


def test_edits_are_applied_in_order_and_together(session):
    path = put(session, "f.txt", b"one\ntwo\n")
    said = answer(TOOL, session, path="f.txt", edits=one("one", "uno") + one("uno\ntwo", "UNO\nDUE"))
    assert path.read_bytes() == b"UNO\nDUE\n"
    assert "edit 2 at line 1" in said


def test_none_is_made_where_one_fails(session):
    path = put(session, "f.txt", b"one\ntwo\n")
    with pytest.raises(ToolError, match=r"Edit 2 of 2.*None of the edits"):
        answer(TOOL, session, path="f.txt", edits=one("one", "uno") + one("absent", "x"))
    assert path.read_bytes() == b"one\ntwo\n"


def test_an_edit_after_an_edit_needs_no_new_read(session):
    path = put(session, "f.txt", b"a\n")
    answer(TOOL, session, path="f.txt", edits=one("a", "b"))
    answer(TOOL, session, path="f.txt", edits=one("b", "c"))
    assert path.read_bytes() == b"c\n"


def test_a_file_must_have_been_read(session):
    (session.root / "f.txt").write_bytes(b"a\n")
    with pytest.raises(ToolError, match="Read it first"):
        answer(TOOL, session, path="f.txt", edits=one("a", "b"))


def test_a_file_that_changed_since_is_refused(session):
    path = put(session, "f.txt", b"a\n")
    status = path.stat()
    path.write_bytes(b"b\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # same size, same time
    with pytest.raises(ToolError, match="changed on disk"):
        answer(TOOL, session, path="f.txt", edits=one("b", "c"))
    assert path.read_bytes() == b"b\n"


def test_a_file_that_was_merely_touched_is_edited(session):
    path = put(session, "f.txt", b"a\n")
    os.utime(path, (1, 1))
    answer(TOOL, session, path="f.txt", edits=one("a", "b"))
    assert path.read_bytes() == b"b\n"


def test_mode_bits_stay(session):
    path = put(session, "run.sh", b"echo a\n")
    path.chmod(0o751)
    answer(TOOL, session, path="run.sh", edits=one("a", "b"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o751


def test_a_symlink_is_written_through(session):
    target = session.root / "target.txt"
    target.write_bytes(b"a\n")
    link = session.root / "link.txt"
    link.symlink_to("target.txt")
    answer(READ, session, path="link.txt")
    answer(TOOL, session, path="link.txt", edits=one("a", "b"))
    assert link.is_symlink()
    assert target.read_bytes() == b"b\n"


def test_hard_links_stay_one_file(session):
    path = put(session, "f.txt", b"long line\n")
    other = session.root / "other.txt"
    os.link(path, other)
    answer(TOOL, session, path="f.txt", edits=one("long line", "s"))
    assert other.read_bytes() == b"s\n"
    assert other.stat().st_ino == path.stat().st_ino
    assert sorted(entry.name for entry in session.root.iterdir()) == ["f.txt", "other.txt"]


def test_extended_attributes_stay(session, monkeypatch):
    # Kept in memory, by inode: not every system and file system has them.
    kept = {}

    def of(descriptor):
        return kept.setdefault(os.fstat(descriptor).st_ino, {})

    monkeypatch.setattr(os, "listxattr", lambda descriptor: list(of(descriptor)), raising=False)
    monkeypatch.setattr(os, "getxattr", lambda descriptor, key: of(descriptor)[key], raising=False)
    monkeypatch.setattr(os, "setxattr", lambda fd, key, value: of(fd).update({key: value}), raising=False)
    path = put(session, "f.txt", b"a\n")
    kept[path.stat().st_ino] = {"user.note": b"kept"}
    before = path.stat().st_ino
    answer(TOOL, session, path="f.txt", edits=one("a", "b"))
    assert path.stat().st_ino != before
    assert kept[path.stat().st_ino] == {"user.note": b"kept"}


def fail_with(code):
    def fail(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("linked", [False, True])
def test_a_full_disk_leaves_the_old_file_whole(session, monkeypatch, linked):
    path = put(session, "f.txt", b"old text\n")
    if linked:
        os.link(path, session.root / "second.txt")
    real = os.write
    written = []

    def write(descriptor, data):
        """Room for two more bytes, then none; what was taken back may be written again."""
        if bytes(data).startswith(b"new"):
            written.append(real(descriptor, bytes(data)[:2]))
            monkeypatch.setattr(replacing.os, "write", fail_with(errno.ENOSPC) if not linked else second)
            return written[-1]
        return real(descriptor, data)

    def second(descriptor, data):
        monkeypatch.setattr(replacing.os, "write", real)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(replacing.os, "write", write)
    with pytest.raises(ToolError, match="no space left"):
        answer(TOOL, session, path="f.txt", edits=one("old text", "new text that is longer"))
    assert written
    assert path.read_bytes() == b"old text\n"
    assert not list(session.root.glob(".*"))


def test_a_file_changed_at_the_last_moment_is_not_written_over(session, monkeypatch):
    path = put(session, "f.txt", b"a\n")
    real = os.fsync

    def fsync(descriptor):
        path.write_bytes(b"theirs\n")
        real(descriptor)

    monkeypatch.setattr(replacing.os, "fsync", fsync)
    with pytest.raises(ToolError, match="just now"):
        answer(TOOL, session, path="f.txt", edits=one("a", "b"))
    assert path.read_bytes() == b"theirs\n"
    assert not list(session.root.glob(".*"))


def test_a_folder_that_may_not_be_written_gets_the_file_in_place(session, monkeypatch):
    path = put(session, "f.txt", b"a\n")
    inode = path.stat().st_ino
    real = os.access
    monkeypatch.setattr(
        replacing.os, "access", lambda name, mode, **more: name != "." and real(name, mode, **more)
    )
    answer(TOOL, session, path="f.txt", edits=one("a", "longer than before"))
    assert path.read_bytes() == b"longer than before\n"
    assert path.stat().st_ino == inode


def test_a_read_only_file_is_left(session, monkeypatch):
    path = put(session, "f.txt", b"a\n")
    monkeypatch.setattr(replacing.os, "access", lambda name, mode, **more: False)
    with pytest.raises(ToolError, match="read-only"):
        answer(TOOL, session, path="f.txt", edits=one("a", "b"))
    assert path.read_bytes() == b"a\n"


def test_what_is_no_text_is_refused(session):
    for name, data, words in [
        ("latin.txt", "caf\xe9 old\n".encode("latin-1") * 20, "not valid UTF-8"),
        ("half.txt", codecs.BOM_UTF16_LE + b"a\0b", "not valid UTF-16"),
    ]:
        path = put(session, name, data)
        with pytest.raises(ToolError, match=words):
            answer(TOOL, session, path=name, edits=one("old", "new"))
        assert path.read_bytes() == data
    (session.root / "binary").write_bytes(b"\x00\x01old")
    with pytest.raises(ToolError, match="binary"):
        answer(TOOL, session, path="binary", edits=one("old", "new"))


def test_missing_file_folder_and_pipe(session):
    (session.root / "config.yaml").write_text("a")
    (session.root / "sub").mkdir()
    os.mkfifo(session.root / "pipe")
    with pytest.raises(ToolError, match=r"Similar names there: config\.yaml"):
        answer(TOOL, session, path="confg.yaml", edits=one("a", "b"))
    with pytest.raises(ToolError, match="is a folder"):
        answer(TOOL, session, path="sub", edits=one("a", "b"))
    with pytest.raises(ToolError, match="named pipe"):
        answer(TOOL, session, path="pipe", edits=one("a", "b"))


def test_preview_shows_the_change_and_writes_nothing(session):
    path = put(session, "f.txt", b"a\r\nb\r\n")
    view = TOOL.preview(decode_args(TOOL, {"path": "f.txt", "edits": one("b", "c")}), session)
    assert view == DiffView("f.txt", "a\nb\n", "a\nc\n")
    assert path.read_bytes() == b"a\r\nb\r\n"
    with pytest.raises(ToolError, match="not found"):
        TOOL.preview(decode_args(TOOL, {"path": "f.txt", "edits": one("zzz", "c")}), session)


def test_a_preview_hides_nothing(session):
    put(session, "f.txt", b"a\n")
    view = TOOL.preview(decode_args(TOOL, {"path": "f.txt", "edits": one("a", "\x1b[8m\u202ex")}), session)
    assert view.after == "\\x1b[8m\\u202ex\n"


def test_the_outcome_keeps_model_and_person_apart(session):
    put(session, "f.txt", b"a\nb\n")
    outcome = call(TOOL, session, path="f.txt", edits=one("b", "c"))
    assert outcome.content[0].text == "Edited f.txt: line 2."
    assert outcome.view == DiffView("f.txt", "a\nb\n", "a\nc\n")


def test_accesses_are_resolved(session, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside").resolve()
    (session.root / "door").symlink_to(outside)
    args = {"edits": one("a", "b")}
    assert read_paths(TOOL, session, path="door/x.txt", **args) == [str(outside / "x.txt")]
    assert read_paths(TOOL, session, path="../x", **args) == [str(session.root.parent / "x")]
    assert read_paths(TOOL, session, path="~/x", **args) == [
        os.path.join(os.path.realpath(os.path.expanduser("~")), "x")
    ]
    decoded = decode_args(TOOL, {"path": "f", **args})
    assert TOOL.accesses(decoded, session) == (WriteAccess(str(session.root / "f")),)


@pytest.mark.parametrize("path", ["a\0b", "~nobody-of-this-name/x", "", "loop/x", "x" * 5000])
def test_paths_that_cannot_be(session, path):
    (session.root / "loop").symlink_to("loop")
    args = decode_args(TOOL, {"path": path, "edits": one("a", "b")})
    assert TOOL.accesses(args, session)
    assert isinstance(TOOL.summary(args, session), str)
    with pytest.raises(ToolError):
        asyncio.run(TOOL.run(args, make_context(session)))


def test_a_symlink_put_in_the_way_after_the_judgement_is_not_followed(session, tmp_path_factory, monkeypatch):
    """The path is resolved, then a folder on it becomes a symlink: nothing outside is touched."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "f.txt").write_bytes(b"a\n")
    (session.root / "sub").mkdir()
    put(session, "sub/f.txt", b"a\n")
    real = type(session).resolve

    def resolve(self, path):
        found = real(self, path)
        if not (session.root / "sub").is_symlink():
            (session.root / "sub").rename(session.root / "moved")
            (session.root / "sub").symlink_to(outside)
        return found

    monkeypatch.setattr(type(session), "resolve", resolve)
    with pytest.raises(ToolError, match="symbolic link"):
        answer(TOOL, session, path="sub/f.txt", edits=one("a", "b"))
    assert (outside / "f.txt").read_bytes() == b"a\n"
    assert (session.root / "moved" / "f.txt").read_bytes() == b"a\n"


def test_cancelled_before_it_writes_it_writes_nothing(session, monkeypatch):
    path = put(session, "f.txt", b"a\n")
    args = decode_args(TOOL, {"path": "f.txt", "edits": one("a", "b")})
    inside, go_on = threading.Event(), threading.Event()
    real = session.reads.check_data

    class Slow(type(session.reads)):
        def check_data(self, *given):
            real(*given)
            inside.set()
            assert go_on.wait(10)

    session.reads = Slow()

    async def scenario():
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(TOOL.run(args, make_context(session)))
        await loop.run_in_executor(None, inside.wait, 10)
        task.cancel()
        loop.call_soon(go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert path.read_bytes() == b"a\n"


texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=20)
encodings = st.sampled_from(
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    pieces=st.lists(st.one_of(texts, st.sampled_from(["\r\n", "\n", "\r"])), max_size=12),
    old=st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=4),
    new=st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=4),
    encoding=encodings,
)
def test_bytes_outside_an_edit_are_unchanged(tmp_path_factory, pieces, old, new, encoding):
    mark, codec = encoding
    middle = len(pieces) // 2
    before, after = "".join(pieces[:middle]), "".join(pieces[middle:])
    text = before + old + after
    assume(old != new and text.find(old) == text.rfind(old) == len(before))
    assume(codec != "utf-8" or ("\0" not in text and not (mark == b"" and text.startswith("\ufeff"))))
    session = make_session(tmp_path_factory.mktemp("edit"))
    path = put(session, "f", mark + text.encode(codec))
    answer(TOOL, session, path="f", edits=one(old, new))
    assert path.read_bytes() == mark + (before + new + after).encode(codec)


def test_a_file_that_cannot_even_be_put_back_leaves_its_copy(session, monkeypatch):
    path = put(session, "f.txt", b"old text\n")
    os.link(path, session.root / "second.txt")
    monkeypatch.setattr(replacing, "_overwrite", fail_with(errno.EIO))
    with pytest.raises(ToolError, match="its old text is in") as caught:
        answer(TOOL, session, path="f.txt", edits=one("old text", "new text"))
    kept = caught.value.message.rsplit(" ", 1)[1].removesuffix(".")
    with open(kept, "rb") as stream:
        assert stream.read() == b"old text\n"
