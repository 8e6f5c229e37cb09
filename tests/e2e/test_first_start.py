"""The first start in a terminal: from nothing to a model that answers; and what looks after it later."""

from __future__ import annotations

import json
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import PROGRAM, environment, run_program
from tests.support.terminal import Terminal

KEY = "sk-typed-by-hand-0123456789"
# A terminal shows what is typed, until a program says otherwise; the one of the tests does not.
ECHOING = ("sh", "-c", 'stty echo; exec "$@"', "sh")
# No look for a server on this machine decides what is started.
NONE = {"MEWCODE_PROVIDER": "anthropic"}


class Starter:
    def __init__(self, stack: ExitStack, project: Path, home: Path) -> None:
        self._stack, self._project, self._home = stack, project, home

    def __call__(self, *arguments: str, rows: int = 24, columns: int = 80, **env: str) -> Terminal:
        return self._stack.enter_context(
            Terminal(
                [*ECHOING, *PROGRAM, *arguments],
                cwd=self._project,
                env=environment(self._home, **env),
                rows=rows,
                columns=columns,
            )
        )


@pytest.fixture
def begin(project: Path, home: Path) -> Iterator[Starter]:
    with ExitStack() as stack:
        yield Starter(stack, project, home)


def pick(terminal: Terminal, option: str) -> None:
    """Types the number that stands before ``option``."""
    pattern = re.compile(rf"^ +(\d+)  {re.escape(option)}")

    def numbers() -> list[str]:
        return [found[1] for line in terminal.lines() if (found := pattern.match(line))]

    terminal.wait_until(lambda: bool(numbers()), f"the option {option!r}")
    terminal.wait_until(lambda: terminal.lines()[terminal.screen.cursor.y].endswith(":"), "the question")
    terminal.send(f"{numbers()[-1]}\r")


def kept(home: Path) -> dict[str, dict[str, str]]:
    path = home / ".mewcode/credentials.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    keys: dict[str, dict[str, str]] = json.loads(path.read_text())["keys"]
    return keys


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (50, 200)])
def test_a_key_is_typed_tried_and_kept_and_the_session_begins(
    begin: Starter, fake_llm: FakeLLM, home: Path, project: Path, rows: int, columns: int
) -> None:
    fake_llm.api_key = KEY
    fake_llm.script(Reply.text("Hello from the model."))
    terminal = begin(rows=rows, columns=columns, ANTHROPIC_BASE_URL=fake_llm.url, **NONE)
    terminal.wait_for_screen("Which model do you want to use?")
    assert "ANTHROPIC_API_KEY is not set" in terminal.lines()[0], "all of it fits on the screen"
    assert max(map(len, terminal.lines())) <= min(columns, 100)
    pick(terminal, "Anthropic (Claude)")
    terminal.wait_for_screen("API key of Anthropic (not shown):")
    terminal.send("sk-wrong\r")
    terminal.wait_for_screen("refused the key (HTTP 401)")
    pick(terminal, "Type the key again")
    terminal.wait_until(
        lambda: terminal.lines()[terminal.screen.cursor.y].startswith("API key of"), "the question again"
    )
    terminal.send(f"{KEY}\r")
    pick(terminal, "fake-small")
    terminal.wait_for("written to ~/.mewcode/config.yaml")
    terminal.wait_for_screen("❯")
    terminal.send("hi\r")
    terminal.wait_for("Hello from the model.")
    terminal.wait_gone("esc to stop")
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
    assert KEY.encode() not in terminal.raw
    assert fake_llm.generations[-1].model == "fake-small"
    assert fake_llm.generations[-1].headers["x-api-key"] == KEY
    assert kept(home)["anthropic"]["key"] == KEY
    assert (home / ".mewcode/config.yaml").read_text() == "provider: anthropic\nmodel: fake-small\n"
    assert not (project / ".mewcode/config.yaml").exists()
    assert KEY not in "".join(
        path.read_text() for path in project.rglob("*") if path.is_file() and path.suffix != ".lock"
    )


def test_the_kept_key_is_used_from_then_on_and_only_for_its_address(
    begin: Starter, fake_llm: FakeLLM, home: Path, project: Path
) -> None:
    fake_llm.api_key = KEY
    terminal = begin("config", **NONE)
    pick(terminal, "Any OpenAI-compatible address")
    terminal.wait_for_screen("Address:")
    terminal.send("models.example.com\r")
    terminal.wait_for_screen("An address begins with https://")
    terminal.send(f"{fake_llm.openai_url}\r")
    terminal.wait_for_screen("not shown; Enter: none):")
    terminal.send(f"{KEY}\r")
    pick(terminal, "fake-large")
    terminal.wait_for("MEWCODE_PROVIDER says provider: anthropic")
    assert terminal.wait_exit() == 0
    config = (home / ".mewcode/config.yaml").read_text()
    [name] = re.findall(r"^provider: (.*)$", config, re.MULTILINE)
    assert KEY not in config
    fake_llm.script(Reply.text("yes"))
    ran = run_program(["-p", "hi"], cwd=project, env=environment(home))
    assert (ran.returncode, ran.stdout) == (0, b"yes\n"), ran.stderr
    assert fake_llm.generations[-1].headers["authorization"] == f"Bearer {KEY}"
    variable = re.findall(r"api_key_env: (\w+)", config)[0]
    moved = run_program(
        ["-p", "hi", "--base-url", "http://127.0.0.1:9/v1"], cwd=project, env=environment(home)
    )
    assert moved.returncode == 2
    assert f"{variable} is not set" in moved.stderr.decode()
    assert list(kept(home)) == [name]


