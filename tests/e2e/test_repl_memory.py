"""`/memory` in a terminal, and "forget that": what the user types, sees and is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start, ask, leave, no_traceback
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import environment, run_program


def proposal(name: str, body: str, rests_on: str = "m1") -> Reply:
    """What a model answers that is asked for notes. The first message is the user's, the second its own."""
    note = {
        "action": "create", "type": "project_knowledge", "level": "project", "name": name, "body": body,
        "description": "", "aliases": ["release day", "发布"], "reason": "asked for", "rests_on": [rests_on],
        "file": "",
    }  # fmt: skip
    return Reply.text(json.dumps({"notes": [note]}, ensure_ascii=False))


@pytest.mark.parametrize(
    ("remember", "name", "body", "forget"),
    [
        ("remember: we deploy on Fridays", "Deploy day", "Deploys are on Fridays.", "forget that"),
        ("记住：我们每周五部署", "部署日", "每周五部署。", "把刚才那条忘掉"),
    ],
    ids=["english", "chinese"],
)
def test_forget_that_takes_back_what_was_noted_just_now(
    remember: str, name: str, body: str, forget: str, start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    fake_llm.extracts += [proposal(name, body), proposal(name, body, "m2")]
    file = f"project_knowledge_{name.lower().replace(' ', '-')}.md"
    fake_llm.script(
        Reply.text("I will."), Reply.calls(("forget_note", {"note": file})), Reply.text("It is gone."),
        Reply.text("Welcome."),
    )  # fmt: skip
    terminal = start()
    ask(terminal, remember)
    terminal.wait_for("I will.")
    terminal.wait_for(f"noted: {name}")
    assert (project / ".mewcode/memory" / file).is_file()
    ask(terminal, forget)
    terminal.wait_for_screen("Allow forget_note?")
    assert body in "\n".join(terminal.history()), "the user sees which note would go"
    terminal.send("\r")
    terminal.wait_for("It is gone.")
    assert not (project / ".mewcode/memory" / file).exists()
    reminded = json.dumps(fake_llm.generations[1].messages, ensure_ascii=False)
    assert f"- {file} {name} (noted in this conversation)" in reminded
    # The model that takes notes proposes it again, and it stays away.
    ask(terminal, "remember what I said before" if remember.isascii() else "记住我之前说的")
    terminal.wait_for("Welcome.")
    fake_llm.wait_for_extraction(2)
    ask(terminal, "/memory list")
    terminal.wait_for("there are no notes yet")
    no_traceback(terminal)
    leave(terminal)
    assert not (project / ".mewcode/memory" / file).exists()


@pytest.mark.parametrize("protocol", ["anthropic", "openai"])
def test_forget_that_means_the_last_note_in_a_session_that_goes_on(
    protocol: str, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    url = fake_llm.url if protocol == "anthropic" else fake_llm.openai_url
    model = MODEL if protocol == "anthropic" else "some-model"
    env = environment(home, **{protocol: url})

    def say(words: str, *more: str) -> None:
        done = run_program(["-p", words, "--model", model, *more], cwd=project, env=env)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"ok\n", b"")

    save: tuple[str, dict[str, object]] = (
        "save_note",
        {"type": "project_knowledge", "name": "部署日", "body": "每周五"},
    )
    fake_llm.script(
        Reply.calls(save),
        Reply.text("ok"),
        Reply.calls(("forget_note", {"note": "部署日"})),
        Reply.text("ok"),
    )
    say("note when we deploy")
    say("forget that", "-c", "--allow", "forget_note")
    reminded = "- project_knowledge_部署日.md 部署日 (noted in this conversation)"
    held = [reminded in json.dumps(one.messages, ensure_ascii=False) for one in fake_llm.generations]
    assert held == [False, False, True, True]
    assert not list((project / ".mewcode/memory").glob("project_*.md"))


def test_the_words_of_memory_in_a_terminal(
    start: Start, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    read = Reply.calls(("read_note", {"note": "部署日"}))
    fake_llm.script(read, Reply.text("Friday."), Reply.text("No idea."))
    terminal = start(columns=120)
    ask(terminal, "/memory add project 部署日：每周五")
    terminal.wait_for("noted: 部署日：每周五 · /memory undo takes it back")
    ask(terminal, "when do we deploy?")
    terminal.wait_for("Friday.")
    ask(terminal, "/memory why")
    terminal.wait_for("1 note stood before the last answer")
    terminal.wait_for("typed there by the user as a note")
    ask(terminal, "/memory pin 部署日")
    terminal.wait_for("pinned: 部署日：每周五")
    ask(terminal, "/memory show 部署日")
    terminal.wait_for("pinned: true")
    ask(terminal, "/memory nonsense")
    terminal.wait_for("/memory knows no word nonsense")
    ask(terminal, "/memory off")
    terminal.wait_for("notes are off for this session")
    ask(terminal, "when do we deploy?")
    terminal.wait_for("No idea.")
    ask(terminal, "/memory show 部署日")
    terminal.wait_for("The user turns them on with /memory on.")
    ask(terminal, "/memory on")
    terminal.wait_for("notes are on again")
    ask(terminal, "/memory forget 部署日")
    terminal.wait_for("forgotten: 部署日：每周五")
    no_traceback(terminal)
    leave(terminal)
    assert "部署日" not in json.dumps(fake_llm.generations[2].payload["system"], ensure_ascii=False)
    done = run_program(["memory", "why", "--json"], cwd=project, env=environment(home))
    assert done.returncode == 0, done.stderr


def test_a_word_and_a_name_are_completed(start: Start, fake_llm: FakeLLM) -> None:
    terminal = start()
    ask(terminal, "# 每周五部署")
    terminal.wait_for("noted: 每周五部署")
    terminal.send("/memory sh")
    terminal.wait_for_screen("NAME: one note, whole")
    terminal.send("\t")
    terminal.wait_for_screen("❯ /memory show")
    terminal.send(" ")
    terminal.wait_for_screen("project_knowledge, project")
    terminal.send("\t")
    terminal.wait_for_screen("❯ /memory show 每周五部署")
    terminal.send("\r\r")
    terminal.wait_for("origin: user")
    terminal.send("\x03")
    leave(terminal)


def test_in_plain_lines_the_words_answer_in_lines(start: Start, fake_llm: FakeLLM) -> None:
    terminal = start("--plain")
    terminal.wait_for("/help lists the commands")
    terminal.send("/memory add user 叫我小明\r")
    terminal.wait_for("noted: 叫我小明")
    terminal.send("/memory\r")
    terminal.wait_for("[user_preference] 叫我小明")
    terminal.send("/memory inbox\r")
    terminal.wait_for("nothing waits for your yes")
    terminal.send("/memory undo\r")
    terminal.wait_for("undone: created 叫我小明")
    terminal.send("\x04")
    assert terminal.wait_exit() == 0
