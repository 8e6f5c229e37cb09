"""The input of the terminal front end: history, mentions, pastes, pictures, the editor, commands."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path

import PIL.Image
import pytest

from tests.support.adverse import Start, ask, leave, ready
from tests.support.fake_llm import FakeLLM, Gate, Reply
from tests.support.witness import Witness

SIZES = [(24, 80), (50, 200)]


def png(width: int, height: int) -> bytes:
    into = io.BytesIO()
    PIL.Image.new("RGB", (width, height)).save(into, "PNG")
    return into.getvalue()


def said(fake_llm: FakeLLM, number: int = -1) -> str:
    return json.dumps(fake_llm.generations[number].messages, ensure_ascii=False)


def first_words(fake_llm: FakeLLM, number: int = -1) -> str:
    """The user's own text of a request's last message of theirs."""
    content = fake_llm.generations[number].messages[-1]["content"]
    return str(next(block["text"] for block in content if block["type"] == "text"))


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_ctrl_r_searches_earlier_inputs_also_of_other_sessions(
    start: Start, fake_llm: FakeLLM, rows: int, columns: int
) -> None:
    for words in ("fix the parser", "write the tests", "fix the printer"):
        fake_llm.script(Reply.text(f"Done: {words}."))
    terminal = start(rows=rows, columns=columns)
    for words in ("fix the parser", "write the tests", "fix the printer"):
        ask(terminal, words)
        terminal.wait_for(f"Done: {words}.")
    leave(terminal)
    fake_llm.script(Reply.text("Once more."))
    second = start(rows=rows, columns=columns)
    ready(second)
    second.send("a draft")
    second.wait_for_screen("❯ a draft")
    second.send("\x12")
    second.wait_for_screen("earlier input with:")
    second.send("fix")
    second.wait_for_screen("❯ fix the printer")
    second.send("\x12")
    second.wait_for_screen("❯ fix the parser")
    second.send("\x1b")
    second.wait_for_screen("❯ a draft")
    second.wait_gone("earlier input with:")
    second.send("\x12parser")
    second.wait_for_screen("❯ fix the parser")
    second.send("\r")
    second.wait_gone("earlier input with:")
    second.send(" now\r")
    second.wait_for("Once more.")
    assert first_words(fake_llm) == "fix the parser now"


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_a_file_is_completed_and_attached(
    start: Start, fake_llm: FakeLLM, project: Path, rows: int, columns: int
) -> None:
    (project / "src").mkdir()
    (project / "src" / "input_keys.py").write_text("x = 1\ny = 2\n")
    (project / "src" / "other.py").write_text("z = 3\n")
    edit = {"path": "src/input_keys.py", "edits": [{"old_text": "y = 2", "new_text": "y = 3"}]}
    fake_llm.script(Reply.calls(("edit_file", edit)), Reply.text("Edited."))
    terminal = start("--permission-mode", "accept-edits", rows=rows, columns=columns)
    ready(terminal)
    terminal.send("set y in @ink")
    terminal.wait_for_screen("src/input_keys.py")
    terminal.send("\t")
    terminal.wait_for_screen("❯ set y in @src/input_keys.py")
    terminal.send("\r")
    terminal.send("to 3\r")
    terminal.wait_for("Edited.")
    assert "└ src/input_keys.py · 2 lines" in "\n".join(terminal.history())
    assert first_words(fake_llm, 0).startswith("set y in @src/input_keys.py to 3")
    assert "1\\tx = 1" in said(fake_llm, 0)
    assert "attached the file src/input_keys.py" in said(fake_llm, 0)
    # The file counts as read.
    assert (project / "src" / "input_keys.py").read_text() == "x = 1\ny = 3\n"


def test_a_range_a_folder_a_name_with_blanks_and_what_is_missing(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    (project / "long.txt").write_text("".join(f"row {number}\n" for number in range(1, 101)))
    (project / "a b.txt").write_text("blank\n")
    (project / "docs").mkdir()
    (project / "docs" / "guide.md").write_text("# Guide\n")
    fake_llm.script(Reply.text("Seen."))
    terminal = start()
    ask(terminal, '看看@long.txt#20-22里的, @docs/ and @"a b.txt", not @nothing.py.')
    terminal.wait_for("Seen.")
    sent = said(fake_llm)
    assert "20\\trow 20" in sent
    assert "22\\trow 22" in sent
    assert "row 23" not in sent
    assert "row 19" not in sent
    assert "guide.md" in sent
    assert "1\\tblank" in sent
    terminal.wait_for("there is no file nothing.py")


def test_a_folder_outside_is_attached_where_it_was_typed_not_where_it_was_pasted(
    start: Start, fake_llm: FakeLLM, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("from outside\n")
    fake_llm.script(Reply.text("One."), Reply.text("Two."))
    terminal = start(columns=200)
    ready(terminal)
    terminal.send(f"\x1b[200~see @{outside} please\x1b[201~\r")
    terminal.wait_for("One.")
    terminal.wait_for("lies outside of the workspace")
    assert "from outside" not in said(fake_llm)
    ask(terminal, f"see @{outside} please")
    terminal.wait_for("Two.")
    assert "from outside" in said(fake_llm)


def test_what_a_rule_denies_is_not_attached(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    (project / "key.txt").write_text("hush\n")
    fake_llm.script(Reply.text("No."))
    terminal = start("--deny", "read_file(key.txt)")
    ask(terminal, "look at @key.txt")
    terminal.wait_for("No.")
    terminal.wait_for("a rule forbids")
    assert "hush" not in said(fake_llm)


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_pastes_are_folded_edited_as_one_and_sent_whole(
    start: Start, fake_llm: FakeLLM, rows: int, columns: int
) -> None:
    fake_llm.script(Reply.text("Read."))
    terminal = start(rows=rows, columns=columns)
    ready(terminal)
    long = "".join(f"line\t{number}\r\n" for number in range(5000))
    short = "x\r" * 20
    terminal.send(f"read \x1b[200~{long}\x1b[201~ and \x1b[200~{short}\x1b[201~")
    terminal.wait_for_screen("[paste 2: 20 lines]")
    terminal.wait_for_screen("[paste 1: 5,000 lines]")
    terminal.send("\x7f")
    terminal.wait_gone("[paste 2")
    assert not fake_llm.generations
    terminal.send("then stop\r")
    terminal.wait_for("Read.")
    assert first_words(fake_llm) == "read " + long.replace("\r\n", "\n") + " and then stop"


def test_a_paste_without_its_end_is_taken_and_keys_work_on(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("Got it."))
    terminal = start()
    ready(terminal)
    terminal.send("\x1b[200~half a\rpaste")
    terminal.wait_for_screen("paste")
    terminal.send(" and keys\r")
    terminal.wait_for("Got it.")
    assert first_words(fake_llm) == "half a\npaste and keys"


def test_a_dropped_picture_is_attached(start: Start, fake_llm: FakeLLM, project: Path, home: Path) -> None:
    folder = home / "my shots"
    folder.mkdir()
    (folder / "a.png").write_bytes(png(3, 2))
    fake_llm.script(Reply.text("A picture."))
    terminal = start(columns=200)
    ready(terminal)
    escaped = str(folder / "a.png").replace(" ", "\\ ")
    terminal.send(f"\x1b[200~{escaped} \x1b[201~")
    terminal.wait_for_screen("my shots/a.png")
    terminal.send("what is it?\r")
    terminal.wait_for("A picture.")
    kinds = [block["type"] for block in fake_llm.generations[-1].messages[0]["content"]]
    assert "image" in kinds


def test_a_picture_of_the_clipboard(start: Start, fake_llm: FakeLLM, tmp_path: Path) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (tmp_path / "clip.png").write_bytes(png(3, 2))
    tool = bin_ / "xclip"
    tool.write_text(f"#!/bin/sh\nexec cat {tmp_path}/clip.png\n")
    tool.chmod(0o755)
    fake_llm.script(Reply.text("Seen."))
    terminal = start(PATH=f"{bin_}:/usr/bin:/bin")
    ready(terminal)
    terminal.send("look: \x16")
    terminal.wait_for_screen("[image 1: PNG, 1 KB]")
    terminal.send("\r")
    terminal.wait_for("Seen.")
    kinds = [block["type"] for block in fake_llm.generations[-1].messages[0]["content"]]
    assert "image" in kinds


def test_a_model_without_eyes_is_told_of_no_picture(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    (project / "a.png").write_bytes(png(3, 2))
    config = project / ".mewcode"
    config.mkdir()
    (config / "config.yaml").write_text("models:\n  claude-opus-5-5:\n    vision: false\n")
    fake_llm.script(Reply.text("No eyes."))
    terminal = start(columns=200)
    ask(terminal, "look at @a.png")
    terminal.wait_for("takes none")
    terminal.wait_for("No eyes.")
    assert '"image"' not in said(fake_llm)


def test_the_editor_takes_the_text_and_gives_it_back(start: Start, fake_llm: FakeLLM, tmp_path: Path) -> None:
    editor = tmp_path / "my editor"
    editor.write_text('#!/bin/sh\necho "second line, 第二行" >> "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    fake_llm.script(Reply.text("Fine."))
    terminal = start(EDITOR=f"'{editor}'")
    ready(terminal)
    terminal.send("first line\x0a\x18\x05")
    terminal.wait_until(lambda: "second line" in "\n".join(terminal.lines()), "the edited text")
    ready(terminal)
    terminal.send("\r")
    terminal.wait_for("Fine.")
    assert first_words(fake_llm) == "first line\nsecond line, 第二行"


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_a_command_of_the_users_own_is_shown_and_told(
    start: Start, fake_llm: FakeLLM, project: Path, rows: int, columns: int
) -> None:
    (project / "sub").mkdir()
    fake_llm.script(Reply.text("I see."))
    terminal = start(rows=rows, columns=columns)
    ask(terminal, "!cd sub && echo hello $((40 + 2)); false")
    terminal.wait_for("hello 42")
    terminal.wait_for("exit 1")
    assert "\n".join(terminal.history()).count("echo hello $((40 + 2))") == 1
    ask(terminal, f"!true {'x' * 2 * columns}; echo a-long-one | tr - ' '")
    terminal.wait_for("    a long one")
    assert "\n".join(terminal.history()).count("a-long-one") == 1
    ask(terminal, '!echo "in $(basename "$PWD")"')
    terminal.wait_for("    in sub")
    ask(terminal, "what happened?")
    terminal.wait_for("I see.")
    sent = said(fake_llm)
    assert "$ cd sub && echo hello" in sent
    assert "hello 42" in sent
    assert "exit code 1" in sent
    assert first_words(fake_llm) == "what happened?"
    assert len(fake_llm.generations) == 1


def test_ctrl_c_ends_a_command_of_the_users_own(start: Start, fake_llm: FakeLLM, project: Path) -> None:
    witness = Witness(project / "witness")
    terminal = start()
    ask(terminal, "!exec 3> witness; sleep 1000 & echo begun; wait")
    terminal.wait_for("begun")
    assert witness.alive()
    terminal.send("\x03")
    terminal.wait_for("stopped by the user")
    ready(terminal)
    assert witness.all_gone()
    witness.close()


def test_a_command_of_the_users_own_runs_beside_a_turn(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(["Begun. ", Gate("middle"), "Ended."]))
    terminal = start()
    ask(terminal, "go")
    terminal.wait_for("Begun.")
    terminal.send("!echo be$((1))side\r")
    terminal.wait_for("be1side")
    fake_llm.release("middle")
    terminal.wait_for("Ended.")


def test_a_note_is_not_sent(start: Start, fake_llm: FakeLLM) -> None:
    terminal = start()
    ask(terminal, "# project: the tests need a database")
    terminal.wait_for("noted: the tests need a database")
    assert not fake_llm.generations


def test_vi_keys(start: Start, fake_llm: FakeLLM, home: Path) -> None:
    folder = home / ".mewcode"
    folder.mkdir()
    (folder / "config.yaml").write_text("ui:\n  vi_mode: true\n")
    fake_llm.script(Reply.text("Vi."))
    terminal = start()
    ready(terminal)
    terminal.send("one two")
    terminal.wait_for_screen("one two")
    terminal.send("\x1b")
    terminal.wait_until(lambda: b"\x1b[2 q" in terminal.raw, "the block cursor")
    terminal.send("bD")
    terminal.wait_gone("two")
    terminal.send("Athree\r")
    terminal.wait_for("Vi.")
    assert first_words(fake_llm) == "one three"


def test_characters_of_several_code_points_are_deleted_as_one(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text("Short."))
    terminal = start()
    ready(terminal)
    terminal.send("a👨‍👩‍👧‍👦e\u0301🇩🇪🇫🇷好")
    terminal.send("\x7f\x7f\x7f\x7f\x7f")
    terminal.send("b\r")
    terminal.wait_for("Short.")
    assert first_words(fake_llm) == "ab"


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_a_file_mentioned_during_a_turn_goes_along_with_the_next_step(
    start: Start, fake_llm: FakeLLM, project: Path, rows: int, columns: int
) -> None:
    (project / "notes.txt").write_text("what it holds\n")
    calls = Reply.calls(("list_dir", {"path": "."})).blocks
    fake_llm.script(Reply.of(Gate("first"), *calls), Reply.text("With that in mind."))
    terminal = start(rows=rows, columns=columns)
    ask(terminal, "begin")
    fake_llm.wait_gate_reached("first")
    terminal.send("also see @notes.txt, 谢谢 \r")
    terminal.wait_for_screen("queued: also see @notes.txt")
    fake_llm.release("first")
    terminal.wait_for("With that in mind.")
    ready(terminal)
    assert "what it holds" in said(fake_llm, 1)
    shown = "\n".join(terminal.history())
    order = [
        shown.index(words) for words in ("● list_dir(.)", "❯ also see @notes", "└ notes.txt", "With that")
    ]
    assert order == sorted(order)
    assert shown.count("also see") == 1


def test_queued_words_are_taken_back_and_esc_returns_them(start: Start, fake_llm: FakeLLM) -> None:
    fake_llm.script(Reply.text(["Begun. ", Gate("middle"), "Ended."]))
    terminal = start()
    ask(terminal, "go")
    terminal.wait_for("Begun.")
    terminal.send("first\r")
    terminal.wait_for_screen("queued: first")
    terminal.send("second\r")
    terminal.wait_for_screen("queued: second")
    terminal.send("\x1b[1;3A")
    terminal.wait_gone("queued: second")
    terminal.wait_for_screen("❯ second")
    terminal.send("\x1b")
    terminal.wait_for("interrupted")
    ready(terminal)
    # On a line of its own.
    terminal.wait_until(lambda: "  first" in terminal.lines(), "what was queued, in the input")
    terminal.wait_for_screen("❯ second")
    fake_llm.release("middle")
