"""Documents cut into pieces under their headings."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.core.errors import MewCodeError
from mewcode.memory.knowledge.docstrings import docstring_pieces
from mewcode.memory.knowledge.documents import find_documents, kind_of, pieces_of
from mewcode.memory.knowledge.markup import markdown_pieces, rst_pieces, text_pieces
from mewcode.memory.knowledge.pieces import MOST_TEXT, Piece, cut
from mewcode.memory.knowledge.rows import csv_pieces, json_pieces
from mewcode.memory.knowledge.web_page import page_pieces

READERS = (markdown_pieces, rst_pieces, text_pieces, page_pieces, csv_pieces, json_pieces, docstring_pieces)


def outline(pieces: list[Piece]) -> list[tuple[str, int]]:
    return [(piece.heading, piece.line) for piece in pieces]


def test_markdown_is_cut_at_its_headings() -> None:
    text = "intro\n\n# Setup\n\nrun it\n\n## Linux\nuse apt\n\nUsage\n=====\ncall it\n"
    pieces = list(markdown_pieces(text))
    assert outline(pieces) == [("", 1), ("Setup", 3), ("Setup > Linux", 7), ("Usage", 10)]
    assert pieces[1].text == "Setup\n\nrun it"
    assert pieces[3].text == "Usage\ncall it"


def test_what_looks_like_a_heading_in_a_code_block_is_none() -> None:
    text = "# A\n```sh\n# not a heading\n```\n~~~~\n~~~\n# nor this\n~~~~\n# B\nx"
    assert outline(list(markdown_pieces(text))) == [("A", 1), ("B", 9)]


def test_a_rule_a_list_a_table_and_a_yaml_head_are_no_headings() -> None:
    text = "---\ntitle: x\n---\n\n- item\n---\n\n| a |\n---\n\ntwo\nlines\n---\nend"
    assert {piece.heading for piece in markdown_pieces(text)} == {""}


def test_rst_titles_nest_in_the_order_of_their_lines() -> None:
    text = "=====\nTitle\n=====\n\nhello\n\nPart\n----\n\nx\n\nDeep\n~~~~\n\ny\n\nOther\n-----\n\nz\n"
    assert outline(list(rst_pieces(text))) == [
        ("Title", 1), ("Title > Part", 7), ("Title > Part > Deep", 12), ("Title > Other", 17),
    ]  # fmt: skip


def test_a_page_is_read_without_its_scripts() -> None:
    text = (
        "<html><head><title>t</title><style>p{}</style></head><body><p>before</p>\n<h1>One</h1><p>a&amp;b\n"
        "c</p><script>alert(1)</script>\n<h2>Two</h2><ul><li>x<li>y</ul></body>"
    )
    pieces = list(page_pieces(text))
    assert [(piece.heading, piece.text.split()) for piece in pieces] == [
        ("", ["before"]),
        ("One", ["One", "a&b", "c"]),
        ("One > Two", ["Two", "x", "y"]),
    ]
    assert [piece.line for piece in pieces] == [1, 2, 4]


def test_rows_of_csv_carry_their_columns() -> None:
    text = 'name,port\napi,8080\n"web, old",\n'
    assert [(piece.heading, piece.line, piece.text) for piece in csv_pieces(text)] == [
        ("row 1", 2, "name: api\nport: 8080"),
        ("row 2", 3, "name: web, old"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"a": 1}, {"b": {"c": "x"}}]', [("row 1", "a: 1"), ("row 2", "b.c: x")]),
        ('{"hosts": ["x", "y"], "port": 8080}', [("hosts", "x, y"), ("port", "8080")]),
        ('{"users": [{"n": "李雷"}]}', [("users > row 1", "n: 李雷")]),
        ('{"a": 1}\n{"a": 2}\n', [("row 1", "a: 1"), ("row 2", "a: 2")]),
        ("not json", [("", "not json")]),
        ("42", [("", "42")]),
    ],
)
def test_json_is_read_by_rows(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(piece.heading, piece.text) for piece in json_pieces(text)] == expected


def test_sources_say_what_their_docstrings_do() -> None:
    text = (
        '"""Module."""\nclass A:\n    """Is a."""\n'
        '    def f(self, x):\n        """Does f."""\n    def g(self): ...\n'
    )
    assert [(piece.heading, piece.line, piece.text) for piece in docstring_pieces(text)] == [
        ("", 1, "Module."),
        ("A", 3, "A\nIs a."),
        ("A.f", 5, "A.f(self, x)\nDoes f."),
    ]
    assert list(docstring_pieces("def broken(:")) == []


def pdf_of(*pages: str) -> bytes:
    """A PDF with a line of text a page, written by hand: readers are to be tried on the format itself."""
    kids = " ".join(f"{index * 2 + 4} 0 R" for index in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, page in enumerate(pages):
        stream = f"BT /F1 12 Tf 50 700 Td ({page}) Tj ET"
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {index * 2 + 5} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    out, offsets = io.BytesIO(), list[int]()
    out.write(b"%PDF-1.4\n")
    for number, text in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(f"{number} 0 obj\n{text}\nendobj\n".encode())
    start = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    out.write("".join(f"{offset:010} 00000 n \n" for offset in offsets).encode())
    out.write(f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


def test_a_pdf_is_read_by_pages(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf_of("First page", "Second page"))
    assert [(piece.heading, piece.text) for piece in pieces_of(tmp_path / "a.pdf")] == [
        ("page 1", "First page"),
        ("page 2", "Second page"),
    ]


def test_a_broken_pdf_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\nnothing more")
    with pytest.raises(MewCodeError, match="PDF cannot be read"):
        list(pieces_of(tmp_path / "a.pdf"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_is_read_in_its_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.md").write_bytes("# 部署\r\n先看日志".encode(encoding))
    assert [(piece.heading, piece.text) for piece in pieces_of(tmp_path / "a.md")] == [
        ("部署", "部署\n先看日志")
    ]


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\x00\x01")
    with pytest.raises(MewCodeError, match="is no text"):
        list(pieces_of(tmp_path / "a.txt"))


def test_documents_are_found_in_files_and_folders_once(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("docs/a.md", "docs/b.bin", "docs/c.py", "notes.txt", "README"):
        (tmp_path / name).write_text("x")
    (tmp_path / "docs/link.md").symlink_to(tmp_path / "notes.txt")
    wanted = [tmp_path / "docs", tmp_path / "docs/a.md", tmp_path / "README", tmp_path / "gone"]
    found = find_documents(wanted, tmp_path, lambda folder: sorted(path.name for path in folder.iterdir()))
    assert [document.shown for document in found.documents] == ["docs/a.md", "docs/c.py", "README"]
    assert found.problems == (f"{tmp_path / 'gone'} does not exist",)


def test_a_document_outside_is_shown_with_its_whole_path(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out.md").write_text("x")
    [document] = find_documents([tmp_path / "out.md"], tmp_path / "in", lambda folder: ()).documents
    assert document.shown == str(tmp_path / "out.md")


def test_a_file_that_changed_has_another_sign(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("x")
    [before] = find_documents([path], tmp_path, lambda folder: ()).documents
    path.write_text("longer")
    [after] = find_documents([path], tmp_path, lambda folder: ()).documents
    assert before.sign != after.sign


def test_kinds_go_by_the_name() -> None:
    assert [kind_of(name) for name in ("A.MD", "x.csv", "LICENSE", "run", "x.exe")] == [
        "markdown", "csv", "text", "", "",
    ]  # fmt: skip


@given(st.text(alphabet="ab 。.\n\n ", max_size=4_000).map(lambda text: text * 3))
def test_pieces_lose_nothing_and_are_never_too_long(text: str) -> None:
    pieces = list(cut("", 1, text))
    assert "".join("".join(piece.text.split()) for piece in pieces) == "".join(text.split())
    assert all(0 < len(piece.text) <= MOST_TEXT for piece in pieces)
    lines = text.split("\n")
    for piece in pieces:
        assert piece.text.split("\n")[0].strip() in lines[piece.line - 1]


@given(st.text(max_size=400) | st.text(alphabet='#=-~`<>h1/\n"{}[],: ab', max_size=400))
def test_every_reader_takes_any_text(text: str) -> None:
    for reader in READERS:
        for piece in reader(text):
            assert 0 < len(piece.text) <= MOST_TEXT
            assert 1 <= piece.line <= text.count("\n") + 2


@pytest.mark.parametrize(
    "text",
    [
        "<h1>" * 50_000,
        "[" * 100_000,
        "# a\n" * 50_000,
        "=\n" * 50_000,
        "<svg>" * 50_000,
        f"# a{' ' * 200_000}b",
        "---\n\n" + "a\n===\n\n" * 100_000,
        "<svg>" * 10_000 + "</head>" * 100_000,
        "x\n" * 500_000,
    ],
    ids=lambda text: text[:8],
)
def test_a_hostile_document_ends(text: str) -> None:
    for reader in READERS:
        assert sum(1 for _ in reader(text)) <= 200_000


LONG = "n" * 100_000


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (markdown_pieces, f"# {LONG}\n\n{'word ' * 20_000}"),
        (rst_pieces, f"{LONG}\n{'=' * 100_000}\n\n{'word ' * 20_000}"),
        (page_pieces, f"<h1>{LONG}</h1>{'word ' * 20_000}"),
        (csv_pieces, f"{LONG}\n" + "1\n" * 1_000),
        (json_pieces, f'{{"{LONG}": {{{", ".join(f"{chr(34)}{at}{chr(34)}: 1" for at in range(1_000))}}}}}'),
    ],
)
def test_a_long_name_is_not_repeated_whole_with_each_piece(
    reader: Callable[[str], Iterator[Piece]], text: str
) -> None:
    said = sum(len(piece.heading) + len(piece.text) for piece in reader(text))
    assert said < 3 * len(text), "a small file must not fill the memory"


def test_signs_that_end_a_heading_are_no_part_of_it() -> None:
    headings = ("# a #", "# b ##  ", "## c#", "#", "# #", "#d", "# e # f", "#\tg\t#")
    found = [piece.heading for text in headings for piece in markdown_pieces(f"{text}\n\nx")]
    assert found == ["a", "b", "c#", "", "", "", "e # f", "g"]


def test_a_pipe_in_the_place_of_a_document_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(MewCodeError, match="is no file"):
        pieces_of(tmp_path / "a.md")
