"""The demo, run by the program: its label, what it does, what it leaves behind, when it is offered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mewcode.core.errors import NotConfigured
from mewcode.demo.start import LABEL
from mewcode.providers import registry
from tests.support.program import PROGRAM, environment, run_program
from tests.support.terminal import Terminal

# The program looks for a model server on this machine before it gives up; a demo must not depend on one.
NO_MODEL = {"MEWCODE_PROVIDER": "anthropic"}


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """Where the program makes its temporary folders; it has to be empty again at the end."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def env(home: Path, scratch: Path) -> dict[str, str]:
    return environment(home, TMPDIR=str(scratch))


def check_transcript(shown: str) -> None:
    """It is labelled, mends the sample between two runs of its tests, and says how to go on."""
    lines = shown.strip().splitlines()
    assert lines[0] == lines[-1] == f"[{LABEL}]"
    assert "no model is behind this demo" in shown
    steps = re.findall(rf"^\[{re.escape(LABEL)}\] \* (\w+) ", shown, re.MULTILINE)
    # The first three run at the same time and end in any order.
    assert sorted(steps[:3]) == ["list_dir", "read_file", "read_file"]
    assert steps[3:] == ["bash", "edit_file", "bash"]
    failed, edited, passed = (
        shown.index(text) for text in ("FAILED (failures=1)", "Edited stats.py", "\n    OK")
    )
    assert failed < edited < passed
    assert "denied" not in shown
    assert "How to go on" in shown
    for word in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "Ollama", "mewcode -c"):
        assert word in shown


def check_nothing_left(project: Path, home: Path) -> None:
    assert list(project.iterdir()) == []
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_without_a_terminal(project: Path, home: Path, env: dict[str, str]) -> None:
    ran = run_program(["demo"], cwd=project, env=env)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"\x1b" not in ran.stdout
    check_transcript(ran.stdout.decode())
    check_nothing_left(project, home)


def test_what_the_user_has_set_up_does_not_matter(project: Path, home: Path, env: dict[str, str]) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("permissions: {mode: plan, deny: [bash]}\n")
    (project / "stats.py").write_text("mine = True\n")
    ran = run_program(["demo"], cwd=project, env=env | {"ANTHROPIC_API_KEY": "a-key"})
    assert ran.returncode == 0
    check_transcript(ran.stdout.decode())
    assert (project / "stats.py").read_text() == "mine = True\n"
    assert [path.name for path in (home / ".mewcode").iterdir()] == ["config.yaml"]


def test_offered_without_a_terminal_it_is_played(project: Path, home: Path, env: dict[str, str]) -> None:
    ran = run_program([], cwd=project, env=env | NO_MODEL | {"MEWCODE_OFFER_DEMO": "1"})
    assert ran.returncode == 0
    assert "ANTHROPIC_API_KEY is not set" in ran.stderr.decode()
    check_transcript(ran.stdout.decode())
    check_nothing_left(project, home)


@pytest.mark.parametrize("offered", ["", "1"])
def test_a_prompt_without_a_model_is_an_error_that_helps(
    offered: str, project: Path, home: Path, env: dict[str, str]
) -> None:
    ran = run_program(["-p", "hi"], cwd=project, env=env | NO_MODEL | {"MEWCODE_OFFER_DEMO": offered})
    assert (ran.returncode, ran.stdout) == (2, b"")
    told = ran.stderr.decode()
    for word in ("ANTHROPIC_API_KEY is not set", "export ANTHROPIC_API_KEY=...", "mewcode demo"):
        assert word in told
    assert "Traceback" not in told
    check_nothing_left(project, home)


def test_the_words_where_nothing_at_all_is_set_up() -> None:
    with pytest.raises(NotConfigured) as raised:
        registry.choose_service(None, None, {}, {}, lambda: None)
    told = str(raised.value)
    for word in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "Ollama", "mewcode demo"):
        assert word in told


def test_in_a_terminal_it_is_labelled_at_every_step(project: Path, home: Path, env: dict[str, str]) -> None:
    with Terminal([*PROGRAM, "demo"], cwd=project, env=env, rows=24, columns=80) as terminal:

        def labelled() -> bool:
            return any(line.startswith(LABEL) for line in terminal.lines())

        for tool in ("bash", "edit_file", "bash"):
            terminal.wait_for_screen(f"Allow {tool}?")
            terminal.wait_until(labelled, "the label")
            terminal.send("1")
            terminal.wait_gone("Allow ")
            terminal.wait_until(labelled, "the label")
        terminal.wait_for("nothing of yours was touched")
        terminal.wait_gone("esc to stop")
        terminal.wait_until(labelled, "the label")
        terminal.send("and now?\r")
        terminal.wait_for("says how to set up a model.")
        terminal.wait_gone("esc to stop")
        terminal.wait_until(labelled, "the label")
        shown = "\n".join(terminal.history())
        assert shown.startswith("This is a demo: a script speaks, no model is behind it.")
        assert "FAILED" in shown
        terminal.send("\x04")
        assert terminal.wait_exit() == 0
    check_nothing_left(project, home)


def test_for_a_user_of_plain_lines_it_is_played_in_lines(
    project: Path, home: Path, env: dict[str, str]
) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("ui: {plain: true}\n")
    for arguments, more in ((["demo"], {}), ([], NO_MODEL | {"MEWCODE_OFFER_DEMO": "1"})):
        with Terminal([*PROGRAM, *arguments], cwd=project, env=env | more) as terminal:
            assert terminal.wait_exit() == 0
            assert b"\x1b" not in terminal.raw
            assert "How to go on" in "\n".join(terminal.history())


def test_one_that_is_ended_in_the_middle_leaves_nothing(
    project: Path, home: Path, env: dict[str, str]
) -> None:
    with Terminal([*PROGRAM, "demo"], cwd=project, env=env) as terminal:
        terminal.wait_for_screen("Allow bash?")
        terminal.send("\x1b")
        terminal.wait_gone("Allow ")
        terminal.wait_gone("esc to stop")
        terminal.send("\x04")
        assert terminal.wait_exit() == 0
