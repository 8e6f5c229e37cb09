"""`mewcode instructions` and `mewcode prompt`, as functions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mewcode.core.errors import ConfigError
from mewcode.infra.paths import find_places
from mewcode.inspection.instructions import run_instructions
from mewcode.inspection.prompt import run_prompt
from mewcode.options import Options
from tests.support.sample_session import project_in


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return project_in(tmp_path)


def surroundings(project: Path) -> dict[str, str]:
    return {"HOME": str(project.parent / "home"), "PATH": os.environ["PATH"]}


def instructions(project: Path, *words: str, as_json: bool = False) -> int:
    environ = surroundings(project)
    options = Options(command="instructions", words=words, as_json=as_json)
    return run_instructions(options, environ, find_places(project, environ))


def prompt(project: Path, **more: Any) -> int:
    environ = surroundings(project)
    return run_prompt(
        Options(command="prompt", words=("show",), **more), environ, find_places(project, environ)
    )


def test_no_instructions_is_no_failure(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert instructions(project, "lint") == 0
    assert "no instructions" in capsys.readouterr().out


def test_the_tree_names_includes_skips_and_findings(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "MEWCODE.md").write_text(
        "# 规则\n@include a.md\n@include ../out\x1b[2J.md\nSee `no/where.py`.\n"
    )
    (project / "a.md").write_text("A\n@include MEWCODE.md\n")
    assert instructions(project) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0].startswith("MEWCODE.md  project, ")
    assert lines[1].startswith("  a.md  project, ")
    assert lines[2] == "    ! MEWCODE.md  (line 2) skipped: a cycle: MEWCODE.md → a.md → MEWCODE.md"
    assert "skipped: outside the folder" in lines[3]
    assert "2 files, " in lines[4]
    assert lines[5] == "missing file: no/where.py  (MEWCODE.md:4)"
    assert "\x1b" not in out


def test_lint_fails_where_something_was_left_out(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "MEWCODE.md").write_text("@include a.md\n@include a.md\n")
    (project / "a.md").write_text("A\n")
    assert instructions(project, "lint") == 0, "a second mention is left out of nothing"
    (project / "a.md").unlink()
    assert instructions(project, "lint") == 1
    assert instructions(project) == 0
    (project / "MEWCODE.md").write_bytes(b"a\0b")
    capsys.readouterr()
    assert instructions(project, "lint", as_json=True) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["skipped"] == [{"path": "MEWCODE.md", "level": "project", "reason": "binary"}]


def test_json_holds_the_whole_report(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "MEWCODE.md").write_text("# 规则\n@include b.md\n@include a.md\n@include a.md\n")
    (project / "a.md").write_text("做 A\n")
    rules = project / ".mewcode/rules"
    rules.mkdir(parents=True)
    (rules / "py.md").write_text('---\npaths: ["src/**/*.py"]\n---\nPython.\n')
    assert instructions(project, as_json=True) == 0
    data = json.loads(capsys.readouterr().out)
    [file] = data["files"]
    assert file["path"] == str(project / "MEWCODE.md")
    assert [(item["written"], item["outcome"]) for item in file["includes"]] == [
        ("b.md", "skipped"),
        ("a.md", "loaded"),
        ("a.md", "duplicate"),
    ]
    assert file["includes"][1]["file"]["bytes"] == len("做 A\n".encode())
    assert data["rules"] == [{"path": str(rules / "py.md"), "paths": ["src/**/*.py"]}]
    assert data["bytes"] > 0
    assert data["tokens"] > 0


def test_a_wrong_config_is_said(project: Path) -> None:
    (project / ".mewcode").mkdir()
    (project / ".mewcode/config.yaml").write_text("instructions:\n  include_root: [..]\n")
    for run in (instructions, prompt):
        with pytest.raises(ConfigError, match="include_root"):
            run(project)


def test_the_prompt_is_shown_part_by_part_in_order(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "MEWCODE.md").write_text("Mind the umlauts: äöü。\x1b[2J\n")
    assert prompt(project, model="sample-model") == 0
    out = capsys.readouterr().out
    heads = [line for line in out.splitlines() if line.startswith("== ")]
    names = [head.split(" · ")[0].removeprefix("== ") for head in heads]
    priorities = [int(head.split("priority ")[1].split(" ")[0]) for head in heads]
    assert priorities == sorted(priorities)
    assert {"environment", "instructions"} <= set(names)
    assert "Mind the umlauts: äöü。" in out
    assert "\x1b" not in out


def test_the_prompt_as_data_adds_up(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prompt(project, model="sample-model", as_json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["tokens"] == sum(part["tokens"] for part in data["modules"])
    by_name = {part["name"]: part for part in data["modules"]}
    assert "instructions" not in by_name, "a part that says nothing is no part"
    assert by_name["environment"]["priority"] == 60
    assert "sample-model" in by_name["environment"]["text"]
    assert all(part["text"] and part["source"] for part in data["modules"])


def test_the_users_own_text_stands_in_the_prompt(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = project.parent / "home/.mewcode/config.yaml"
    config.parent.mkdir()
    config.write_text("system_prompt:\n  append: Speak as a pirate.\n")
    assert prompt(project, as_json=True) == 0
    texts = [part["text"] for part in json.loads(capsys.readouterr().out)["modules"]]
    assert sum("Speak as a pirate." in text for text in texts) == 1
