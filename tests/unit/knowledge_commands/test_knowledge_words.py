"""What may be typed behind `mewcode knowledge`, and what is answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mewcode.cli import parse
from mewcode.config.trust import TrustStore
from mewcode.core.errors import ConfigError, MewCodeError, UsageError
from mewcode.infra.paths import find_places
from mewcode.knowledge_commands.run import command_of, run_knowledge
from mewcode.knowledge_commands.words import VERBS

Run = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "docs/部署").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "docs/部署/手册.md").write_text("# 手册\n\n## 回滚\n\n先执行斑马脚本。\n", encoding="utf-8")
    (folder / "notes.txt").write_text("zebra\n", encoding="utf-8")
    (folder / "photo.jpg").write_bytes(b"x")
    return folder


@pytest.fixture
def run(tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a word in the project, or in ``at`` below it: exit code, what it printed, what it said beside."""
    (tmp_path / "home").mkdir()
    environ = {"HOME": str(tmp_path / "home")}

    def call(*words: str, at: str = ".") -> tuple[int, Any, str]:
        code = run_knowledge(parse(["knowledge", *words]), environ, find_places(project / at, environ))
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in words else out, err

    return call


def local(project: Path) -> Path:
    return project / ".mewcode/config.local.yaml"


def test_each_word_is_run() -> None:
    assert len({command_of(verb) for verb in VERBS}) == len(VERBS)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "required"),
        (["nonsense"], "invalid choice"),
        (["add"], "needs more"),
        (["remove"], "needs more"),
        (["list", "x"], "does not take: x"),
        (["search"], "needs more"),
        (["add", "x", "--limit", "3"], "takes no --limit"),
        (["search", "x", "--limit", "0"], "at least 1"),
        (["list", "--model", "x"], "unrecognized"),
    ],
)
def test_wrong_usage_says_what_is_wrong(words: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse(["knowledge", *words])


def test_words_may_stand_around_a_flag() -> None:
    options = parse(["knowledge", "search", "a", "--limit", "3", "b"])
    assert options.words == ("search", "a", "b")
    assert options.knowledge_flags.limit == 3


def test_from_nothing_to_a_passage(run: Run, project: Path) -> None:
    assert run("list") == (0, "", "mewcode: no paths are named yet: mewcode knowledge add PATH\n")
    assert run("search", "斑马") == (0, "", "mewcode: no paths are named yet: mewcode knowledge add PATH\n")
    code, out, err = run("add", "docs", "notes.txt")
    assert (code, out) == (0, "added: docs\nadded: notes.txt\n")
    assert "sessions that begin from now on" in err
    assert run("add", "./docs/")[1] == "there already: docs\n"
    assert local(project).read_text(encoding="utf-8") == (
        "knowledge:\n  paths:\n    - 'docs'\n    - 'notes.txt'\n"
    )
    code, out, err = run("list")
    assert out.startswith("docs  1 document  (local config ")
    assert err == ""
    assert run("search", "斑马脚本") == (
        0,
        "docs/部署/手册.md:3  手册 > 回滚\n  回滚\n\n  先执行斑马脚本。\n",
        "",
    )
    assert run("search", "okapi") == (0, "", "mewcode: nothing fits\n")
    assert run("rebuild") == (0, "2 documents\n", "")
    assert run("remove", "docs", "notes.txt")[1] == "removed: docs\nremoved: notes.txt\n"
    assert run("list", "--json")[1] == []


def test_scripts_get_values(run: Run, project: Path) -> None:
    assert run("add", "docs", "--json")[1] == [{"path": "docs", "added": True}]
    (entry,) = run("list", "--json")[1]
    assert entry == {
        "path": "docs", "where": f"local config {local(project)}:3", "documents": 1, "problems": [],
    }  # fmt: skip
    (passage,) = run("search", "斑马", "--json")[1]
    assert passage == {
        "path": "docs/部署/手册.md", "line": 3, "heading": "手册 > 回滚", "text": "回滚\n\n先执行斑马脚本。",
    }  # fmt: skip
    assert run("rebuild", "--json")[1] == {"documents": 1, "problems": []}
    assert run("remove", "docs", "--json")[1] == [{"path": "docs"}]


def test_what_is_typed_counts_from_where_one_is(run: Run, project: Path, tmp_path: Path) -> None:
    (tmp_path / "home/manual").mkdir()
    (tmp_path / "elsewhere").mkdir()
    run("add", "部署", at="docs")
    run("add", "~/manual", str(tmp_path / "elsewhere"), "../..", at="docs/部署")
    assert [entry["path"] for entry in run("list", "--json")[1]] == [
        "docs/部署", "~/manual", str(tmp_path / "elsewhere"), ".",
    ]  # fmt: skip
    assert run("remove", "部署", at="docs")[1] == "removed: docs/部署\n"
    assert run("remove", "~/manual")[1] == "removed: ~/manual\n"


@pytest.mark.parametrize(
    "name", ["a b", "a'b", 'a"b', "a#b", "a: b", "- a", "*a", "~a", "{a}", "a\nb", "a\tb", "é", "空 格"]
)
def test_odd_names_are_kept_and_found_again(name: str, run: Run, project: Path) -> None:
    (project / name).mkdir()
    (project / name / "x.md").write_text("okapi", encoding="utf-8")
    run("add", name)
    (entry,) = run("list", "--json")[1]
    assert (entry["path"], entry["documents"]) == (name, 1)
    assert run("search", "okapi", "--json")[1][0]["path"] == f"{name}/x.md"
    run("remove", name)
    assert run("list", "--json")[1] == []


@pytest.mark.parametrize(
    ("word", "says"), [("gone", "there is no gone"), ("photo.jpg", "is no document"), ("x" * 300, "too long")]
)
def test_what_holds_no_document_is_not_added(word: str, says: str, run: Run, project: Path) -> None:
    with pytest.raises(UsageError, match=says):
        run("add", "docs", word)
    assert not local(project).exists()


def test_the_rest_of_the_file_stays(run: Run, project: Path) -> None:
    run("add", "docs")  # the file is ours
    text = local(project).read_bytes()
    TrustStore(project.parent / "home/.mewcode").trust(project)
    local(project).write_bytes((b"# \xe6\xb3\xa8\nmodel: x # mine\n" + text).replace(b"\n", b"\r\n"))
    before = local(project).read_bytes()
    run("add", "notes.txt")
    assert local(project).read_bytes() == before + b"    - 'notes.txt'\r\n"
    run("remove", "notes.txt")
    assert local(project).read_bytes() == before


def test_a_file_of_strangers_is_not_vouched_for(run: Run, project: Path) -> None:
    (project / ".mewcode").mkdir()
    local(project).write_text("hooks: {x: y}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="not trusted yet") as caught:
        run("add", "docs")
    assert "--trust" in caught.value.hint
    (project / ".mewcode/config.yaml").write_text("knowledge: {paths: [docs]}\n", encoding="utf-8")
    assert "knowledge is ignored until you trust this folder" in run("list")[2]


def test_what_is_set_elsewhere_is_removed_there(run: Run, project: Path, tmp_path: Path) -> None:
    (tmp_path / "home/.mewcode").mkdir()
    (tmp_path / "home/.mewcode/config.yaml").write_text("knowledge: {paths: [docs]}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"user config ~/\.mewcode/config\.yaml:1") as caught:
        run("remove", "docs")
    assert caught.value.hint == "Remove it there."
    assert run("add", "docs")[1] == "there already: docs\n"
    with pytest.raises(MewCodeError, match="none of the paths"):
        run("remove", "notes.txt")


def test_what_cannot_be_read_is_said_beside(run: Run, project: Path) -> None:
    (project / "docs/bad.txt").write_bytes(b"a\0b")
    run("add", "docs")
    (project / "notes.txt").rename(project / "docs/notes.txt")
    code, out, err = run("rebuild")
    assert (code, out) == (0, "3 documents\n")
    assert "docs/bad.txt: " in err
    assert run("search", "zebra", "--json")[1][0]["path"] == "docs/notes.txt"


def test_passages_come_in_pages(run: Run, project: Path) -> None:
    for number in range(7):
        (project / f"docs/{number}.md").write_text(f"okapi {number}\n", encoding="utf-8")
    run("add", "docs")
    _, out, err = run("search", "okapi", "--limit", "4")
    assert out.count("docs/") == 4
    assert err == "mewcode: there is more: --offset 4\n"
    _, rest, err = run("search", "okapi", "--limit", "4", "--offset", "4")
    assert rest.count("docs/") == 3
    assert err == ""


def test_a_document_steers_no_terminal(run: Run, project: Path) -> None:
    (project / "docs/evil.md").write_text("# \x1b]0;x\x07 zebra\n\n\x1b[2Jokapi\n", encoding="utf-8")
    run("add", "docs")
    assert "\x1b" not in run("search", "okapi")[1]
