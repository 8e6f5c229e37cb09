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
from mewcode.sessions.reader import load_session
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
