"""The model's window in the terminal: what fills it, how it is made smaller, and what is said of that."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from tests.support.adverse import (
    MODEL,
    Start,
    ask,
    files_of,
    headless,
    leave,
    no_traceback,
    ready,
    records,
    screen,
)
from tests.support.fake_llm import FakeLLM, Gate, RecordedRequest, Reply, Usage
from tests.support.program import PROGRAM, environment
from tests.support.terminal import Terminal

SIZES = [(24, 80), (50, 200)]
SECTIONS = (
    "Goal", "Decisions", "Files", "Commands", "Errors and failed attempts", "Open tasks", "Forbidden",
    "Next step",
)  # fmt: skip
CANARY = "CANARY-4242 金丝雀"
SUMMARY = "\n\n".join(f"## {name}\n- {CANARY} {name}" for name in SECTIONS)
LONG = "word 字 " * 700


def written(text: str = SUMMARY) -> Reply:
    """A summary as a model writes it."""
    return Reply.text(text, usage=Usage(900, 300))


def small_window(home: Path, tokens: int) -> None:
    """The model has a window of so many tokens; nothing is asked of it for titles and briefs."""
    folder = home / ".mewcode"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(
        f"models:\n  {MODEL}:\n    context_window: {tokens}\n    max_output: 1000\n"
        "sessions:\n  titles: false\n  briefs: false\n"
    )


def shown(terminal: Terminal) -> str:
    return "\n".join(terminal.history())


def said(request: RecordedRequest) -> str:
    return json.dumps(request.messages, ensure_ascii=False)


def turn(terminal: Terminal, fake_llm: FakeLLM, prompt: str, answer: str) -> None:
    """A message and its answer."""
    answers(fake_llm, Reply.text(answer))
    ask(terminal, prompt)
    terminal.wait_for(answer.rpartition("\n")[2])
    ready(terminal)


def answers(fake_llm: FakeLLM, *replies: Reply) -> None:
    """These come next; the service counts a token for each three bytes of a request."""
    waiting = list(replies)

    def rule(request: RecordedRequest) -> Reply:
        return dataclasses.replace(waiting.pop(0), usage=Usage(len(request.body) // 3, 500))

    fake_llm.respond_with(rule)


def long(number: int) -> str:
    """An answer that takes room."""
    return f"{LONG}\nAnswer {number}."


def talk(terminal: Terminal, fake_llm: FakeLLM, turns: int = 4) -> None:
    """Some turns that are worth summing up."""
    for number in range(turns):
        turn(terminal, fake_llm, f"question {number}", long(number))


@pytest.mark.parametrize(("rows", "columns"), SIZES)
@pytest.mark.parametrize("colour", ["", "1"], ids=["coloured", "NO_COLOR"])
def test_the_window_is_mapped_without_a_request(
    start: Start, fake_llm: FakeLLM, rows: int, columns: int, colour: str
) -> None:
    terminal = start(rows=rows, columns=columns, NO_COLOR=colour)
    ask(terminal, "/context")
    terminal.wait_for("compaction comes at about ")
    ready(terminal)
    text = screen(terminal)
    assert f"{MODEL}: " in text
    assert "■ system prompt" in text
    assert "▲ tools" in text
    assert "· free" in text
    lines = text.split("\n")
    first = next(place for place, line in enumerate(lines) if f"{MODEL}: " in line)
    for line in lines[first + 1 : first + 11]:
        assert len(line[:20].split()) == 10, line
        assert all(len(sign) == 1 for sign in line[:20].split())
    assert f"{MODEL}: " in lines[first], "all of it is on the screen"
    assert not fake_llm.generations
    no_traceback(terminal)


def test_files_and_commands_are_told_apart_and_what_frees_most(
    start: Start, fake_llm: FakeLLM, project: Path
) -> None:
    (project / "大.txt").write_text(LONG + "\n")
    fake_llm.script(
        Reply.calls(("read_file", {"path": "大.txt"}), usage=Usage(5_000, 20)),
        Reply.calls(("bash", {"command": "ls"}), usage=Usage(9_000, 20)),
        Reply.text("Read.", usage=Usage(9_100, 20)),
    )
    terminal = start()
    ask(terminal, "read it")
    terminal.wait_for("Read.")
    ready(terminal)
    ask(terminal, "/context")
    terminal.wait_for("What would free most")
    ready(terminal)
    text = screen(terminal)
    assert "◆ files read" in text
    assert "▼ command output" in text
    assert "read_file 大.txt: " in text
    no_traceback(terminal)


def test_the_model_finds_again_what_was_summed_up(start: Start, fake_llm: FakeLLM, home: Path) -> None:
    small_window(home, 40_000)
    fake_llm.aside = written()
    terminal = start()
    turn(terminal, fake_llm, "the okapi port is 7341", long(9))
    talk(terminal, fake_llm, 3)

    def look_it_up(answer: str) -> str:
        answers(fake_llm, Reply.calls(("search_history", {"query": "okapi port"})), Reply.text(answer))
        ask(terminal, "which port?")
        terminal.wait_for(answer)
        ready(terminal)
        return fake_llm.generations[-1].body.decode()

    # As long as all of it is in view, to search it would only repeat it.
    assert "No past session holds these words" in look_it_up("In view.")
    ask(terminal, "/compact")
    terminal.wait_for("messages summed up")
    ready(terminal)
    found = look_it_up("Found again.")
    assert "<past-sessions>" in found
    assert "turn 1: " in found
    leave(terminal)


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_compact_sums_up_and_a_resumed_session_shows_it_folded(
    start: Start, fake_llm: FakeLLM, home: Path, project: Path, rows: int, columns: int
) -> None:
    small_window(home, 40_000)
    fake_llm.aside = written()
    terminal = start(rows=rows, columns=columns)
    talk(terminal, fake_llm)
    ask(terminal, "/compact the name 名字 above all")
    terminal.wait_for("compacted: ")
    terminal.wait_for("messages summed up")
    terminal.wait_for("ctrl-o shows the summary")
    ready(terminal)
    assert "名字 above all" in fake_llm.side_calls[-1].body.decode()
    assert CANARY not in shown(terminal)
    terminal.send("\x0f")
    terminal.wait_for_screen("q leaves")

    def at_the_beginning() -> bool:
        """What was said before the summary is still being loaded when the pager opens."""
        terminal.send("g")
        return "❯ question 0" in screen(terminal)

    terminal.wait_until(at_the_beginning, "the beginning")
    terminal.send("/")
    terminal.send(f"{CANARY} Next step\r")
    terminal.wait_until(
        lambda: any(f"{CANARY} Next step" in line for line in terminal.lines()[:-2]), "the summary"
    )
    terminal.send("q")
    ready(terminal)
    turn(terminal, fake_llm, "what next?", "Next.")
    request = said(fake_llm.generations[-1])
    assert CANARY in request
    assert "question 0" not in request or "Answer 0" not in request
    leave(terminal)
    assert any(record.get("type") == "compact" for record in records(files_of(project)[0]))
    terminal = start("-c", rows=rows, columns=columns)
    ready(terminal)
    text = shown(terminal)
    assert "◦ a summary stands for what came before: about " in text
    assert CANARY not in text
    assert "Next." in text
    no_traceback(terminal)


def test_esc_stops_a_compaction_and_leaves_all_as_it_was(
    start: Start, fake_llm: FakeLLM, home: Path, project: Path
) -> None:
    small_window(home, 40_000)
    fake_llm.aside = Reply.text([SUMMARY[:40], Gate("summary"), SUMMARY[40:]])
    terminal = start()
    talk(terminal, fake_llm)
    before = files_of(project)[0].read_bytes()
    ask(terminal, "/compact")
    terminal.wait_for_screen("compacting ")
    terminal.wait_for_screen("esc to stop")
    terminal.send("and then this")
    terminal.send("\r")
    terminal.wait_for_screen("queued: and then this")
    terminal.send("\x1b")
    terminal.wait_for("compaction stopped; the conversation is as it was")
    ready(terminal)
    terminal.wait_for_screen("❯ and then this")
    assert "interrupted" not in shown(terminal)
    assert files_of(project)[0].read_bytes() == before
    terminal.send("\x15")
    turn(terminal, fake_llm, "go on", "Gone on.")
    request = said(fake_llm.generations[-1])
    assert "question 0" in request
    assert CANARY not in request
    no_traceback(terminal)


def test_a_summary_that_is_none_leaves_all_as_it_was(start: Start, fake_llm: FakeLLM, home: Path) -> None:
    small_window(home, 40_000)
    fake_llm.aside = Reply.text("I would rather not.")
    terminal = start()
    talk(terminal, fake_llm)
    ask(terminal, "/compact")
    terminal.wait_for("not compacted: ")
    turn(terminal, fake_llm, "go on", "Gone on.")
    assert "question 0" in said(fake_llm.generations[-1])
    no_traceback(terminal)


def test_there_is_nothing_to_sum_up_in_a_new_session(start: Start, fake_llm: FakeLLM) -> None:
    terminal = start()
    ask(terminal, "/compact")
    terminal.wait_for("there is nothing to sum up yet")
    assert not fake_llm.generations
    no_traceback(terminal)


def test_a_turn_compacts_by_itself_and_says_so(start: Start, fake_llm: FakeLLM, home: Path) -> None:
    small_window(home, 24_000)
    fake_llm.aside = written()
    terminal = start()
    shares = []
    for number in range(9):
        turn(terminal, fake_llm, f"question {number}", long(number))
        shares.append(int(screen(terminal).partition(" % context")[0].rpartition(" ")[2]))
        if "● compacted: " in shown(terminal):
            break
    assert "messages summed up" in shown(terminal)
    assert "ctrl-o shows the summary" in shown(terminal)
    assert CANARY in said(fake_llm.generations[-1])
    assert shares[-1] < shares[-2], "the share has fallen"
    assert shares == sorted(shares[:-1]) + shares[-1:]
    no_traceback(terminal)


def test_old_results_are_pruned_with_a_dim_line(
    start: Start, fake_llm: FakeLLM, home: Path, project: Path
) -> None:
    small_window(home, 40_000)
    for number in range(8):
        (project / f"f{number}.txt").write_text(f"{number} word 字 word\n" * 600)
    reads = [("read_file", {"path": f"f{number}.txt"}) for number in range(8)]
    answers(fake_llm, Reply.calls(*reads[:4]), Reply.calls(*reads[4:]), Reply.text("Read."))
    terminal = start()
    ask(terminal, "read them")
    terminal.wait_for("Read.")
    ready(terminal)
    assert re.search(r"^● pruned \d old results?: \d+ % -> \d+ %$", shown(terminal), re.MULTILINE)
    assert "left out to save room" in said(fake_llm.generations[-1])
    no_traceback(terminal)


def test_in_plain_lines(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    small_window(home, 40_000)
    fake_llm.aside = written()
    variables = environment(home, anthropic=fake_llm.url)
    argv = [*PROGRAM, "--model", MODEL, "--plain"]
    with Terminal(argv, cwd=project, env=variables) as terminal:

        def say(text: str, answer: str) -> None:
            before = terminal.raw.count(b"\n> ")
            terminal.send(text + "\r")
            terminal.wait_for(answer)
            terminal.wait_until(lambda: terminal.raw.count(b"\n> ") > before, "the next prompt")

        terminal.wait_until(lambda: b"\n> " in terminal.raw, "the prompt")
        say("/context", "compaction comes at about ")
        for number in range(4):
            answers(fake_llm, Reply.text(long(number)))
            say(f"question {number}", f"Answer {number}.")
        fake_llm.aside = Reply.text([SUMMARY[:40], Gate("plain"), SUMMARY[40:]])
        before = terminal.raw.count(b"\n> ")
        terminal.send("/compact\r")
        terminal.wait_for("; Ctrl-C stops it")
        terminal.send("\x03")
        terminal.wait_for("compaction stopped; the conversation is as it was")
        terminal.wait_until(lambda: terminal.raw.count(b"\n> ") > before, "the next prompt")
        fake_llm.aside = written()
        say("/compact", "messages summed up")
        terminal.send("\x04")
        assert terminal.wait_exit() == 0
        text = shown(terminal)
        assert "system prompt: instructions" in text or "system prompt: identity" in text
        assert "Traceback" not in text
        assert b"\x1b" not in terminal.raw


def test_without_a_terminal_it_is_data_and_no_request_is_made(
    fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    small_window(home, 40_000)
    done = headless(["--output-format", "json", "/context"], project, home, fake_llm.url)
    assert (done.code, done.err) == (0, "")
    data = json.loads(done.out)
    assert data["type"] == "context"
    assert data["model"] == MODEL
    assert data["window"] == 40_000
    assert data["used"] + data["free"] + data["headroom"] + data["reserve"] == 40_000
    assert {"system", "tools"} == {part["group"] for part in data["parts"]}
    assert data["used"] == sum(part["tokens"] for part in data["parts"])
    table = headless(["/context"], project, home, fake_llm.url)
    assert table.code == 0
    assert f"{MODEL}: {data['used']:,} of 40,000 tokens" in table.out
    stream = headless(["--output-format", "stream-json", "/context"], project, home, fake_llm.url)
    assert [json.loads(line)["type"] for line in stream.out.splitlines()] == ["context"]
    assert not fake_llm.generations
    assert not files_of(project)


def test_of_a_continued_session_and_a_message_that_looks_like_it(
    fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    small_window(home, 40_000)
    fake_llm.script(Reply.text("Noted.", usage=Usage(9_000, 20)))
    assert headless([f"remember {LONG}"], project, home, fake_llm.url).code == 0
    before = files_of(project)[0].read_bytes()
    # It does not fit the smaller window; nobody is asked to sum it up for that.
    small_window(home, 8_000)
    done = headless(["-c", "--output-format", "json", "/context"], project, home, fake_llm.url, stdin=b"")
    data = json.loads(done.out)
    assert done.code == 0
    assert data["free"] == 0
    assert "user" in {part["name"] for part in data["parts"]}
    assert data["used"] >= 9_000
    assert files_of(project)[0].read_bytes() == before
    assert len(fake_llm.generations) == 1
    small_window(home, 40_000)
    fake_llm.script(Reply.text("A message."))
    assert headless(["//context"], project, home, fake_llm.url).out == "A message.\n"


def test_a_stream_of_json_tells_of_a_compaction(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    small_window(home, 24_000)
    fake_llm.aside = written()
    steps = [Reply.calls(("bash", {"command": "ls"}), say=long(number)) for number in range(9)]
    answers(fake_llm, *steps, Reply.text("Done."))
    arguments = ["--output-format", "stream-json", "--allow", "bash(ls)", "go"]
    done = headless(arguments, project, home, fake_llm.url)
    events = [json.loads(line) for line in done.out.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds.count("compaction_start") == kinds.count("compaction") >= 1
    told = events[kinds.index("compaction")]
    assert told["trigger"] == "threshold"
    assert told["after"] < told["before"]
    assert CANARY in told["summary"]
    assert (kinds[-1], events[-1]["result"], done.code) == ("result", "Done.", 0)


def test_standard_error_tells_of_it_where_text_is_wanted(
    fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    small_window(home, 24_000)
    fake_llm.aside = written()
    steps = [Reply.calls(("bash", {"command": "ls"}), say=long(number)) for number in range(9)]
    answers(fake_llm, *steps, Reply.text("Done."))
    done = headless(["--allow", "bash(ls)", "go"], project, home, fake_llm.url)
    assert done.out == "Done.\n"
    assert re.match(r"mewcode: compacted: [\d,]+ -> [\d,]+ tokens, \d+ messages summed up\n", done.err)
