"""The program without a terminal, and an input that is closed, silent, wrong or over."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import PROGRAM, environment, run_program

MODEL = "claude-opus-5-5"
STREAM_JSON = ["-p", "--model", MODEL, "--input-format", "stream-json", "--output-format", "stream-json"]


@pytest.mark.parametrize(("closed", "out"), [("<&-", b"hi\n"), (">&-", b""), ("2>&-", b"hi\n")])
def test_a_closed_stream_is_no_traceback(closed: str, out: bytes, fake_llm: FakeLLM, tmp_path: Path) -> None:
    fake_llm.script(Reply.text("hi"))
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *PROGRAM, "-p", "hello", "--model", MODEL],
        cwd=tmp_path,
        env=environment(tmp_path, anthropic=fake_llm.url),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, out, b"")
    assert len(fake_llm.generations) == 1


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGINT, signal.SIGINT]])
def test_ctrl_c_ends_the_wait_for_a_prompt(
    signals: list[signal.Signals], fake_llm: FakeLLM, tmp_path: Path
) -> None:
    """Its standard input stays open: the program does not wait for it."""
    fake_llm.script(Reply.text("one"))
    with subprocess.Popen(
        [*PROGRAM, *STREAM_JSON],
        cwd=tmp_path,
        env=environment(tmp_path, anthropic=fake_llm.url),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdin.write(b'{"type": "user", "content": "first"}\n')
        child.stdin.flush()
        for line in child.stdout:
            if json.loads(line)["type"] == "result":
                break
        for number in signals:
            child.send_signal(number)
        assert child.wait(30) == 130
        assert b"Traceback" not in child.stderr.read()
    assert json.loads(line)["result"] == "one"


@pytest.mark.parametrize(
    ("given", "turns", "says"),
    [
        (b"", 0, "held no message"),
        (b"nonsense\n", 0, "line 1 of the input is no JSON"),
        (b'{"content": "first"}\n{"content": 5}\n', 1, "line 2 of the input has no text"),
    ],
)
def test_a_wrong_input_is_one_result_and_exit_2(
    given: bytes, turns: int, says: str, fake_llm: FakeLLM, tmp_path: Path
) -> None:
    fake_llm.script(*(Reply.text("one") for _ in range(turns)))
    env = environment(tmp_path, anthropic=fake_llm.url)
    done = run_program(STREAM_JSON, cwd=tmp_path, env=env, stdin=given)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    results = [event for event in events if event["type"] == "result"]
    assert done.returncode == 2
    assert [result["is_error"] for result in results] == [False] * turns + [True]
    assert says in results[-1]["error"]
    assert results[-1]["session_id"] == events[0]["session_id"]


def test_a_folder_that_is_gone(fake_llm: FakeLLM, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *PROGRAM, "-p", "hi", "--model", MODEL],
        cwd=folder,
        env=environment(tmp_path, anthropic=fake_llm.url),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"is gone" in done.stderr
    assert b"Traceback" not in done.stderr
