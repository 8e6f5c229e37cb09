"""Fuzzy matching of paths, and the index that uses it."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.repl import file_index
from mewcode.repl.file_index import FileIndex, Snapshot, list_paths
from mewcode.repl.fuzzy import bits_of, score, subsequence

PATHS = [
    "README.md",
    "mewcode/repl/input.py",
    "mewcode/repl/replay.py",
    "mewcode/repl/input_keys.py",
    "mewcode/tools/read_file.py",
    "web/InputField.tsx",
    "web/inputfield.css",
    "docs/说明/输入法.md",
    "tests/unit/repl/test_input.py",
]


def best(query: str, paths: list[str] = PATHS) -> str:
    return Snapshot.of(paths).find(query)[0]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("input.py", "mewcode/repl/input.py"),
        ("ink", "mewcode/repl/input_keys.py"),
        ("rein", "mewcode/repl/input.py"),
        ("rf", "mewcode/tools/read_file.py"),
        ("InF", "web/InputField.tsx"),
        ("readme", "README.md"),
        ("输法", "docs/说明/输入法.md"),
        ("testinput", "tests/unit/repl/test_input.py"),
        ("repl/", "mewcode/repl/"),
        ("tools/rea", "mewcode/tools/read_file.py"),
    ],
)
def test_the_file_that_is_meant_comes_first(query: str, path: str) -> None:
    assert best(query) == path


def test_case_counts_where_the_query_has_a_capital() -> None:
    found = Snapshot.of(PATHS).find("IF")
    assert found == ["web/InputField.tsx"]
    assert {"web/InputField.tsx", "web/inputfield.css"} <= set(Snapshot.of(PATHS).find("if"))


def test_an_empty_query_offers_what_lies_nearest() -> None:
    assert Snapshot.of(PATHS).find("", 4) == ["docs/", "mewcode/", "README.md", "tests/"]


def test_what_has_not_the_letters_is_not_offered() -> None:
    assert Snapshot.of(PATHS).find("zzz") == []
    assert score("zzz", "mewcode/repl/input.py") is None


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="aAbB/_.1输İß", min_size=1, max_size=5), st.text(alphabet="aAbB/_.1输İßcd", max_size=20)
)
def test_score_and_tests_agree(query: str, path: str) -> None:
    """What has points holds the letters in order, and passes the quicker tests that come first."""
    path = path.strip("/") or "a"
    text = path if query != query.lower() else path.lower()
    points = score(query, path)
    assert (points is not None) == bool(subsequence(query)(text))
    if points is not None:
        assert bits_of(query.lower()) & ~bits_of(path.lower()) == 0


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.text(alphabet="ab/_输", min_size=1, max_size=8).map(lambda path: path.strip("/") or "a"),
        max_size=30,
    ),
    st.text(alphabet="ab/_输", min_size=1, max_size=4),
)
def test_a_search_finds_what_matches(paths: list[str], query: str) -> None:
    paths = list(dict.fromkeys(path for path in paths if "//" not in path))
    found = Snapshot.of(paths).find(query, 1000)
    assert {path for path in found if not path.endswith("/")} == {
        path for path in paths if subsequence(query)(path.lower())
    }


def test_a_large_tree_is_searched_through() -> None:
    """A match that is not among the first hundreds is still found."""
    paths = [f"d{number % 100}/module_{number}.py" for number in range(30_000)] + ["deep/er/the_one_zq.py"]
    snapshot = Snapshot.of(paths)
    assert snapshot.find("theonezq") == ["deep/er/the_one_zq.py"]
    assert snapshot.find("m29999")[0] == "d99/module_29999.py"


def test_only_so_many_matches_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[str] = []
    monkeypatch.setattr(file_index, "score", lambda query, path: scored.append(path) or 1)
    snapshot = Snapshot.of(f"pkg{number % 97}/sub{number}/module.py" for number in range(30_000))
    for query in ("m", "pkg5/m", "pgsbmd"):
        scored.clear()
        assert len(snapshot.find(query)) == 20
        assert len(scored) <= 2_000


def test_git_says_what_belongs(tmp_path: Path) -> None:
    git = shutil.which("git")
    assert git is not None
    subprocess.run([git, "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "made.o").write_text("")
    (tmp_path / "new 文件.py").write_text("")
    # A hostile repository's monitor is a program that must not run.
    subprocess.run(
        [git, "-C", str(tmp_path), "config", "core.fsmonitor", f"touch {tmp_path}/owned; false"], check=True
    )
    assert sorted(list_paths(tmp_path)) == [".gitignore", "new 文件.py"]
    assert not (tmp_path / "owned").exists()


def test_without_git_build_folders_are_left_out(tmp_path: Path) -> None:
    for name in ("src/a.py", "node_modules/x/y.js", "b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert sorted(list_paths(tmp_path)) == ["b.py", "src/a.py"]


def test_paths_are_given_as_seen_from_the_folder_started_in(tmp_path: Path) -> None:
    async def find() -> list[str]:
        index = FileIndex(tmp_path, tmp_path / "web", lambda root: ["web/page.ts", "lib/page.py"])
        return await index.find("page")

    assert sorted(asyncio.run(find())) == ["../lib/page.py", "page.ts"]


def test_an_old_list_serves_while_a_new_one_is_made(tmp_path: Path) -> None:
    gate, asked = threading.Event(), threading.Event()
    lists = iter([["a.py"], ["a.py", "ab.py"]])

    def listed(root: Path) -> list[str]:
        paths = next(lists)
        if len(paths) > 1:
            asked.set()
            assert gate.wait(20)
        return paths

    async def look() -> tuple[list[str], list[str]]:
        index = FileIndex(tmp_path, tmp_path, listed)
        await index.find("a")
        index._listed -= 100
        before = await index.find("a")
        assert await asyncio.to_thread(asked.wait, 20)
        working = index._working
        assert working is not None
        gate.set()
        await working
        return before, await index.find("a")

    assert asyncio.run(look()) == (["a.py"], ["a.py", "ab.py"])


def test_sessions_are_not_offered_what_people_write_beside_them_is(tmp_path: Path) -> None:
    for name in (".mewcode/sessions/1/conversation.jsonl", ".mewcode/config.yaml", "sessions/a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert sorted(list_paths(tmp_path)) == [".mewcode/config.yaml", "sessions/a.py"]