def test_a_prompt_on_the_command_line_is_sent_after_the_set_up(
    begin: Starter, fake_llm: FakeLLM, project: Path
) -> None:
    fake_llm.script(
        Reply.calls(("bash", {"command": "echo key:$DEEPSEEK_API_KEY:"})), Reply.text("All done.")
    )
    env = {"DEEPSEEK_API_KEY": KEY, "MEWCODE_PROVIDER": "anthropic"}
    config = f"providers: {{deepseek: {{base_url: '{fake_llm.openai_url}'}}}}\n"
    (project / "extra.yaml").write_text(config)
    terminal = begin("--config", "extra.yaml", "--allow", "bash(echo *)", "say it", **env)
    pick(terminal, "Another service")
    pick(terminal, "DeepSeek")
    terminal.wait_for_screen("The key is taken from DEEPSEEK_API_KEY.")
    pick(terminal, "fake-large")
    terminal.wait_for("All done.")
    first, second = fake_llm.generations
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert "say it" in str(first.body)
    assert "key::" in str(second.body), "commands do not get it"
    assert KEY not in str(second.body)


@pytest.mark.parametrize("leave", ["q\r", "\x04"])
def test_leaving_keeps_nothing(begin: Starter, home: Path, leave: str) -> None:
    terminal = begin(**NONE)
    terminal.wait_for_screen("Which model do you want to use?")
    terminal.wait_until(lambda: "Number" in terminal.lines()[terminal.screen.cursor.y], "the question")
    terminal.send(leave)
    assert terminal.wait_exit() == 2
    assert not (home / ".mewcode").exists()


def test_ctrl_c_ends_it_with_the_terminal_as_it_was(begin: Starter, home: Path) -> None:
    terminal = begin(**NONE)
    pick(terminal, "Anthropic (Claude)")
    terminal.wait_for_screen("API key of Anthropic")
    terminal.send("\x03")
    assert terminal.wait_exit() == 130
    assert not (home / ".mewcode").exists()


def test_the_demo_is_a_choice(begin: Starter) -> None:
    terminal = begin(**NONE)
    pick(terminal, "The demo")
    terminal.wait_for_screen("Allow bash?")
    terminal.wait_for_screen("DEMO: a script, no model")


def test_a_service_that_does_not_answer_can_be_kept_anyway(begin: Starter, home: Path) -> None:
    terminal = begin("config", **NONE)
    pick(terminal, "Any OpenAI-compatible address")
    terminal.wait_for_screen("Address:")
    terminal.send("http://127.0.0.1:9/v1\r")
    terminal.wait_for_screen("Enter: none")
    terminal.send("\r")
    terminal.wait_for_screen("cannot reach http://127.0.0.1:9")
    pick(terminal, "Keep it as it is")
    terminal.wait_for_screen("Model (Enter")
    terminal.send("qwen3-coder\r")
    terminal.wait_for("written to")
    assert terminal.wait_exit() == 0
    text = (home / ".mewcode/config.yaml").read_text()
    assert "base_url: 'http://127.0.0.1:9/v1'" in text or "base_url: http://127.0.0.1:9/v1" in text
    assert "model: qwen3-coder" in text
    assert not (home / ".mewcode/credentials.json").exists()


def test_config_keeps_what_the_user_wrote(begin: Starter, fake_llm: FakeLLM, home: Path) -> None:
    folder = home / ".mewcode"
    folder.mkdir(mode=0o700)
    (folder / "config.yaml").write_text("# mine\nmodel: old # the old one\nui: {theme: light}\n")
    terminal = begin("config", ANTHROPIC_API_KEY="from-env", ANTHROPIC_BASE_URL=fake_llm.url)
    pick(terminal, "Anthropic (Claude)")
    terminal.wait_for_screen("The key is taken from ANTHROPIC_API_KEY.")
    pick(terminal, "fake-large")
    assert terminal.wait_exit() == 0
    text = (folder / "config.yaml").read_text()
    assert text == ("# mine\nmodel: fake-large # the old one\nui: {theme: light}\nprovider: anthropic\n")
    assert not (folder / "credentials.json").exists()


