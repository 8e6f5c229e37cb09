"""What README.md and the pages that go on from it name is there: flags, tools, keys, commands, variables,
links. Their examples run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_origin
from xml.etree import ElementTree as ET

import msgspec
import pytest
import yaml

from mewcode.cli import parse, parsers
from mewcode.config.load import load_config
from mewcode.config.schema import Settings
from mewcode.core.access import MODES
from mewcode.headless.output import result_object
from mewcode.infra.paths import Places
from mewcode.permissions.modes import DESCRIPTIONS
from mewcode.permissions.rules import Rule
from mewcode.repl.commands import builtin_commands
from mewcode.tools.registry import builtin_tools
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import ROOT, environment

FRONT_PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ("docs/SESSIONS.md", "docs/NOTES.md")
README = "\n".join([FRONT_PAGE, *((ROOT / page).read_text(encoding="utf-8") for page in PAGES)])
LIBRARY = (ROOT / "docs/LIBRARY.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PROSE = re.sub(r"^```.*?^```$", "", README, flags=re.DOTALL | re.MULTILINE)
CODE = re.findall(r"`([^`\n]+)`", PROSE)
SHELL = "".join(text for language, text in BLOCKS if language == "sh")

# Flags of programs that are not ours.
FOREIGN_FLAGS = {"--runs"}
# Read by the libraries that make the connection.
LIBRARY_VARIABLES = {"HTTPS_PROXY": "httpx", "NO_PROXY": "httpx"}


def examples(language: str) -> list[str]:
    return [text for found, text in BLOCKS if found == language]


def test_every_flag_exists() -> None:
    known = {
        flag for parser in parsers().values() for action in parser._actions for flag in action.option_strings
    }
    usages = " ".join(command.usage for command in builtin_commands().commands.values())
    slash_flags = set(re.findall(r"--[a-z][a-z-]+", usages))
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) - FOREIGN_FLAGS - slash_flags
    assert named
    assert named <= known
    short = set(re.findall(r"mewcode (-[a-z])\b", README))
    assert short == {"-c", "-r", "-p"}
    assert short <= known


def test_every_command_line_is_understood() -> None:
    lines = re.findall(r"(?:^|\| |`)(mewcode(?: [^`#\n|]*)?)", SHELL.replace("\\\n", " "), re.MULTILINE)
    lines += [code for code in CODE if code.startswith("mewcode ")]
    assert len(lines) > 10
    for line in lines:
        arguments = shlex.split(line)[1:]
        if arguments not in (["--help"], ["..."]):
            parse(arguments)


def test_every_tool_is_named_and_exists() -> None:
    tools = {tool.name for tool in builtin_tools()}
    [paragraph] = re.findall(r"^The model has these tools:.*?\n\n", PROSE, re.DOTALL | re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", paragraph)) == tools


def test_every_slash_command_is_named_and_exists() -> None:
    named = {found[1:] for code in CODE if (found := code.split()[0]) and re.fullmatch(r"/[a-z]+", found)}
    assert named == set(builtin_commands().commands)
    for command in builtin_commands().commands.values():
        if command.usage:
            assert f"`/{command.name} {command.usage}`" in README


def test_every_mode_is_explained_in_its_own_words() -> None:
    for mode in MODES:
        [line] = re.findall(rf"^\| `{mode}` \| (.*) \|$", README, re.MULTILINE)
        assert line.startswith(DESCRIPTIONS[mode])


def test_every_rule_is_one() -> None:
    rules = [code for code in CODE if re.fullmatch(r"[a-z_]+\(.+\)", code)]
    rules += re.findall(r'--(?:allow|deny) "([^"]+)"', SHELL)
    rules = [rule for rule in rules if rule != "tool(pattern)"]
    assert len(rules) > 4
    for rule in rules:
        Rule.parse(rule)


def test_every_environment_variable_is_read() -> None:
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in (
            *(ROOT / "mewcode").rglob("*.py"),
            ROOT / "mewcode/providers/presets.json",
            *(ROOT / "scripts").iterdir(),
        )
    )
    named = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", README)) - set(LIBRARY_VARIABLES)
    named -= {entry["api_key_env"] for entry in _config()["providers"].values()}
    assert "ANTHROPIC_API_KEY" in named
    assert {name for name in named if name not in source} == set()


def _config() -> dict[str, Any]:
    [text] = examples("yaml")
    values: dict[str, Any] = yaml.safe_load(text)
    return values


def test_the_example_config_is_valid(tmp_path: Path) -> None:
    [text] = examples("yaml")
    (tmp_path / "user").mkdir()
    (tmp_path / "user/config.yaml").write_text(text, encoding="utf-8")
    places = Places(tmp_path, tmp_path, tmp_path / "user", tmp_path / ".mewcode")
    loaded = load_config(places, {"HOME": str(tmp_path)}, trusted=True)
    assert loaded.notices == []
    for rules in (loaded.config.permissions.allow, loaded.config.permissions.ask):
        for rule in rules:
            Rule.parse(rule)


def test_every_config_key_exists() -> None:
    dotted = {
        code for code in CODE if re.fullmatch(r"(?:permissions|providers|models|ui|shell)\.[\w.]+", code)
    }
    inline = [code for code in CODE if re.fullmatch(r"[a-z_]+: .+", code)]
    for key in dotted:
        assert _key_exists(Settings, key.split(".")), key
    for text in inline:
        msgspec.convert(yaml.safe_load(text), Settings)


def _key_exists(kind: Any, parts: list[str]) -> bool:
    if not parts:
        return True
    if get_origin(kind) is dict:
        return _key_exists(get_args(kind)[1], parts[1:])
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    return parts[0] in fields and _key_exists(fields[parts[0]], parts[1:])


def test_the_result_object_has_the_fields_named() -> None:
    [line] = re.findall(r"`--output-format json`:.*?\n- ", PROSE, re.DOTALL)
    named = set(re.findall(r"`(\w+)`", line))
    assert len(named) == 7
    assert named <= set(result_object([], ""))


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


DOCUMENTS = (
    "README.md", "docs/ARCHITECTURE.md", "docs/LIBRARY.md", "docs/SPEED.md", *PAGES, "CHANGELOG.md",
)  # fmt: skip


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src(?:set)?="([^"]+)"', text)
    for link in links:
        path, _, anchor = link.partition("#")
        target = (ROOT / document).parent / path if path else ROOT / document
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target.read_text(encoding="utf-8")), link


def test_every_file_named_is_there() -> None:
    for name in re.findall(r"(?<![\w/.~-])(?:scripts|docs|mewcode|tests)/[\w./-]+\w", README):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("name", ["scripts/run", "scripts/test"])
def test_the_set_up_commands_are_there(name: str) -> None:
    assert re.search(rf"^{name}\b", SHELL, re.MULTILINE)
    assert os.access(ROOT / name, os.X_OK)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("approval", ("return subtotal", "Allow edit_file?")),
        ("turn", ("return subtotal", "without a discount nothing changes")),
        ("model", ("/model", "choose a model", "1,000k window", "per million")),
        ("memory", ("Code freeze", "提交信息", "^D forgets")),
        ("status", ("/status", "session", "context", "~/shop", "columns by")),
    ],
)
def test_the_pictures_show_what_they_say(name: str, shown: tuple[str, ...], theme: str) -> None:
    picture = ET.parse(ROOT / f"docs/pictures/{name}-{theme}.svg").getroot()
    text = "".join(picture.itertext())
    title = picture.findtext("{http://www.w3.org/2000/svg}title")
    assert f'alt="{title}"' in README
    for words in shown:
        assert words in text
    assert "/tmp" not in text


def test_the_library_example_runs(fake_llm: FakeLLM, tmp_path: Path) -> None:
    [example] = re.findall(r"^```python\n(.*?)^```$", LIBRARY, re.DOTALL | re.MULTILINE)
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    (project / "test_it.py").write_text("assert 1 == 2\n")
    edit = {"path": "test_it.py", "edits": [{"old_text": "1 == 2", "new_text": "2 == 2"}]}
    fake_llm.script(
        Reply.calls(("read_file", {"path": "test_it.py"})),
        Reply.calls(("edit_file", edit)),
        Reply.text("It passes now."),
    )
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "error", tmp_path / "example.py"],
        cwd=project,
        env=environment(home, anthropic=fake_llm.url, MEWCODE_MODEL="claude-opus-5-5"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "read_file test_it.py\nedit_file test_it.py\nIt passes now.\n"
    assert (project / "test_it.py").read_text() == "assert 2 == 2\n"


def test_the_readme_can_be_read_in_one_go() -> None:
    assert len(FRONT_PAGE.splitlines()) < 400
    assert max(map(len, PROSE.splitlines())) <= 140
