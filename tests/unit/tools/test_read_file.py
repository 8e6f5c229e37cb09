"""read_file: pages, encodings, pictures, and what is refused."""

from __future__ import annotations

import asyncio
import base64
import codecs
import os
import re
import stat
import struct
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import ToolError
from mewcode.core.message import Image
from mewcode.tools import read_file as reading
from mewcode.tools.in_thread import Stop, Stopped
from mewcode.tools.picture import Picture, picture_of
from mewcode.tools.read_file import ReadFileTool
from mewcode.tools.registry import decode_args
from mewcode.tools.text_page import LINE_WIDTH, page_of, stream_page
from tests.unit.tools.file_session import answer, call, make_context, make_session, read_paths

TOOL = ReadFileTool()


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path)


def read(session, data, **args):
    (session.root / "f").write_bytes(data)
    return answer(TOOL, session, path="f", **args)


def lines_of(said):
    """The file's lines in an answer, without numbers and notes."""
    return [match[1] for line in said.split("\n") if (match := re.fullmatch(r" *\d+\t(.*)", line, re.DOTALL))]


def test_lines_are_numbered(session):
    assert read(session, b"a\n\nc\n") == "     1\ta\n     2\t\n     3\tc"


def test_a_page_says_how_to_go_on(session):
    data = b"".join(b"line %d\n" % n for n in range(1, 31))
    said = read(session, data, offset=11, limit=10)
    assert said.startswith("    11\tline 11\n")
    assert said.endswith("    20\tline 20\n[lines 11-20 of 30; go on with offset=21]")
    assert "go on" not in read(session, data, offset=21)


def test_a_page_is_bounded_in_lines_and_bytes(session):
    assert "[lines 1-2000 of 2,001; go on with offset=2001]" in read(session, b"x\n" * 2001)
    said = read(session, b"y" * 999 + b"\n" + (b"y" * 999 + b"\n") * 500)
    assert len(said) < 52_000
    assert "go on with offset=50]" in said


def test_long_lines_are_cut_with_a_mark(session):
    said = read(session, ("é" * 5000 + "\nnext\n").encode())
    assert "é" * LINE_WIDTH + "… [3,000 more characters in this line]\n     2\tnext" in said


def test_the_end_without_a_line_end_is_told(session):
    assert read(session, b"a\nb").endswith("     2\tb\n[the last line has no line end]")


def test_an_empty_file_and_an_offset_past_the_end(session):
    assert read(session, b"") == "f is empty."
    with pytest.raises(ToolError, match=r"no line 9\. The file has 2 lines"):
        read(session, b"a\nb\n", offset=9)


@pytest.mark.parametrize(
    ("data", "note", "lines"),
    [
        (b"a\r\nb\r\n", r"lines end in \r\n", ["a", "b"]),
        (b"a\r\nb\n", r"mixed: 1 of 2", ["a", "b"]),
        (b"a\rb", r"lines end in \r]", ["a", "b"]),
        (codecs.BOM_UTF8 + "中文\n".encode(), "UTF-8 with byte order mark", ["中文"]),
        (
            codecs.BOM_UTF16_LE + "中\r\n文".encode("utf-16-le"),
            "UTF-16-LE with byte order mark",
            ["中", "文"],
        ),
        (codecs.BOM_UTF16_BE + "a\n".encode("utf-16-be"), "UTF-16-BE with byte order mark", ["a"]),
        (codecs.BOM_UTF32_LE + "a\n".encode("utf-32-le"), "UTF-32-LE with byte order mark", ["a"]),
        (codecs.BOM_UTF16_LE + b"a\0b", "damaged UTF-16-LE", ["a\ufffd"]),
    ],
)
def test_endings_and_encodings_are_noted(session, data, note, lines):
    said = read(session, data)
    assert note in said.split("\n")[0]
    assert lines_of(said) == lines


def test_other_encodings_are_guessed_and_said_to_be(session):
    text = "這是一個用於測試編碼的文件，內容應該能夠正確顯示。\n" * 20
    said = read(session, text.encode("big5"))
    assert "not UTF-8" in said.split("\n")[0]
    assert "這是一個用於測試編碼的文件" in said
    assert "not UTF-8" in read(session, b"\xff\xfa\x80 x\n")


