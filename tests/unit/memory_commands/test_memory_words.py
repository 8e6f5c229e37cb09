"""What may be typed behind `mewcode memory`, and what is answered."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mewcode.cli import parse
from mewcode.core.errors import NoteError, UsageError
from mewcode.infra.paths import find_places
from mewcode.memory_commands.run import command_of, run_memory
from mewcode.memory_commands.words import VERBS
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import environment, run_program

Run = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a word in a project of its own: exit code, what it printed, what it said beside."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}

    def call(*words: str, stdin: bytes | None = None) -> tuple[int, Any, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin or b"")))
        code = run_memory(parse(["memory", *words]), environ, find_places(tmp_path / "project", environ))
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in words else out, err

    return call


def project(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".mewcode" / "memory"


def test_each_word_is_run() -> None:
    assert len({command_of(verb) for verb in VERBS}) == len(VERBS)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "required"),
        (["nonsense"], "invalid choice"),
        (["show"], "needs more"),
        (["add", "--type", "user", "--name", "x"], "needs more"),
        (["add", "--type", "nonsense", "--name", "x", "y"], "none of"),
        (["list", "x"], "does not take: x"),
        (["list", "--name", "x"], "takes no --name"),
        (["undo", "a", "b"], "does not take: b"),
        (["show", "x", "--force"], "takes no --force"),
        (["history", "--limit", "0"], "at least 1"),
        (["list", "--level", "both"], "invalid choice"),
        (["list", "--model", "x"], "takes no --model"),
        (["move", "x"], "needs more"),
        (["pin"], "needs more"),
        (["tidy", "x"], "does not take: x"),
        (["off", "x"], "does not take: x"),
    ],
)
def test_wrong_usage(words: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse(["memory", *words])


def test_the_form_that_scripts_rely_on(run: Run, tmp_path: Path) -> None:
    code, made, _ = run(
        "add", "--type", "project_knowledge", "--name", "Deploy day", "--description", "When we deploy",
        "--level", "project", "--aliases", "release day,发布日，上线", "Every Friday", "at noon.", "--json",
    )  # fmt: skip
    assert (code, made["action"], made["aliases"]) == (0, "created", ["release day", "发布日", "上线"])
    code, listed, err = run("list", "--json")
    assert (code, err, len(listed)) == (0, "", 1)
    path = project(tmp_path) / "project_knowledge_deploy-day.md"
    expected = {
        "type": "project_knowledge", "name": "Deploy day", "description": "When we deploy",
        "level": "project", "path": str(path),
    }  # fmt: skip
    assert expected.items() <= listed[0].items()
    assert path.read_text("utf-8").endswith("\nEvery Friday at noon.\n")
    assert "- [project_knowledge] [Deploy day](project_knowledge_deploy-day.md) — When we deploy" in (
        project(tmp_path) / "MEMORY.md"
    ).read_text("utf-8")


def test_the_same_name_is_an_update_and_a_similar_one_is_named(run: Run) -> None:
    run("add", "--type", "project", "--name", "Deploy day", "Fridays")
    code, out, _ = run("add", "--type", "project", "--name", "deploy DAY", "Mondays")
    assert (code, out.startswith("updated: [project_knowledge] Deploy day")) == (0, True)
    code, made, _ = run("add", "--type", "project", "--name", "Deployment day", "--json", "Tuesdays")
    assert (code, made["action"], [item["name"] for item in made["similar"]]) == (
        0,
        "created",
        ["Deploy day"],
    )
    assert len(run("list", "--json")[1]) == 2
    assert (
        run("add", "--type", "project", "--name", "deploy day", "Mondays", "--json")[1]["action"]
        == "unchanged"
    )


@pytest.mark.parametrize(
    ("kind", "level"),
    [("user", "user"), ("feedback", "user"), ("project", "project"), ("reference", "project")],
)
def test_the_type_suggests_the_level(run: Run, kind: str, level: str) -> None:
    assert run("add", "--type", kind, "--name", "x", "y", "--json")[1]["level"] == level


def test_a_body_from_standard_input(run: Run, tmp_path: Path) -> None:
    body = "第一行\n\n- two\n"
    assert run("add", "--type", "project", "--name", "来自管道", "-", stdin=body.encode())[0] == 0
    assert (project(tmp_path) / "project_knowledge_来自管道.md").read_text("utf-8").endswith("\n\n" + body)
    with pytest.raises(UsageError, match="UTF-8"):
        run("add", "--type", "project", "--name", "x", "-", stdin=b"\xff")
    with pytest.raises(UsageError, match="needs a text"):
        run("add", "--type", "project", "--name", "x", "-", stdin=b" \n")
    with pytest.raises(UsageError, match="--type and --name"):
        run("add", "no name")


def test_show_finds_by_name_file_alias_and_part(run: Run) -> None:
    run("add", "--type", "project", "--name", "Deploy day", "--aliases", "发布日", "Fridays")
    run("add", "--type", "user", "--name", "Deploy nothing", "x")
    for wanted in (
        "deploy day",
        "project_knowledge_deploy-day.md",
        "project_knowledge_deploy-day",
        "发布日",
        "day",
    ):
        shown = run("show", wanted, "--json")[1]
        assert (shown["name"], shown["body"]) == ("Deploy day", "Fridays")
    assert run("show", "Deploy", "day")[1].endswith("Fridays\n")
    with pytest.raises(NoteError, match="2 notes could be"):
        run("show", "deploy")
    assert run("show", "deploy", "--level", "user", "--json")[1]["name"] == "Deploy nothing"
    with pytest.raises(NoteError, match="no note zzz"):
        run("show", "zzz")


def test_edit_changes_what_is_given(run: Run, tmp_path: Path) -> None:
    run("add", "--type", "project", "--name", "a", "--description", "d", "one")
    assert run("edit", "a", "two", "--json")[1]["action"] == "updated"
    edited = run("edit", "a", "--description", "", "--tags", "x,y", "--name", "b", "--json")[1]
    assert (edited["name"], edited["description"], edited["tags"]) == ("b", "two", ["x", "y"])
    edited = run("edit", "b", "--type", "reference", "--level", "user", "--json")[1]
    assert (edited["type"], edited["level"]) == ("reference_material", "user")
    assert edited["path"] == str(tmp_path / "home" / ".mewcode" / "memory" / "reference_material_b.md")
    assert len(run("list", "--json")[1]) == 1
    with pytest.raises(UsageError, match="nothing to change"):
        run("edit", "b")


def test_edit_opens_the_editor(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mewcode.memory_commands import writing
    from mewcode.memory_commands.context import Context

    run("add", "--type", "project", "--name", "a", "one")
    environ = {"HOME": str(tmp_path / "home"), "EDITOR": "sed -i s/one/hand/", "PATH": os.environ["PATH"]}
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    context = Context(parse(["memory", "edit", "a"]), environ, find_places(tmp_path / "project", environ))
    assert writing.edit(context).is_done
    [last, _] = context.store.history()[::-1]
    assert (last[1].by, context.store.entries()[0].line) == ("hand", "hand")


def test_forget_restore_undo_history(run: Run) -> None:
    for name in ("a", "b"):
        run("add", "--type", "project", "--name", name, f"about {name}")
    code, out, _ = run("forget", "a", "b")
    assert (code, out) == (0, "forgotten: a\nforgotten: b\n")
    assert run("list", "--json")[1] == []
    assert [item["file"] for item in run("restore", "--json")[1]] == [
        "project_knowledge_a.md", "project_knowledge_b.md",
    ]  # fmt: skip
    assert run("restore", "a")[1] == "restored: a\n"
    assert run("undo")[1] == "undone: restored a\n"
    assert run("undo", "--json")[1]["what"] == ["undone: forgotten a", "undone: forgotten b"]
    assert len(run("list", "--json")[1]) == 2
    history = run("history", "--json")[1]
    assert [change["what"][0] for change in history[:3]] == [
        "undone: forgotten a", "undone: restored a", "restored a",
    ]  # fmt: skip
    assert [change["undone"] for change in history[:4]] == [False, False, True, True]
    assert len(run("history", "--limit", "2")[1].splitlines()) == 2
    assert run("undo", history[0]["id"])[0] == 0
    assert run("list", "--json")[1] == []
    with pytest.raises(NoteError, match="no change begins"):
        run("undo", "nothing")


def test_a_restored_name_may_be_a_closed_note(run: Run, tmp_path: Path) -> None:
    run("add", "--type", "project", "--name", "sale", "x")
    path = project(tmp_path) / "project_knowledge_sale.md"
    path.write_text(path.read_text("utf-8").replace("origin:", "valid_to: 2020-01-01\norigin:"), "utf-8")
    assert run("list", "--json")[1] == []
    assert [item["state"] for item in run("list", "--all", "--json")[1]] == ["expired"]
    assert run("restore", "sale")[1] == "restored: sale\n"
    assert len(run("list", "--json")[1]) == 1


def test_a_hand_edit_shows_in_the_list_and_the_index(run: Run, tmp_path: Path) -> None:
    run("add", "--type", "project", "--name", "a", "one")
    path = project(tmp_path) / "project_knowledge_a.md"
    path.write_text("---\nname: a\ndescription: my: words\n---\n正文\n", "utf-8")
    _, listed, err = run("list", "--json")
    assert listed[0]["description"] == "my: words"
    assert "line 3" in err
    assert "my: words" in (project(tmp_path) / "MEMORY.md").read_text("utf-8")
    assert run("history", "--json")[1][0]["by"] == "hand"
    path.unlink()
    assert run("list")[1] == ""
    assert "[a]" not in (project(tmp_path) / "MEMORY.md").read_text("utf-8")


def test_path_and_rebuild(run: Run, tmp_path: Path) -> None:
    folders = {
        "project": str(project(tmp_path)), "user": str(tmp_path / "home" / ".mewcode" / "memory"),
    }  # fmt: skip
    assert run("path", "--json")[1] == folders
    assert run("path", "--level", "user")[1] == folders["user"] + "\n"
    run("add", "--type", "project", "--name", "a", "one")
    assert run("path", "a")[1] == f"{folders['project']}/project_knowledge_a.md\n"
    (project(tmp_path) / "MEMORY.md").write_text("nonsense")
    assert run("rebuild", "--json")[1] == {"project": 1, "user": 0}
    assert "[a]" in (project(tmp_path) / "MEMORY.md").read_text("utf-8")


def test_notes_of_an_untrusted_folder_are_named_not_shown(run: Run, tmp_path: Path) -> None:
    project(tmp_path).mkdir(parents=True)
    (project(tmp_path) / "evil.md").write_text("evil words")
    _, listed, err = run("list", "--json")
    assert listed == []
    assert "1 note came with this folder" in err
    with pytest.raises(NoteError, match="do not trust"):
        run("add", "--type", "project", "--name", "a", "one")


def test_an_undo_before_the_first_note_of_a_project_leaves_it_open(run: Run) -> None:
    run("add", "--type", "user", "--name", "a", "one")
    assert run("undo")[0] == 0
    assert run("add", "--type", "project", "--name", "b", "two")[0] == 0
    assert [item["name"] for item in run("list", "--json")[1]] == ["b"]


def test_what_a_note_says_cannot_act_on_the_terminal(run: Run) -> None:
    run("add", "--type", "project", "--name", "a\x1b]0;x\x07b", "body \x1b[31mred\x1b[2J")
    for words in (("list",), ("show", "ab"), ("history",)):
        assert "\x1b" not in run(*words)[1]


def test_pin_move_and_inbox(run: Run) -> None:
    run("add", "--type", "project", "--name", "部署日", "周五")
    assert run("pin", "部署日")[:2] == (0, "pinned: 部署日\n")
    assert run("move", "部署日", "user", "--json")[1][0]["action"] == "moved"
    listed = run("list", "--json")[1][0]
    assert (listed["pinned"], listed["level"]) == (True, "user")
    assert run("unpin", "部署日", "--json")[1][0]["action"] == "updated"
    assert run("inbox", "--json")[1] == []
    assert run("inbox") == (0, "", "mewcode: nothing waits for your yes\n")
    with pytest.raises(UsageError, match="takes no say yes"):
        run("inbox", "say", "yes")
    with pytest.raises(NoteError, match="no note 1 waits"):
        run("inbox", "approve", "1")


def test_off_says_how(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("off")
    assert code == 0
    assert f"memory: {{enabled: false}} in {tmp_path / 'home/.mewcode/config.yaml'}" in out
    assert "--no-memory" in out
    assert run("off", "--json")[1]["key"] == "memory.enabled"


def test_tidy_asks_the_model_and_says_what_was_done(tmp_path: Path, fake_llm: FakeLLM) -> None:
    env = environment(tmp_path, anthropic=fake_llm.url)

    def tidy(*more: str, env: dict[str, str] = env) -> tuple[int, str, str]:
        done = run_program(["memory", "tidy", *more], cwd=tmp_path, env=env)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    assert tidy() == (0, "", "mewcode: there are no notes yet\n")
    add = ["memory", "add", "--type", "project", "--name", "部署日", "每周五部署。"]
    assert run_program(add, cwd=tmp_path, env=env).returncode == 0
    code, out, err = tidy(env=environment(tmp_path))
    assert (code, out) == (2, "")
    assert "mewcode config" in err
    change = {"do": "aliases", "notes": ["n1"], "aliases": ["发布日", "release day"]}
    reply = Reply.text(json.dumps({"changes": [change]}, ensure_ascii=False))
    refused = Reply.error(400, message="no such model")  # with a schema, and without
    fake_llm.script(reply, Reply.text(json.dumps({"changes": []})), refused, refused)
    code, out, err = tidy("--model", "claude-opus-5-5")
    assert (code, err) == (0, "")
    assert out.startswith("tidied notes: 1 easier to find · mewcode memory undo\n--- a/project/")
    assert "发布日" in out
    code, out, _ = tidy("--json", "--model", "claude-opus-5-5")
    assert code == 0
    assert json.loads(out)["change"] == ""
    code, out, err = tidy("--model", "claude-opus-5-5")
    assert (code, out) == (1, "")
    assert "nothing was changed: the model could not be asked" in err
    assert not list((tmp_path / ".mewcode").glob("**/conversation.jsonl")), "no session is kept of it"


def test_the_program_from_the_shell(tmp_path: Path) -> None:
    env = environment(tmp_path)
    add = ["memory", "add", "--type", "user", "--name", "语言", "--", "用中文回答"]
    assert run_program(add, cwd=tmp_path, env=env).returncode == 0
    done = run_program(["memory", "list", "--json"], cwd=tmp_path, env=env)
    assert [item["name"] for item in json.loads(done.stdout)] == ["语言"]
    done = run_program(["memory", "show", "none"], cwd=tmp_path, env=env)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"mewcode: there is no note none")
    done = run_program(["memory", "--help"], cwd=tmp_path, env=env)
    assert b"restore [NAME...]" in done.stdout