def test_config_shows_each_value_and_its_origin(home: Path, project: Path) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("model: mine\n")
    env = environment(home, MEWCODE_PROVIDER="ollama")
    ran = run_program(["config", "show", "--json"], cwd=project, env=env)
    entries = {entry["key"]: entry for entry in json.loads(ran.stdout)}
    assert entries["model"] == {
        "key": "model", "value": "mine", "origin": "user config ~/.mewcode/config.yaml:1",
    }  # fmt: skip
    assert entries["provider"]["origin"] == "environment variable MEWCODE_PROVIDER"
    shown = run_program(["config", "show"], cwd=project, env=env).stdout.decode()
    assert re.search(r"^model +mine +\(user config", shown, re.MULTILINE)
    path = run_program(["config", "path"], cwd=project, env=env)
    assert path.stdout.decode() == f"{home}/.mewcode/config.yaml\n"
    asked = run_program(["config"], cwd=project, env=env)
    assert (asked.returncode, asked.stdout) == (2, b"")
    assert "needs a terminal" in asked.stderr.decode()


def test_a_known_service_needs_its_key_variable_alone(fake_llm: FakeLLM, home: Path, project: Path) -> None:
    fake_llm.script(Reply.text("yes"))
    env = environment(home, DEEPSEEK_API_KEY=KEY)
    arguments = ["-p", "hi", "--provider", "deepseek", "--model", "m", "--base-url", fake_llm.openai_url]
    assert run_program(arguments, cwd=project, env=env).stdout == b"yes\n"
    assert fake_llm.generations[-1].headers["authorization"] == f"Bearer {KEY}"


def test_the_doctor_is_content_where_all_is_well(fake_llm: FakeLLM, home: Path, project: Path) -> None:
    env = environment(home, anthropic=fake_llm.url, MEWCODE_MODEL="fake-large")
    ran = run_program(["doctor", "--json"], cwd=project, env=env)
    checks = {entry["check"]: entry for entry in json.loads(ran.stdout)}
    assert ran.returncode == 0, checks
    assert all(set(entry) == {"check", "status", "detail", "hint"} for entry in checks.values())
    assert checks["service"]["status"] == "ok"
    assert "2 models" in checks["service"]["detail"]
    assert checks["keys"]["detail"] == "anthropic: ANTHROPIC_API_KEY"
    assert b"test-key" not in ran.stdout
    assert fake_llm.generations == [], "it costs nothing"
    assert list(project.iterdir()) == [], "it changes nothing"
    assert not (home / ".mewcode").exists()


def test_the_doctor_says_what_to_mend(fake_llm: FakeLLM, home: Path, project: Path) -> None:
    fake_llm.api_key = "another"
    (home / ".mewcode").mkdir(mode=0o755)
    (home / ".mewcode").chmod(0o755)
    env = environment(home, anthropic=fake_llm.url, LANG="C", SSL_CERT_FILE="/nonexistent/ca.pem")
    ran = run_program(["doctor"], cwd=project, env=env)
    assert ran.returncode == 1
    told = ran.stdout.decode()
    assert re.search(r"^fail +service .*HTTP 401", told, re.MULTILINE)
    assert re.search(r"^warn +user folder .*755\)\n +-> chmod 700", told, re.MULTILINE)
    assert re.search(r"^fail +certificates +SSL_CERT_FILE", told, re.MULTILINE)
    assert "test-key" not in told


# How each shell is started with a file of its own; those that are installed are tried.
SHELLS = {
    "bash": ('exec bash --noprofile --rcfile "$HOME/rc" -i', ""),
    "zsh": ('cp "$HOME/rc" "$HOME/.zshrc"; exec zsh -i', "autoload -U compinit; compinit -u\n"),
}


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("mewcode --perm", "--permission-mode"),
        ("mewcode --permission-mode pl", "--permission-mode plan"),
        ("mewcode --permission-mode=by", "--permission-mode=bypass"),
        ("mewcode doc", "doctor"),
        ("mewcode completion z", "completion zsh"),
        ("mewcode --provider deep", "deepseek"),
        ("mewcode -r 2026", "20261130-120000-abcd"),
    ],
)
def test_a_real_shell_completes(
    shell: str, typed: str, completed: str, home: Path, project: Path, tmp_path: Path
) -> None:
    (project / ".mewcode/sessions/20261130-120000-abcd").mkdir(parents=True)
    env = environment(home, INPUTRC="/dev/null")
    script = run_program(["completion", shell], cwd=project, env=env)
    assert script.returncode == 0
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/mewcode"
    program.write_text(f'#!/bin/sh\nexec {PROGRAM[0]} -m mewcode "$@"\n')
    program.chmod(0o755)
    begin, first = SHELLS[shell]
    (home / "rc").write_text(first + script.stdout.decode() + "PS1='> '\n")
    env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"
    with Terminal([*ECHOING, "sh", "-c", begin], cwd=project, env=env) as terminal:
        terminal.wait_for_screen(">")
        terminal.send(f"{typed}\t")
        terminal.wait_for_screen(completed)
