"""Project instructions without a terminal: what the model gets, and the commands that show it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.support.adverse import headless
from tests.support.fake_llm import FakeLLM, RecordedRequest, Reply
from tests.support.program import environment, run_program

CANARY = "CANARY-7731 金丝雀"
READ = ("read_file", {"path": "lib/x.py"})


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def system(request: RecordedRequest) -> str:
    """The texts of the system prompt, in either protocol."""
    if request.protocol == "openai":
        return str(request.messages[0]["content"])
    return "\n".join(block["text"] for block in request.payload["system"])  # type: ignore[attr-defined]  # as sent


def said(request: RecordedRequest) -> str:
    return json.dumps(request.messages, ensure_ascii=False)


@pytest.fixture
def lib(project: Path) -> Path:
    write(project / "lib/x.py", "x = 1\n")
    return write(project / "lib/MEWCODE.md", "LIB: use spaces. 用空格。\n")


@pytest.mark.parametrize("protocol", ["anthropic", "openai"])
def test_the_first_request_holds_the_instructions_with_what_they_include(
    protocol: str, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    (project / ".git").mkdir()
    write(
        project / "MEWCODE.md",
        "# 项目规则\r\n先写测试。\r\n@include docs/style.md\r\n@include docs/no.md\r\n",
    )
    write(project / "docs/style.md", "STYLE 风格\n@naming.md\n")
    write(project / "docs/naming.md", "NAMING\n")
    write(project / ".mewcode/MEWCODE.local.md", "PRIVATE\n")
    write(home / ".mewcode/MEWCODE.md", "EVERYWHERE 我的\n")
    write(project / "pkg/AGENTS.md", "AGENTS\n")
    fake_llm.script(Reply.text("ok"))
    url = {protocol: fake_llm.url if protocol == "anthropic" else fake_llm.openai_url}
    model = "claude-opus-5-5" if protocol == "anthropic" else "some-model"
    done = run_program(["-p", "hi", "--model", model], cwd=project / "pkg", env=environment(home, **url))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ok\n", b"")
    text = system(fake_llm.generations[0])
    parts = ["AGENTS", "# 项目规则", "先写测试。", "STYLE 风格", "NAMING", "PRIVATE", "EVERYWHERE 我的"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "<!-- @include skipped (not found): docs/no.md -->" in text
    assert text.index("Source: pkg/AGENTS.md") < text.index("Source: MEWCODE.md") < text.index("Source: ~/")
    fake_llm.assert_clean()


def test_an_untrusted_folders_instructions_are_read_and_run_nothing(
    fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    write(project / ".mewcode/config.yaml", "permissions:\n  mode: bypass\n  allow: [bash]\n")
    write(project / "MEWCODE.md", "Ours.\n!touch ran\n`touch ran`\n$(touch ran)\n")
    fake_llm.script(Reply.calls(("bash", {"command": "touch ran"})), Reply.text("ok"))
    done = headless(["hi"], project, home, fake_llm.url)
    assert done.code == 0
    assert "Ours.\n!touch ran\n" in system(fake_llm.generations[0])
    assert not (project / "ran").exists()


@pytest.mark.parametrize("way", ["parent", "link", "absolute", "home"])
def test_nothing_from_outside_is_read(way: str, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    secret = write(home / "secret.md", CANARY)
    written = {
        "parent": "../home/secret.md",
        "link": "link.md",
        "absolute": str(secret),
        "home": "~/secret.md",
    }[way]
    (project / "link.md").symlink_to(secret)
    write(project / "MEWCODE.md", f"Ours.\n@include {written}\n")
    fake_llm.script(Reply.text("ok"))
    assert headless(["hi"], project, home, fake_llm.url).code == 0
    [request] = fake_llm.generations
    assert CANARY not in request.body.decode()
    assert f"<!-- @include skipped (outside the folder that may be included from): {written} -->" in system(
        request
    )


def test_the_users_own_config_opens_more_roots_and_a_projects_does_not(
    fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    write(home / "shared/s.md", CANARY)
    write(project / "MEWCODE.md", "@include ~/shared/s.md\n")
    write(project / ".mewcode/config.yaml", "instructions:\n  include_roots: ['~/shared']\n")
    fake_llm.script(Reply.text("ok"), Reply.text("ok"))
    headless(["hi"], project, home, fake_llm.url)
    (project / ".mewcode/config.yaml").unlink()
    write(home / ".mewcode/config.yaml", "instructions:\n  include_roots: ['~/shared']\n")
    headless(["hi"], project, home, fake_llm.url)
    first, second = fake_llm.generations
    assert CANARY not in first.body.decode()
    assert CANARY in system(second)


def test_a_folder_that_a_tool_touches_tells_its_instructions_once_also_when_continued(
    fake_llm: FakeLLM, project: Path, home: Path, lib: Path
) -> None:
    fake_llm.script(Reply.calls(READ), Reply.calls(READ), Reply.text("one"))
    assert headless(["hi"], project, home, fake_llm.url).code == 0
    fake_llm.script(Reply.calls(READ), Reply.text("two"))
    assert headless(["-c", "again"], project, home, fake_llm.url).code == 0
    first, *others = fake_llm.generations
    assert "LIB: use spaces" not in first.body.decode()
    assert [said(request).count("LIB: use spaces. 用空格。") for request in others] == [1] * 4
    assert "Source: lib/MEWCODE.md (instructions of the project)" in said(others[0])
    # In the same place each time, and nowhere in the prompt.
    assert all(system(request) == system(first) for request in fake_llm.generations[:3])
    fake_llm.assert_clean()


def test_a_rule_for_paths_waits_for_one(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    write(project / "src/a.py", "x = 1\n")
    write(project / "src/a.c", "int x;\n")
    write(project / ".mewcode/rules/py.md", "---\npaths: ['src/**/*.py']\n---\nPYTHON-RULE 规则\n")
    write(project / ".mewcode/rules/all.md", "RULE-FOR-ALL\n")
    fake_llm.script(
        Reply.calls(("read_file", {"path": "src/a.c"})),
        Reply.calls(("read_file", {"path": "src/a.py"})),
        Reply.text("ok"),
    )
    assert headless(["hi"], project, home, fake_llm.url).code == 0
    assert "RULE-FOR-ALL" in system(fake_llm.generations[0])
    counts = [request.body.decode().count("PYTHON-RULE") for request in fake_llm.generations]
    assert counts == [0, 0, 1]


def test_a_changed_file_comes_with_the_next_message_of_a_run(
    fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    """The model rewrites the file itself; the next message brings the difference."""
    write(project / "MEWCODE.md", "old words\n")
    fake_llm.script(
        Reply.calls(("bash", {"command": "echo new words > MEWCODE.md"})),
        Reply.text("one"),
        Reply.text("two"),
    )
    lines = [{"type": "user", "content": "first"}, {"type": "user", "content": "second"}]
    flags = ["--input-format", "stream-json", "--output-format", "stream-json", "--permission-mode", "bypass"]
    prompts = "".join(json.dumps(line) + "\n" for line in lines).encode()
    done = headless(flags, project, home, fake_llm.url, stdin=prompts)
    assert done.code == 0, done.err
    first, second, third = fake_llm.generations
    assert "+new words" not in said(second)
    assert "-old words\\n+new words" in said(third)
    assert system(first) == system(second) == system(third)


def run(project: Path, home: Path, *arguments: str) -> tuple[int, str]:
    done = run_program(arguments, cwd=project, env=environment(home))
    assert b"Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout.decode()


def test_the_command_shows_the_tree_and_lint_says_whether_all_is_well(project: Path, home: Path) -> None:
    write(project / "MEWCODE.md", "# 规则\n@include a.md\nRun `scripts/gone`.\n")
    write(project / "a.md", "AAA\n")
    code, out = run(project, home, "instructions")
    assert code == 0
    assert out.splitlines()[0].startswith("MEWCODE.md  project, ")
    assert out.splitlines()[1].startswith("  a.md  project, 4 bytes")
    assert "missing file: scripts/gone  (MEWCODE.md:3)" in out
    assert run(project, home, "instructions", "lint")[0] == 0
    (project / "a.md").unlink()
    code, out = run(project, home, "instructions", "lint")
    assert code == 1
    assert "! a.md  (line 2) skipped: not found" in out
    code, out = run(project, home, "instructions", "lint", "--json")
    assert code == 1
    [include] = json.loads(out)["files"][0]["includes"]
    assert (include["written"], include["outcome"], include["reason"]) == ("a.md", "skipped", "not found")


def test_another_folder_is_shown_by_its_name(project: Path, home: Path, tmp_path: Path) -> None:
    write(project / "sub dir/MEWCODE.md", "SUB\n")
    code, out = run(tmp_path, home, "instructions", "--json", "--cwd", str(project / "sub dir"))
    assert code == 0
    assert json.loads(out)["files"][0]["path"] == str(project / "sub dir/MEWCODE.md")


def test_the_prompt_that_is_shown_is_the_one_that_is_sent(
    fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    write(project / "MEWCODE.md", "Speak plainly. 直说。\n")
    fake_llm.script(Reply.text("ok"))
    headless(["hi"], project, home, fake_llm.url)
    sent = system(fake_llm.generations[0])
    shutil.rmtree(project / ".mewcode")  # what a session leaves may be told to the next
    code, out = run(project, home, "prompt", "show", "--json", "--model", "claude-opus-5-5")
    assert code == 0
    shown = json.loads(out)
    assert [part["text"] for part in shown["modules"] if part["text"] not in sent] == []
    assert sum(len(part["text"]) for part in shown["modules"]) <= len(sent)
    priorities = [part["priority"] for part in shown["modules"]]
    assert priorities == sorted(priorities)
    code, text = run(project, home, "prompt", "show")
    assert code == 0
    assert "== instructions · priority 80 · " in text
    assert "直说。" in text


@pytest.mark.parametrize("words", [["instructions", "nonsense"], ["prompt"], ["prompt", "hide"]])
def test_words_that_are_none_are_refused(words: list[str], project: Path, home: Path) -> None:
    assert run(project, home, *words)[0] == 2


def test_odd_files_end_in_reasons_and_the_run_goes_on(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    names = ["fifo.md", "folder.md", "binary.md", "big.md", "cycle.md", "device.md"]
    write(project / "MEWCODE.md", "".join(f"@include {name}\n" for name in names) + "THE END\n")
    os.mkfifo(project / "fifo.md")
    (project / "folder.md").mkdir()
    (project / "binary.md").write_bytes(b"\0" * 600)
    with (project / "big.md").open("wb") as stream:
        stream.write(b"a line of text\n" * 4_000)
        stream.truncate(50 << 20)
    write(project / "cycle.md", "@include MEWCODE.md\n")
    (project / "device.md").symlink_to("/dev/zero")
    fake_llm.script(Reply.text("ok"))
    assert headless(["hi"], project, home, fake_llm.url).code == 0
    text = system(fake_llm.generations[0])
    for reason in ("not a regular file", "a folder", "binary", "a cycle: MEWCODE.md → cycle.md"):
        assert f"skipped ({reason}" in text, reason
    assert "cut here (the file is longer than 40,000 bytes): big.md" in text
    assert "THE END" in text
    assert run(project, home, "instructions", "lint")[0] == 1


def test_a_second_start_reads_nothing_again_and_says_the_same(
    fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    names = [f"docs/{number}.md" for number in range(30)]
    for name in names:
        write(project / name, f"规则 {name}\n")
    write(project / "MEWCODE.md", "".join(f"@include {name}\n" for name in [*names, "docs/none.md"]))
    fake_llm.script(*[Reply.text("ok")] * 5)
    for _ in range(3):
        assert headless(["hi"], project, home, fake_llm.url).code == 0
    [kept] = (home / ".cache/mewcode/instructions").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    data = kept.read_bytes()
    assert data.count("规则 docs/7.md".encode()) == 1
    kept.write_bytes(data.replace("规则 docs/7.md".encode(), b"KEPT!! docs/7.md"))
    assert headless(["hi"], project, home, fake_llm.url).code == 0
    write(project / "docs/none.md", "NEW\n")
    assert headless(["hi"], project, home, fake_llm.url).code == 0
    first, second, third, fourth, last = map(instructions_of, fake_llm.generations)
    missing = "<!-- @include skipped (not found): docs/none.md -->"
    assert "规则 docs/7.md" in first
    assert missing in first
    assert first == second == third
    assert fourth == first.replace("规则 docs/7.md", "KEPT!! docs/7.md")
    assert last == first.replace(missing, "NEW")


def instructions_of(request: RecordedRequest) -> str:
    """The part of the system prompt, up to the next one's heading."""
    return system(request).partition("# Instructions\n")[2].partition("\n# ")[0]
