"""The program without a terminal: formats, exit codes, pipes, signals, sessions."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.fake_llm import FakeLLM, Gate, Reply
from tests.support.program import PROGRAM, environment, run_program

MODEL = "claude-opus-5-5"


def test_prints_the_answer_alone(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("The answer is **42**."))
    done = run_program(
        ["-p", "what?", "--model", MODEL], cwd=project, env=environment(home, anthropic=fake_llm.url)
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"The answer is **42**.\n", b"")


def test_speaks_chat_completions_as_well(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("好的，完成了。"))
    env = environment(home, openai=fake_llm.openai_url)
    done = run_program(["-p", "你好", "--model", "some-model"], cwd=project, env=env)
    assert (done.returncode, done.stdout.decode()) == (0, "好的，完成了。\n")
    assert fake_llm.generations[0].protocol == "openai"


def test_the_model_is_taken_from_what_the_endpoint_lists(
    fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    fake_llm.models = ("gpt-oss:20b", "claude-sonnet-5-5")
    fake_llm.script(Reply.text("ok"))
    env = environment(home, anthropic=fake_llm.url)
    done = run_program(["-p", "hi", "--output-format", "stream-json"], cwd=project, env=env)
    assert json.loads(done.stdout.splitlines()[0])["model"] == "claude-sonnet-5-5"


def test_json_is_one_object(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.calls(("list_dir", {"path": "."})), Reply.text("empty"))
    env = environment(home, anthropic=fake_llm.url)
    done = run_program(["-p", "list", "--model", MODEL, "--output-format", "json"], cwd=project, env=env)
    value = json.loads(done.stdout)
    assert value["result"] == "empty"
    assert (value["is_error"], value["num_turns"]) == (False, 2)
    assert value["usage"]["input_tokens"] > 0
    assert value["total_cost_usd"] > 0
    assert value["duration_ms"] >= 0
    assert (project / ".mewcode/sessions" / value["session_id"] / "conversation.jsonl").is_file()


def test_the_cost_is_null_where_the_price_is_unknown(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("ok"))
    env = environment(home, openai=fake_llm.openai_url)
    done = run_program(["-p", "x", "--model", "home-made", "--output-format", "json"], cwd=project, env=env)
    assert json.loads(done.stdout)["total_cost_usd"] is None


def test_stream_json_is_framed_by_init_and_result(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("hello", chunks=3))
    env = environment(home, anthropic=fake_llm.url)
    done = run_program(["-p", "x", "--model", MODEL, "--output-format", "stream-json"], cwd=project, env=env)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert (events[0]["type"], events[0]["model"]) == ("init", MODEL)
    assert "read_file" in events[0]["tools"]
    assert events[-1]["type"] == "result"
    assert events[-1]["result"] == "hello"
    assert "".join(event["text"] for event in events if event["type"] == "block_delta") == "hello"


def test_several_turns_over_stream_json(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("one"), Reply.text("two"))
    lines = [
        {"type": "user", "content": "first"},
        {"type": "user", "message": {"content": [{"text": "second"}]}},
    ]
    done = run_program(
        ["-p", "--model", MODEL, "--input-format", "stream-json", "--output-format", "stream-json"],
        cwd=project,
        env=environment(home, anthropic=fake_llm.url),
        stdin="\n".join(map(json.dumps, lines)).encode(),
    )
    results = [event for line in done.stdout.splitlines() if (event := json.loads(line))["type"] == "result"]
    assert [result["result"] for result in results] == ["one", "two"]
    assert len(fake_llm.generations[1].messages) == 3


def test_the_object_is_printed_on_failure_too(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.error(401))
    env = environment(home, anthropic=fake_llm.url)
    done = run_program(["-p", "x", "--model", MODEL, "--output-format", "json"], cwd=project, env=env)
    value = json.loads(done.stdout)
    assert (done.returncode, value["is_error"]) == (1, True)
    assert "401" in value["error"]
    broken = run_program(["-p", "x", "--resume", "nope", "--output-format", "json"], cwd=project, env=env)
    assert (broken.returncode, json.loads(broken.stdout)["is_error"]) == (1, True)


def test_a_service_that_stays_away_exits_75(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.default = Reply.error(529, retry_after=0)
    env = environment(home, anthropic=fake_llm.url)
    done = run_program(["-p", "x", "--model", MODEL], cwd=project, env=env)
    assert done.returncode == 75
    assert len(fake_llm.generations) == 8
    assert b"attempt 2 of 8" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-p"], b"there is no prompt"),
        (["-p", "x", "--nonsense"], b"--nonsense"),
        (["-p", "x", "--max-turns", "0"], b"at least 1"),
        (["-p", "x", "--provider", "nobody"], b"unknown provider"),
        (["-p", "x", "--cwd", "/no/such/folder"], b"no folder"),
        (["-p", "x", "-c", "-r", "y"], b"exclude each other"),
        (["-p", "x", "--allow", "bash("], b"bash("),
    ],
)
def test_wrong_usage_exits_2(
    arguments: list[str], says: bytes, fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    done = run_program(arguments, cwd=project, env=environment(home, anthropic=fake_llm.url))
    assert done.returncode == 2
    assert says in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


def test_without_key_and_terminal_the_lines_that_help(project: Path, home: Path) -> None:
    done = run_program(["-p", "x"], cwd=project, env=environment(home))
    assert done.returncode == 2
    assert b"ANTHROPIC_API_KEY" in done.stderr
    assert b"mewcode demo" in done.stderr


def test_a_config_error_names_file_and_line(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    (home / ".mewcode").mkdir()
    (home / ".mewcode/config.yaml").write_text("model: x\nmodle: y\n")
    done = run_program(["-p", "x"], cwd=project, env=environment(home, anthropic=fake_llm.url))
    assert done.returncode == 2
    assert b"config.yaml:2" in done.stderr
    assert b"model" in done.stderr


def test_piped_text_is_appended_to_the_prompt(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("ok"))
    env = environment(home, anthropic=fake_llm.url)
    run_program(["-p", "Explain:", "--model", MODEL], cwd=project, env=env, stdin="错误 1\n".encode())
    sent = fake_llm.generations[0].messages[0]["content"]
    assert "Explain:\n\n错误 1" in json.dumps(sent, ensure_ascii=False).replace("\\n", "\n")


def test_a_silent_pipe_is_left_alone(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("ok"))
    with subprocess.Popen(
        [*PROGRAM, "-p", "hi", "--model", MODEL],
        cwd=project,
        env=environment(home, anthropic=fake_llm.url),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.read() == b"ok\n"
        assert b"said nothing for 3 s" in child.stderr.read()
        assert child.wait(30) == 0


def test_denied_without_a_rule_and_allowed_with_one(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    env = environment(home, anthropic=fake_llm.url)
    call = ("write_file", {"path": "new.txt", "content": "hi\n"})
    fake_llm.script(Reply.calls(call), Reply.text("denied"))
    done = run_program(["-p", "write", "--model", MODEL], cwd=project, env=env)
    assert (done.returncode, (project / "new.txt").exists()) == (0, False)
    assert "permission denied" in json.dumps(fake_llm.generations[-1].messages)
    fake_llm.script(Reply.calls(call), Reply.text("written"))
    done = run_program(
        ["-p", "write", "--model", MODEL, "--allow", "write_file(new.txt)"], cwd=project, env=env
    )
    assert (done.returncode, (project / "new.txt").read_text()) == (0, "hi\n")


def test_the_step_limit_ends_with_a_report(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.calls(("list_dir", {"path": "."})), Reply.text("half done"))
    env = environment(home, anthropic=fake_llm.url)
    done = run_program(["-p", "go", "--model", MODEL, "--max-turns", "1"], cwd=project, env=env)
    assert (done.returncode, done.stdout) == (0, b"half done\n")
    assert fake_llm.generations[1].payload["tool_choice"] == {"type": "none"}
    assert fake_llm.generations[1].tool_names == fake_llm.generations[0].tool_names


def test_ctrl_c_keeps_what_came(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text(["partial ", Gate("wait"), "rest"]))
    env = environment(home, anthropic=fake_llm.url)
    with subprocess.Popen(
        [*PROGRAM, "-p", "go", "--model", MODEL, "--output-format", "stream-json"],
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if b'"partial "' in line:
                break
        child.send_signal(signal.SIGINT)
        last = json.loads(child.stdout.read().splitlines()[-1])
        assert child.wait(30) == 130
    fake_llm.release("wait")
    assert (last["stop"], last["result"]) == ("interrupted", "partial ")
    fake_llm.script(Reply.text("go on"))
    run_program(["-p", "and now?", "-c", "--model", MODEL], cwd=project, env=env)
    assert "partial" in json.dumps(fake_llm.generations[-1].messages)


def test_continue_and_resume_and_fork(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    env = environment(home, anthropic=fake_llm.url)
    fake_llm.script(*(Reply.text(f"answer {number}") for number in range(4)))

    def run(*arguments: str) -> dict[str, object]:
        done = run_program(
            ["-p", *arguments, "--model", MODEL, "--output-format", "json"], cwd=project, env=env
        )
        return dict(json.loads(done.stdout))

    first = run("one")
    again = run("two", "-c")
    assert again["session_id"] == first["session_id"]
    by_prefix = run("three", "-r", str(first["session_id"])[:18])
    assert by_prefix["session_id"] == first["session_id"]
    fork = run("four", "-c", "--fork-session")
    assert fork["session_id"] != first["session_id"]
    assert [len(request.messages) for request in fake_llm.generations] == [1, 3, 5, 7]
    # A replay is byte-identical: each request's messages extend the one before.
    bodies = [request.payload for request in fake_llm.generations]
    assert bodies[1]["system"] == bodies[0]["system"]


def test_a_broken_reader_is_no_traceback(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("x" * 200_000, chunks=100))
    env = environment(home, anthropic=fake_llm.url)
    with subprocess.Popen(
        [*PROGRAM, "-p", "go", "--model", MODEL, "--output-format", "stream-json"],
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert b"Traceback" not in child.stderr.read()
        assert child.wait(30) == 1


def test_a_read_only_folder_costs_the_archive_not_the_answer(
    fake_llm: FakeLLM, project: Path, home: Path
) -> None:
    (project / ".mewcode").write_text("a file where the folder should be")
    fake_llm.script(Reply.text("still here"))
    env = environment(home, anthropic=fake_llm.url)
    done = run_program(["-p", "go", "--model", MODEL], cwd=project, env=env)
    assert (done.returncode, done.stdout) == (0, b"still here\n")
    assert b"not being saved" in done.stderr


def test_a_session_that_came_with_the_folder_needs_trust(
    fake_llm: FakeLLM, project: Path, home: Path, tmp_path: Path
) -> None:
    fake_llm.default = Reply.text("ok")
    run_program(["-p", "x", "--model", MODEL], cwd=project, env=environment(home, anthropic=fake_llm.url))
    other = tmp_path / "other-home"
    other.mkdir()
    env = environment(other, anthropic=fake_llm.url)
    refused = run_program(["-p", "y", "-c", "--model", MODEL], cwd=project, env=env)
    assert refused.returncode == 1
    assert b"--trust" in refused.stderr
    trusted = run_program(["-p", "y", "-c", "--model", MODEL, "--trust"], cwd=project, env=env)
    assert trusted.returncode == 0


def test_a_mode_given_once_holds_for_the_session(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    env = environment(home, anthropic=fake_llm.url)
    fake_llm.default = Reply.text("ok")

    def mode(*arguments: str) -> str:
        done = run_program(
            ["-p", "x", "--model", MODEL, "--output-format", "stream-json", *arguments], cwd=project, env=env
        )
        return str(json.loads(done.stdout.splitlines()[0])["permission_mode"])

    assert mode() == "default"
    assert mode("-c", "--permission-mode", "plan") == "plan"
    assert mode("-c") == "plan"
    assert mode("-c", "--permission-mode", "bypass") == "bypass"
    (home / ".mewcode/config.yaml").write_text("permissions: {mode: bypass}\n")
    assert mode("-c") == "default"


def test_a_full_disk_under_the_output_is_said(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    fake_llm.script(Reply.text("hello"))
    env = environment(home, anthropic=fake_llm.url)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, "-p", "hi", "--model", MODEL],
            cwd=project,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert b"cannot be written" in done.stderr
    assert b"mewcode -c" in done.stderr
    assert b"Exception" not in done.stderr


def test_resume_without_an_id_says_what_to_do(fake_llm: FakeLLM, project: Path, home: Path) -> None:
    done = run_program(["-p", "x", "-r"], cwd=project, env=environment(home, anthropic=fake_llm.url))
    assert done.returncode == 2
    assert b"-r needs a session's id" in done.stderr