def test_control_characters_go_through_but_nul(session):
    assert "a\x1b[31mb\x07␀" in read(session, b"x" * 9000 + b"\na\x1b[31mb\x07\0\n", offset=2)


def test_what_cannot_be_read_is_refused_with_a_reason(session):
    (session.root / "sub").mkdir()
    os.mkfifo(session.root / "pipe")
    (session.root / "doc.pdf").write_bytes(b"%PDF-1.7\n\0\0")
    (session.root / "prog").write_bytes(b"\x7fELF\0\0")
    for path, words in [
        ("sub", "is a folder. Use list_dir"),
        ("/", "is a folder"),
        ("pipe", "named pipe"),
        ("/dev/zero", "device"),
        ("doc.pdf", "is a PDF"),
        ("prog", r"binary \(6 bytes\)"),
        ("nothing/at/all", r"has no such folder"),
        ("prgo", r"Similar names there: prog\."),
        ("prog/x", "not a folder|no such folder"),
    ]:
        with pytest.raises(ToolError, match=words):
            answer(TOOL, session, path=path)


def test_names_outside_the_workspace_are_not_listed(session, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("x")
    with pytest.raises(ToolError) as caught:
        answer(TOOL, session, path=str(outside / "secret.tx"))
    assert "Similar" not in str(caught.value)


def test_a_read_is_noted(session):
    read(session, b"a\n")
    path = session.root / "f"
    session.reads.check_data(path, path.stat(), b"a\n")
    with pytest.raises(ToolError, match="changed on disk"):
        session.reads.check_data(path, path.stat(), b"b\n")


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x06\0\0\0"


def test_pictures(session):
    session.vision = True
    (session.root / "p.png").write_bytes(PNG)
    outcome = call(TOOL, session, path="p.png")
    assert outcome.content[1] == Image("image/png", base64.b64encode(PNG).decode())
    assert outcome.view.summary == "PNG picture, 640 x 480 pixels"


def test_pictures_are_refused_with_words(session):
    (session.root / "p.png").write_bytes(PNG)
    with pytest.raises(ToolError, match="takes no pictures"):
        answer(TOOL, session, path="p.png")
    session.vision = True
    (session.root / "big.png").write_bytes(PNG + b"\0" * 5_000_000)
    with pytest.raises(ToolError, match="Make a smaller copy"):
        answer(TOOL, session, path="big.png")
    (session.root / "wide.png").write_bytes(PNG[:16] + struct.pack(">II", 9000, 10) + PNG[24:])
    with pytest.raises(ToolError, match="at most 8,000"):
        answer(TOOL, session, path="wide.png")


@pytest.mark.parametrize(
    ("data", "kind", "width", "height"),
    [
        (b"GIF89a\x10\0\x20\0", "gif", 16, 32),
        (b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\0\x20\0\x10", "jpeg", 16, 32),
        (b"\xff\xd8\xff\xe0\xff", "jpeg", 0, 0),
        (b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x0f\0\0\x1f\0\0", "webp", 16, 32),
        (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + (15 | 31 << 14).to_bytes(4, "little"), "webp", 16, 32),
        (b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + b"\x10\0\x20\0", "webp", 16, 32),
    ],
)
def test_kinds_of_pictures(data, kind, width, height):
    assert picture_of(data) == Picture(f"image/{kind}", width, height)


@given(st.binary(max_size=60))
def test_no_bytes_break_the_look_at_a_picture(data):
    for head in (b"", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8L", b"GIF89a"):
        picture_of(head + data)


def test_a_huge_file_is_read_within_bounds(session):
    path = session.root / "huge"
    with path.open("wb") as stream:
        stream.write(b"x" * 9000 + b"\nsecond\n")
        stream.truncate(3 << 30)  # sparse: one line of three gigabytes follows
        stream.seek(0, os.SEEK_END)
    tracemalloc.start()
    said = answer(TOOL, session, path="huge", limit=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "     2\tsecond\n[lines 1-2; about 3,07" in said
    assert peak < 40 << 20
    session.reads.check_data(path, path.stat(), b"")  # too large to hash: known by size and time


def test_a_large_file_gives_the_same_pages_as_a_small_one(session, monkeypatch):
    data = b"".join(b"line %d\r\n" % n for n in range(1, 5001)) + b"end"
    small = read(session, data, offset=4990)
    monkeypatch.setattr(reading, "_WHOLE", 100)
    monkeypatch.setattr(reading, "_CHUNK", 777)
    assert lines_of(read(session, data, offset=4990)) == lines_of(small)
    wide = codecs.BOM_UTF16_LE + data.decode().encode("utf-16-le")
    assert lines_of(read(session, wide, offset=4990)) == lines_of(small)
    with pytest.raises(ToolError, match="no line 6,000"):
        read(session, data, offset=6000)


def test_a_stopped_read_ends():
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        stream_page(iter([b"x"]), "utf-8", 1, 10, stop)


def test_files_that_claim_no_size_are_read(session, monkeypatch):
    """As those of /proc do."""
    real = os.fstat

    def fstat(descriptor):
        status = list(real(descriptor))
        status[stat.ST_SIZE] = 0
        return os.stat_result(status)

    (session.root / "status").write_bytes(b"Name:\tpython\n")
    monkeypatch.setattr(os, "fstat", fstat)
    assert "Name:\tpython" in answer(TOOL, session, path="status")


def test_lenient_numbers_and_summary(session):
    (session.root / "f").write_bytes(b"a\nb\n")
    args = decode_args(TOOL, {"path": "f", "offset": "2", "limit": None})
    assert TOOL.summary(args, session) == "f:2"
    outcome = asyncio.run(TOOL.run(args, make_context(session)))
    assert outcome.view.summary == "1 line"
    assert decode_args(TOOL, {"path": "f", "offset": 0}).offset == 0
    assert answer(TOOL, session, path="f", offset=0, limit=1).startswith("     1\ta")


def test_accesses_are_resolved(session, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside").resolve()
    (session.root / "door").symlink_to(outside / "x")
    assert read_paths(TOOL, session, path="door") == [str(outside / "x")]
    assert read_paths(TOOL, session, path="a/../b") == [str(session.root / "b")]


some_lines = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=30), max_size=30
)


@settings(max_examples=60, deadline=None)
@given(lines=some_lines, ended=st.booleans(), limit=st.integers(1, 7))
def test_pages_together_are_the_file(tmp_path_factory, lines, ended, limit):
    text = "\n".join(lines) + ("\n" if ended else "")
    if not text or text.startswith("\ufeff"):
        return
    session = make_session(tmp_path_factory.mktemp("pages"))
    (session.root / "f").write_bytes(text.encode())
    got, offset, said = [], 1, ""
    while True:
        said = answer(TOOL, session, path="f", offset=offset, limit=limit)
        body = said.rsplit("\n[", 1)[0] if said.endswith("]") and "\n[" in said else said
        got += [piece.split("\t", 1)[1] for piece in re.split(r"\n(?= *\d+\t)", body)]
        more = re.search(r"go on with offset=(\d+)\]$", said)
        if more is None:
            break
        offset = int(more[1])
    again = "\n".join(got) + ("" if said.endswith("[the last line has no line end]") else "\n")
    assert again == text


@settings(max_examples=80)
@given(
    data=st.lists(st.sampled_from([b"a", b"\n", "é".encode(), b"xyz\n", b"\r\n"]), max_size=40).map(b"".join),
    cuts=st.integers(1, 9),
    offset=st.integers(1, 12),
    limit=st.integers(1, 5),
)
def test_streamed_and_held_pages_agree(data, cuts, offset, limit):
    text = data.decode().replace("\r\n", "\n")
    if "\r" in text:
        return
    chunks = (data[at : at + cuts] for at in range(0, len(data), cuts))
    streamed = stream_page(chunks, "utf-8", offset, limit, Stop())
    held = page_of(text, offset, limit)
    assert (streamed.lines, streamed.more) == (held.lines, held.more)
    assert streamed.open_end == held.open_end
