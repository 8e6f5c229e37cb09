"""Real processes: killed at any moment, on a full disk, two at once. At full size with MEWCODE_SOAK=1."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from session_strategies import user

from mewcode.core.errors import SessionBusy
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.reader import load_history, load_session
from mewcode.sessions.repair import repair_messages

KILLS = 200 if os.environ.get("MEWCODE_SOAK") == "1" else 20

# Says "<number>" after each record that append has taken, so that much must be there after the kill.
WRITER = """
import sys
from pathlib import Path
from mewcode.core.message import Message, Text, ToolCall, ToolResult
from mewcode.sessions.archive import SessionWriter

writer = SessionWriter.open(Path(sys.argv[1]))
start = int(sys.argv[2])
for number in range(start, start + 100_000):
    pad = "x" * (number * 7919 % 3000)
    if number % 3 == 0:
        message = Message(f"m{number}", "user", (Text(pad + "."),))
    elif number % 3 == 1:
        call = ToolCall(f"c{number}", "bash", {"pad": pad})
        message = Message(f"m{number}", "assistant", (call,), "model", "m")
    else:
        message = Message(f"m{number}", "tool", (ToolResult(f"c{number - 1}", (Text(pad),)),), "tool")
    writer.append(message, sync=number % 50 == 0)
    print(number, flush=True)
"""

# As WRITER, with ways back, compactions and large results; `state_after` says what must be there.
REWRITER = """
import sys
from pathlib import Path
from mewcode.core.message import Message, Text
from mewcode.sessions.archive import SessionWriter
from mewcode.sessions.reader import load_session
from mewcode.sessions.record import Totals

