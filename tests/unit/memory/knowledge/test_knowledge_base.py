"""The knowledge base: documents kept in the index, found again, and forgotten."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.memory.knowledge.base import KnowledgeBase, Report
from mewcode.memory.recall.engine import Engine
from mewcode.tools.gitignore import walk


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path / "recall.sqlite")
    yield made
    made.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def files(folder: Path) -> Iterable[str]:
    return walk(folder, hidden=False)


def base_of(engine: Engine, root: Path, *paths: str) -> KnowledgeBase:
    return KnowledgeBase(engine, [root / path for path in paths or ("",)], root, files)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def places(base: KnowledgeBase, query: str, limit: int = 10, offset: int = 0) -> list[str]:
    return [f"{passage.path}:{passage.line}" for passage in base.search(query, limit, offset).passages]


def test_a_passage_has_path_line_and_heading(engine: Engine, root: Path) -> None:
    write(root / "docs/guide.md", "# Guide\n\nintro\n\n## 回滚\n\n先执行斑马脚本。\n")
    write(root / "data/prices.csv", "name,price\napple,1\ngiraffe,2\n")
    base = base_of(engine, root)
    assert base.refresh() == Report(2, 2, (), True)
    (found,) = base.search("斑马脚本", 5).passages
    assert (found.path, found.line, found.heading, found.title) == (
        "docs/guide.md",
        5,
        "Guide > 回滚",
        "Guide",
    )
    assert places(base, "giraffe") == ["data/prices.csv:3"]
    assert places(base, "okapi") == []


def test_only_what_changed_is_read(engine: Engine, root: Path) -> None:
    for name in ("a", "b", "c"):
        write(root / f"{name}.md", f"zebra {name}\n")
    base = base_of(engine, root)
    assert base.refresh().read == 3
    assert base.refresh() == Report(3, 0, (), True)
    write(root / "b.md", "okapi now\n")
    (root / "c.md").unlink()
    assert base.refresh() == Report(2, 1, (), True)
    assert places(base, "zebra") == ["a.md:1"]
    assert places(base, "okapi") == ["b.md:1"]
    base.forget()
    assert places(base, "zebra") == []
    assert base.refresh().read == 2


def test_paths_outside_are_shown_whole_and_links_are_not_followed(
    engine: Engine, root: Path, tmp_path: Path
) -> None:
    write(tmp_path / "manual/m.txt", "zebra\n")
    write(tmp_path / "secret/s.txt", "zebra\n")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "one.txt").symlink_to(tmp_path / "secret/s.txt")
    base = base_of(engine, root, "", str(tmp_path / "manual"))
    assert base.refresh().documents == 1
    assert places(base, "zebra") == [f"{tmp_path}/manual/m.txt:1"]


def test_what_git_ignores_and_what_is_hidden_is_no_document(engine: Engine, root: Path) -> None:
    (root / ".git").mkdir()
    write(root / ".gitignore", "build/\n")
    for name in ("build/x.md", ".hidden/x.md", "seen.md", "photo.jpg"):
        write(root / name, "zebra\n")
    base = base_of(engine, root)
    assert base.refresh().documents == 1
    assert places(base, "zebra") == ["seen.md:1"]


def test_pages_follow_each_other_without_overlap(engine: Engine, root: Path) -> None:
    for number in range(23):
        write(root / f"{number}.md", f"zebra {number}\n")
    base = base_of(engine, root)
    base.refresh()
    found: list[str] = []
    for offset in range(0, 30, 5):
        page = base.search("zebra", 5, offset)
        assert page.more == (offset + 5 < 23)
        found += [passage.path for passage in page.passages]
    assert len(found) == len(set(found)) == 23


def test_what_may_not_be_shown_is_left_out_before_pages_are_cut(engine: Engine, root: Path) -> None:
    for number in range(30):
        write(root / ("secret" if number % 3 else "open") / f"{number}.md", "zebra\n")
    base = base_of(engine, root)
    base.refresh()
    asked: list[Path] = []

    def may_show(path: Path) -> bool:
        asked.append(path)
        return path.parent.name == "open"

    page = base.search("zebra", 9, 0, may_show)
    assert len(page.passages) == 9
    assert all(passage.path.startswith("open/") for passage in page.passages)
    assert page.more
    assert not base.search("zebra", 9, 9, may_show).more
    assert all(path.is_absolute() for path in asked)


def test_a_path_that_was_taken_back_is_not_found_though_the_index_knows_it(
    engine: Engine, root: Path
) -> None:
    write(root / "docs/a.md", "zebra\n")
    write(root / "docs2/a.md", "zebra\n")
    base_of(engine, root).refresh()
    assert places(base_of(engine, root, "docs"), "zebra") == ["docs/a.md:1"]


def test_stopped_it_forgets_nothing_and_goes_on_later(engine: Engine, root: Path) -> None:
    for number in range(5):
        write(root / f"{number}.md", "zebra\n")
    base = base_of(engine, root)
    base.refresh()
    report = base.refresh(stop=lambda: True)
    assert not report.is_whole
    assert len(places(base, "zebra")) == 5
    write(root / "new.md", "zebra\n")
    told: list[int] = []
    assert not base.refresh(told.append, lambda: bool(told)).is_whole or told == [1]
    assert base.refresh().is_whole
    assert len(places(base, "zebra")) == 6


def test_what_cannot_be_read_is_said_once_and_harms_nothing(engine: Engine, root: Path) -> None:
    write(root / "good.md", "zebra\n")
    (root / "bad.txt").write_bytes(b"zebra\0\1\2" * 10)
    (root / "bad.pdf").write_bytes(b"%PDF-1.4\nzebra")
    base = base_of(engine, root, "", "missing", "x" * 300, "good.md/below")
    report = base.refresh()
    assert report.documents == 3
    said = "\n".join(report.problems)
    for words in ("missing does not exist", "bad.txt is no text", "bad.pdf: the PDF", "cannot be looked at"):
        assert words in said
    assert places(base, "zebra") == ["good.md:1"]
    assert "bad" not in "\n".join(base.refresh().problems)


def test_a_document_that_says_far_more_than_it_holds_is_left_out(engine: Engine, root: Path) -> None:
    columns = ",".join(["c" * 150] * 2_000)
    write(root / "a.csv", f"{columns}\n" + f"{'1,' * 2_000}\n" * 500)
    write(root / "b.md", "okapi\n")
    base = base_of(engine, root)
    report = base.refresh()
    assert report.problems == ("a.csv: it says more than is kept of one document",)
    assert places(base, "okapi") == ["b.md:1"]


def test_a_document_that_breaks_is_found_no_more(engine: Engine, root: Path) -> None:
    write(root / "a.txt", "zebra\n")
    base = base_of(engine, root)
    base.refresh()
    (root / "a.txt").write_bytes(b"zebra\0zebra")
    assert base.refresh().problems
    assert places(base, "zebra") == []


def test_an_index_that_cannot_be_written_is_said(tmp_path: Path, root: Path) -> None:
    write(root / "a.md", "zebra\n")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    broken = Engine(tmp_path / "file" / "recall.sqlite")
    report = base_of(broken, root).refresh()
    assert not report.is_whole
    assert "the index cannot be used" in report.problems[-1]
    assert places(base_of(broken, root), "zebra") == []


HOSTILE = {
    "deep.json": b"[" * 100_000,
    "deep-object.json": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "wide.json": b"[" + b",".join(b'"zebra"' for _ in range(50_000)) + b"]",
    "numbers.json": b"9" * 100_000,
    "huge-cell.csv": b"a,b\n" + b"x" * 3_000_000,
    "quotes.csv": b'"' * 100_001,
    "deep.html": b"<div>" * 50_000 + b"zebra",
    "comment.html": b"<!--" * 50_000,
    "tags.html": b"</" * 100_000 + b"<a " * 100_000 + b"<?" * 50_000,
    "script.html": b"<p>lion</p><script>" + b"x" * 3_000_000,
    "entities.html": b"&amp;" * 100_000 + b"&#x110000;&#xD800;",
    "declarations.html": b"<![" * 10_000 + b"<!DOCTYPE [" * 1_000,
    "headings.md": b"#" * 200_000 + b"\n" + b"# a\n" * 50_000,
    "line.md": b"a" * 2_000_000,
    "fences.md": b"```\n~~~\n" * 50_000,
    "underline.rst": b"a\n" + b"=" * 200_000 + b"\n" + b"b\n-\n" * 20_000,
    "deep.py": b"(" * 20_000,
    "nested.py": b"".join(b" " * depth + b"def f():\n" for depth in range(90)),
    "nul.py": b"x = '\0'\n" * 200,
    "surrogates.txt": "\ud800zebra".encode("utf-16", "surrogatepass"),
    "odd.txt": b"\xff\xfe\x00",
    "latin.txt": "caf\xe9 zebra".encode("latin-1"),
    "controls.txt": b"\x1b]0;owned\x07\x1b[2J zebra \r\r\n" * 500,
    "empty.md": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_takes_no_time_and_breaks_nothing(name: str, engine: Engine, root: Path) -> None:
    (root / name).write_bytes(HOSTILE[name])
    write(root / "good.md", "okapi\n")
    base = base_of(engine, root)
    began = time.monotonic()
    report = base.refresh()
    assert time.monotonic() - began < 20
    assert (report.documents, report.is_whole) == (2, True)
    assert places(base, "okapi") == ["good.md:1"]


@pytest.fixture
def deep(root: Path) -> Iterator[Path]:
    """A folder with others in it, deeper than Python's stack."""
    top = root / "deep"
    top.mkdir()
    folder = os.open(top, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    yield top
    subprocess.run(["rm", "-rf", str(top)], check=True)


@pytest.mark.usefixtures("deep")
def test_hostile_names_and_folders(engine: Engine, root: Path) -> None:
    os.mkfifo(root / "pipe.md")
    (root / "folder.md").mkdir()
    (root / os.fsdecode(b"bad\xff.md")).write_text("zebra\n", encoding="utf-8")
    write(root / "new\nline\x1b[2J.md", "zebra\n")
    write(root / "a b ' \" ; # ?.md", "zebra\n")
    base = base_of(engine, root)
    report = base.refresh()
    assert any("folders too deep" in problem for problem in report.problems)
    base_of(engine, root, "a b ' \" ; # ?.md", "new\nline\x1b[2J.md").refresh()
    assert len(places(base, "zebra")) == 2


def test_two_thousand_documents_take_seconds(engine: Engine, root: Path) -> None:
    text = "\n\n".join(
        f"## Part {number}\n\n" + "Some words about the matter at hand. " * 12 for number in range(4)
    )
    for number in range(2_000):
        write(root / f"{number % 40}/{number}.md", f"# Document {number}\n\n{text}\n\nspecial{number}\n")
    base = base_of(engine, root)
    began = time.monotonic()
    assert base.refresh() == Report(2_000, 2_000, (), True)
    first = time.monotonic() - began
    began = time.monotonic()
    assert base.refresh().read == 0
    again = time.monotonic() - began
    assert places(base, "special1234")[0].startswith("34/1234.md:")
    assert first < 60
    assert again < 5


CONTENTS = st.dictionaries(
    st.sampled_from(["a.md", "b.txt", "c/d.md", "e.json"]),
    st.sampled_from(["zebra", "okapi zebra", "# h\n\nokapi"]),
)


@settings(max_examples=25)
@given(st.lists(CONTENTS, min_size=1, max_size=4))
def test_grown_step_by_step_it_finds_the_same_as_made_anew(
    tmp_path_factory: pytest.TempPathFactory, steps: list[dict[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("base")
    root = folder / "root"
    root.mkdir()
    grown = base_of(Engine(folder / "grown.sqlite"), root)
    for step in steps:
        for old in [path for path in root.rglob("*") if path.is_file()]:
            if old.relative_to(root).as_posix() not in step:
                old.unlink()
        for name, text in step.items():
            write(root / name, text)
        grown.refresh()
    anew = base_of(Engine(folder / "anew.sqlite"), root)
    anew.refresh()
    for query in ("zebra", "okapi", "h"):
        assert places(grown, query) == places(anew, query)
