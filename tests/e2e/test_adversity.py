"""The real program in a hostile world: killed, without room, without its folder, beside another, offline."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from mewcode.sessions.reader import load_history
from tests.support.adverse import (
    HELD,
    MODEL,
    Start,
    ask,
    files_of,
    headless,
    kill,
    leave,
    no_traceback,
    open_gate,
    ready,
    records,
    screen,
)
from tests.support.adverse_start import adverse
from tests.support.fake_llm import FakeLLM, Gate, Reply
from tests.support.program import PROGRAM, environment
from tests.support.witness import Witness

# Killed.


def test_killed_in_the_middle_of_an_answer(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    fake_llm.script(Reply.text("Noted."), Reply.text(["The first half. ", Gate("middle"), "The rest."]))
    terminal = start()
    ask(terminal, "my colour is teal")
    terminal.wait_for("Noted.")
    ask(terminal, "tell me a story")
    terminal.wait_for("The first half.")
    kill(terminal)
    fake_llm.release("middle")
    fake_llm.script(Reply.text("Teal."))
    again = start("-c")
    again.wait_for("tell me a story")
    ask(again, "which colour?")
    again.wait_for("Teal.")
    sent = json.dumps(fake_llm.generations[-1].messages)
    assert [words in sent for words in ("is teal", "a story", "which colour?")] == [True] * 3
    leave(again)
    records(files_of(project)[0])
    fake_llm.script(Reply.text("Still teal."))
    assert headless(["-c", "and now?"], project, home, fake_llm.url)[:2] == (0, "Still teal.\n")


def test_killed_in_the_middle_of_a_tool(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    witness, gate = Witness(project / "witness"), project / "gate"
    os.mkfifo(gate)
    fake_llm.script(Reply.calls(("list_dir", {"path": "."}), ("bash", {"command": HELD})))
    terminal = start("--permission-mode", "bypass")
    ask(terminal, "wait")
    terminal.wait_for("started")
    kill(terminal)
    open_gate(gate, witness)  # what was killed could not end its command
    assert witness.all_gone()
    witness.close()
    fake_llm.script(Reply.text("I see."))
    assert headless(["-c", "what happened?"], project, home, fake_llm.url)[:2] == (0, "I see.\n")
    sent = json.dumps(fake_llm.generations[-1].messages)
    assert "its effect is unknown" in sent
    assert sent.count('"tool_result"') == 2
    assert len(records(files_of(project)[0])) >= 5


# Without room, without a folder.


def test_a_full_disk_does_not_stop_the_conversation(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    long = [f"{number} " + "word " * 300 for number in range(3)]
    fake_llm.script(*map(Reply.text, long), Reply.text("Noted."))
    terminal = start(before=partial(adverse, file_limit=4096))
    for number in range(3):
        ask(terminal, f"question {number}")
        terminal.wait_for(f"{number} word")
    terminal.wait_for("not being saved")
    terminal.wait_for_screen("NOT BEING SAVED")
    ready(terminal)
    full = files_of(project)[0]
    assert full.stat().st_size == 4096
    kept = full.with_name("kept.jsonl")
    full.rename(kept)  # the user makes room
    ask(terminal, "my colour is teal")
    terminal.wait_for("being saved again")
    terminal.wait_for("Noted.")
    leave(terminal)
    no_traceback(terminal)
    assert "NOT BEING SAVED" not in screen(terminal)
    whole, half = kept.read_text().rsplit("\n", 1)
    assert half
    said = [json.loads(line) for line in whole.split("\n")] + records(files_of(project)[0])
    asked = [text for number in range(3) for text in (f"question {number}", long[number])]
    assert [record["content"] for record in said if record.get("role")] == [
        *asked,
        "my colour is teal",
        "Noted.",
    ]


def test_saving_resumes_when_there_is_room(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    blocking = project / ".mewcode"
    blocking.write_text("a file where the folder should be")
    fake_llm.script(*(Reply.text(f"Answer {number}.") for number in range(1, 4)))
    terminal = start()
    ask(terminal, "one")
    terminal.wait_for("Answer 1.")
    terminal.wait_for_screen("NOT BEING SAVED")
    ask(terminal, "two")
    terminal.wait_for("Answer 2.")
    blocking.unlink()
    ask(terminal, "three")
    terminal.wait_for("being saved again")
    terminal.wait_for("Answer 3.")
    ready(terminal)
    assert "NOT BEING SAVED" not in screen(terminal)
    leave(terminal)
    said = [record["content"] for record in records(files_of(project)[0]) if record.get("role")]
    assert said == ["one", "Answer 1.", "two", "Answer 2.", "three", "Answer 3."]


def test_an_answer_on_a_full_disk_without_a_terminal(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("It fits."))
    prompt = "word " * 1000
    done = headless([prompt], project, home, fake_llm.url, start=adverse(PROGRAM, file_limit=2048))
    assert (done.code, done.out) == (0, "It fits.\n")
    assert "not being saved" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("home_too", [False, True])
def test_a_folder_that_may_not_be_written(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path, home_too: bool
) -> None:
    fake_llm.script(Reply.text("Answer."), Reply.calls(("write_file", {"path": "a", "content": "b"})))
    fake_llm.script(Reply.text("I could not."))
    for folder in (project, *([home] * home_too)):
        folder.chmod(0o555)
    terminal = start("--permission-mode", "bypass", before=partial(adverse, obey_modes=True))
    ask(terminal, "hello")
    terminal.wait_for("Answer.")
    terminal.wait_for_screen("NOT BEING SAVED")
    ask(terminal, "write it")
    terminal.wait_for("I could not.")
    leave(terminal)
    no_traceback(terminal)
    assert "ermission denied" in json.dumps(fake_llm.generations[-1].messages[-1])
    for folder in (project, home):
        folder.chmod(0o755)
    assert sorted(project.iterdir()) == []


def test_the_archive_is_deleted_while_running(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    fake_llm.script(Reply.text("One."), Reply.text("Two."))
    terminal = start()
    ask(terminal, "first")
    terminal.wait_for("One.")
    ready(terminal)
    shutil.rmtree(project / ".mewcode")
    ask(terminal, "second")
    terminal.wait_for("Two.")
    leave(terminal)
    no_traceback(terminal)
    said = [record["content"] for record in records(files_of(project)[0]) if record.get("role")]
    assert said == ["second", "Two."]
    fake_llm.script(Reply.text("Three."))
    assert headless(["-c", "third"], project, home, fake_llm.url).code == 0


def test_the_whole_folder_is_deleted_while_running(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    fake_llm.script(
        Reply.text("One."),
        Reply.calls(("list_dir", {"path": "."}), ("bash", {"command": "pwd"}), ("glob", {"pattern": "*"})),
        Reply.text("It is gone."),
    )
    terminal = start("--permission-mode", "bypass")
    ask(terminal, "first")
    terminal.wait_for("One.")
    ready(terminal)
    shutil.rmtree(project)
    ask(terminal, "second")
    terminal.wait_for("It is gone.")
    leave(terminal)
    no_traceback(terminal)
    results = [block for block in fake_llm.generations[-1].messages[-1]["content"] if "tool_use_id" in block]
    assert len(results) == 3


@pytest.mark.parametrize("kind", ["text", "json", "stream-json"])
def test_output_to_a_full_disk(fake_llm: FakeLLM, project: Path, home: Path, kind: str) -> None:
    fake_llm.script(Reply.text("word " * 1000))
    start = adverse(PROGRAM, file_limit=500)
    done = headless(["x", "--output-format", kind], project, home, fake_llm.url, start=start)
    assert done.code == 1
    assert "the output cannot be written" in done.err
    assert "Traceback" not in done.err


# Beside another.


def test_a_session_that_is_open_elsewhere(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("Mine."))
    terminal = start()
    ask(terminal, "hello")
    terminal.wait_for("Mine.")
    ready(terminal)
    second = headless(["-c", "me too"], project, home, fake_llm.url)
    assert second.code == 1
    assert "in use" in second.err
    assert "--fork-session" in second.err
    assert len(second.err.splitlines()) <= 2
    fake_llm.script(Reply.text("A copy."), Reply.text("Mine again."))
    fork = headless(["-c", "--fork-session", "in a copy"], project, home, fake_llm.url)
    assert fork[:2] == (0, "A copy.\n")
    ask(terminal, "go on")
    terminal.wait_for("Mine again.")
    leave(terminal)
    said = [[message.text for message in load_history(path.parent).messages] for path in files_of(project)]
    assert sorted(said) == [
        ["hello", "Mine.", "go on", "Mine again."],
        ["hello", "Mine.", "in a copy", "A copy."],
    ]


# Offline.


def test_no_network_is_told_and_can_be_stopped(start: Start, fake_llm: FakeLLM) -> None:
    terminal = start(ANTHROPIC_BASE_URL=fake_llm.refused_url)
    ask(terminal, "hello")
    terminal.wait_for_screen("of 8")
    assert "esc to stop" not in screen(terminal) or "attempt" in screen(terminal)
    terminal.send("\x03")
    terminal.wait_for("interrupted")
    leave(terminal)
    no_traceback(terminal)


def test_no_network_without_a_terminal(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "-p", "hello", "--model", MODEL],
        cwd=project,
        env=environment(home, anthropic=fake_llm.refused_url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stderr is not None
        assert child.stdout is not None
        told = child.stderr.readline().decode()
        child.send_signal(signal.SIGINT)
        rest = child.stderr.read().decode()
        assert child.stdout.read() == b""
        assert child.wait(30) == 130
    assert "attempt 2 of 8" in told
    assert fake_llm.refused_url.removeprefix("http://") in told
    assert "Traceback" not in rest


# Everything in Chinese.


def test_chinese_everywhere(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    folder = project / "项目 一"
    folder.mkdir()
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text(
        f"# 注释：默认模型\nmodel: {MODEL}  # 大模型\n", encoding="utf-8"
    )
    (folder / "说明.md").write_text("第一行\n第二行\n", encoding="utf-8")
    edit = {"path": "说明.md", "edits": [{"old_text": "第二行", "new_text": "第二行，改过"}]}
    fake_llm.script(
        Reply.calls(("read_file", {"path": "说明.md"})),
        Reply.calls(("edit_file", edit), ("bash", {"command": "mkdir -p 文档 && cp 说明.md 文档/副本.md"})),
        Reply.calls(("grep", {"pattern": "改过"}), ("glob", {"pattern": "**/*副本*"})),
        Reply.text("改好了：`说明.md`。"),
    )
    arguments = ["--cwd", str(folder), "--permission-mode", "bypass"]
    done = headless([*arguments, "请修改", "说明"], project, home, fake_llm.url)
    assert done[:3] == (0, "改好了：`说明.md`。\n", "")
    assert (folder / "文档/副本.md").read_text(encoding="utf-8") == "第一行\n第二行，改过\n"
    found = json.dumps(fake_llm.generations[-1].messages[-1], ensure_ascii=False)
    assert "说明.md" in found
    assert "文档/副本.md" in found
    fake_llm.script(Reply.calls(("bash", {"command": "touch 新文件"})), Reply.text("建好了。"))
    terminal = start("-c", "--cwd", str(folder), LANG="zh_CN.UTF-8")
    terminal.wait_until(lambda: "请修改说明" in "".join(terminal.history()).replace(" ", ""), "the history")
    ask(terminal, "再建一个")
    terminal.wait_for_screen("Allow bash?")
    terminal.send("3")
    terminal.wait_until(lambda: "建好了" in "".join(terminal.history()).replace(" ", ""), "the answer")
    leave(terminal)
    assert (folder / "新文件").exists()
    assert "bash(touch " in (folder / ".mewcode/config.local.yaml").read_text(encoding="utf-8")