writer = SessionWriter.open(Path(sys.argv[1]))
loaded = load_session(writer.folder)
writer.follow(loaded)
messages = list(loaded.messages)
start = int(sys.argv[2])
for number in range(start, start + 100_000):
    pad = "x" * (number * 7919 % 3000)
    writer.keep_result(f"c{number}", f"{number} " * 20_000)
    if number % 5 == 3:
        messages = messages[: len(messages) // 2 + 1]
        writer.rewind(messages[-1].id)
    elif number % 5 == 4:
        summary = Message("", "user", (Text(f"s{number} {pad}"),), "compaction")
        messages = list(writer.compact([summary, *messages[-3:]], turns=number, totals=Totals()))
    else:
        messages.append(Message(f"m{number}", "user", (Text(f"m{number} {pad}"),)))
        writer.append(messages[-1], sync=number % 50 == 0)
    print(number, flush=True)
"""

FULL_DISK = """
import resource, sys
from pathlib import Path
from mewcode.core.message import Message, Text
from mewcode.sessions.archive import SessionWriter

writer = SessionWriter.create(Path(sys.argv[1]), cwd="/", provider="p", model="m", mode="default")
writer.append(Message("m0", "user", (Text("before"),)))
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
for number in range(1, 100):
    writer.append(Message(f"m{number}", "user", (Text("y" * 90),)))
print(writer.failing, flush=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.append(Message("m100", "user", (Text("after"),)))
print(writer.failing, flush=True)
writer.close()
print(writer.folder)
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def new_session(folder: Path) -> Path:
    writer = SessionWriter.create(folder, cwd="/", provider="p", model="m", mode="default")
    writer.append(user("first"))
    writer.close()
    return writer.folder


def kill_after(process: subprocess.Popen[str], records: int) -> int:
    """Kills the process when it has said that many numbers; returns the last it said before it died."""
    assert process.stdout is not None
    said = -1
    with process, process.stdout:
        for line in process.stdout:
            said = int(line) if line.endswith("\n") else said
            if records == 0:
                process.send_signal(signal.SIGKILL)
            records -= 1
        process.wait()
    assert process.returncode == -signal.SIGKILL
    return said


@pytest.mark.soak
def test_all_records_written_before_a_kill_are_read_back(tmp_path):
    chance = random.Random(4)
    session = new_session(tmp_path)
    number = 0
    for _ in range(KILLS):
        said = kill_after(start(WRITER, session, number), chance.randrange(60))
        loaded = load_session(session)
        ids = [message.id for message in loaded.messages]
        assert ids[0] == "first"
        assert ids[1 : said + 2] == [f"m{each}" for each in range(said + 1)]
        # at most what was written between the last word and the kill
        assert ids[1:] == [f"m{each}" for each in range(len(ids) - 1)]
        assert loaded.damage == [] or all("not JSON" in damage for damage in loaded.damage)
        repaired, _ = repair_messages(loaded.messages)
        assert repaired[0].id == "first"
        number = len(ids) - 1


def state_after(state: list[str], number: int) -> list[str]:
    """The conversation after REWRITER's step of that number: the first words of its messages."""
    if number % 5 == 3:
        return state[: len(state) // 2 + 1]
    if number % 5 == 4:
        return [f"s{number}", *state[-3:]]
    return [*state, f"m{number}"]


@pytest.mark.soak
def test_ways_back_compactions_and_results_survive_a_kill(tmp_path):
    chance = random.Random(5)
    session = new_session(tmp_path)
    state, number = ["text"], 0
    for _ in range(KILLS):
        said = kill_after(start(REWRITER, session, number), chance.randrange(40))
        for step in range(number, said + 1):
            state = state_after(state, step)
        number = max(number, said + 1)
        loaded = load_session(session)
        found = [message.text.split()[0] for message in loaded.messages]
        if found != state:  # one step may have been taken and not said
            state = state_after(state, number)
            number += 1
        assert found == state
        kept = {path.name: path for path in (session / "tool-results").glob("c*")}
        assert {f"c{step}" for step in range(number)} <= kept.keys()
        for name, path in list(kept.items())[-50:]:
            assert path.read_text() == f"{name[1:]} " * 20_000
    assert load_history(session).messages


@pytest.mark.soak
def test_a_record_cut_at_any_byte_costs_that_record_only(tmp_path):
    session = new_session(tmp_path)
    path = session / "conversation.jsonl"
    whole = path.read_bytes()
    begin = whole.index(b"\n") + 1
    for cut in range(begin, len(whole) + 1, 1 if KILLS > 100 else 5):
        path.write_bytes(whole[:cut])
        writer = SessionWriter.open(session)
        writer.append(user("next"))
        writer.close()
        assert path.read_bytes().startswith(whole[:cut])
        ids = [message.id for message in load_session(session).messages]
        assert ids == (["first", "next"] if cut >= len(whole) - 1 else ["next"])


def test_a_disk_that_is_full_for_a_while(tmp_path):
    process = start(FULL_DISK, tmp_path)
    output, _ = process.communicate(timeout=60)
    failing, after, folder = output.splitlines()
    assert process.returncode == 0
    assert failing == "not being saved: File too large"
    assert after == "None"
    assert [message.id for message in load_session(Path(folder)).messages] == [f"m{n}" for n in range(101)]


def test_the_lock_dies_with_its_process_and_names_it_meanwhile(tmp_path):
    session = new_session(tmp_path)
    process = start(WRITER, session, 0)
    assert process.stdout is not None
    with process, process.stdout:
        process.stdout.readline()
        with pytest.raises(SessionBusy) as busy:
            SessionWriter.open(session)
        assert busy.value.pid == process.pid
        assert busy.value.since > 1_700_000_000
        process.kill()
        process.wait()
    writer = SessionWriter.open(session)
    writer.append(user("mine"))
    writer.close()
    assert load_session(session).last_id == "mine"


def test_two_processes_on_one_session_leave_a_valid_file(tmp_path):
    session = new_session(tmp_path)
    processes = [start(WRITER, session, 0), start(WRITER, session, 50_000)]
    firsts = [process.stdout.readline() for process in processes if process.stdout]
    assert sorted(map(bool, firsts)) == [False, True]
    for process in processes:
        process.kill()
        process.communicate()
    loaded = load_session(session)
    assert len(loaded.messages) > 1
    assert loaded.skipped <= 1
