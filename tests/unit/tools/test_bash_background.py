import os

import pytest
from shell_support import with_shell

from mewcode.core.errors import ToolError
from mewcode.core.outcome import CommandView
from mewcode.tools.bash import BashArgs, BashTool
from mewcode.tools.bash_output import BashOutputArgs, BashOutputTool
from mewcode.tools.bash_stop import BashStopArgs, BashStopTool
from tests.support.witness import Witness


@pytest.fixture
def witness(tmp_path):
    witness = Witness(tmp_path / "witness")
    yield witness
    witness.close()


async def until(shell, name, words):
    """Looks until the output or the state says ``words``."""
    seen = ""
    while words not in seen:
        seen += await shell.look(name, wait=20) + "\n"
    return seen


def test_a_server_is_started_read_listed_and_stopped(tmp_path, witness):
    os.mkfifo(tmp_path / "fifo")

    async def scenario(shell):
        command = f"exec 7>{witness.path} 8<>fifo; echo ready; while read line <&8; do echo got $line; done"
        outcome = await shell.run(command, background=True)
        assert outcome.content[0].text.startswith("Started in the background as bg1.")
        assert outcome.view == CommandView(command, note="in the background: bg1")
        assert "ready" in await until(shell, "bg1", "ready")
        assert (await shell.look("bg1")).startswith("(no new output)\nbg1: running for")
        await shell.run("echo hello > fifo")
        assert "got hello" in await until(shell, "bg1", "got hello")
        listed = await shell.look()
        assert listed.startswith("bg1: running for 0 s; 0 bytes unread; exec 7>")
        assert await shell.stop("bg1") == "bg1: stopped, exit code 143 (ended by SIGTERM)."
        assert witness.all_gone()
        assert await shell.look("bg1") == "(no new output)\nbg1: stopped, exit code 143 (ended by SIGTERM)"
        assert (await shell.stop("bg1")).startswith("bg1 had ended before: stopped")

    with_shell(tmp_path, scenario)


def test_an_end_is_reported_with_its_exit_code(tmp_path):
    async def scenario(shell):
        await shell.run("echo last words; exit 5", background=True)
        assert "last words" in await until(shell, "bg1", "bg1: ended, exit code 5")
        assert "bg1: ended, exit code 5; 0 bytes unread" in await shell.look()

    with_shell(tmp_path, scenario)


def test_no_process_and_no_such_process(tmp_path):
    async def scenario(shell):
        assert await shell.look() == "No background processes."
        with pytest.raises(ToolError, match=r"no background process 'bg7'. There are: none"):
            await shell.look("bg7")
        await shell.run("true", background=True)
        with pytest.raises(ToolError, match="There are: bg1"):
            await shell.stop("nope")

    with_shell(tmp_path, scenario)


def test_what_a_background_shell_started_counts_as_running(tmp_path, witness):
    async def scenario(shell):
        await shell.run(f"exec 7>{witness.path}; (echo up; exec sleep 1000) &", background=True)
        await until(shell, "bg1", "up")
        await shell.state.background["bg1"]._group.wait_exited(20)
        assert "its shell has exited, what it started runs on" in await shell.look("bg1")
        assert witness.alive()
        assert await shell.stop("bg1") == "bg1: stopped, exit code 0."
        assert witness.all_gone()

    with_shell(tmp_path, scenario)


def test_the_session_ends_all_of_them(tmp_path, witness):
    async def scenario(shell):
        for _ in range(3):
            await shell.run(
                f"exec 7>{witness.path}; trap '' TERM; echo up; sleep 1000; sleep 1000", background=True
            )
        for name in ("bg1", "bg2", "bg3"):
            await until(shell, name, "up")
        await shell.state.aclose()
        assert witness.all_gone()
        assert not any(process.running for process in shell.state.background.values())
        assert "bg2: stopped, exit code 137 (ended by SIGKILL)" in await shell.look("bg2")
        await shell.state.aclose()

    with_shell(tmp_path, scenario, grace=0.1)


def test_a_time_limit_does_not_end_it_and_its_folder_does_not_move_the_shell(tmp_path):
    async def scenario(shell):
        await shell.run("cd /; echo here; exit 0", background=True, timeout=0.001)
        assert "here" in await until(shell, "bg1", "ended")
        assert shell.state.cwd == tmp_path.resolve()

    with_shell(tmp_path, scenario)


def test_a_flood_is_kept_to_its_end(tmp_path):
    async def scenario(shell):
        await shell.run("yes | head -c 5000000; echo done", background=True)
        process = shell.state.background["bg1"]
        await process.wait_ended()
        text = await shell.look("bg1")
        assert "bytes of older output are gone]" in text
        assert text.endswith("y\ndone\nbg1: ended, exit code 0")
        assert len(process.output._kept) <= 2_000_000

    with_shell(tmp_path, scenario)


def test_old_ones_are_forgotten(tmp_path):
    async def scenario(shell):
        for number in range(1, 30):
            await shell.run(f"exit {number}", background=True)
            await shell.state.background[f"bg{number}"].wait_ended()
        assert len(shell.state.background) == 21
        assert "bg29" in shell.state.background

    with_shell(tmp_path, scenario)


def test_what_the_policy_and_the_user_see(tmp_path):
    async def scenario(shell):
        output, stop = BashOutputTool(), BashStopTool()
        assert output.read_only
        assert not stop.read_only
        assert output.accesses(BashOutputArgs(), shell.session) == ()
        assert stop.accesses(BashStopArgs("bg1"), shell.session) == ()
        assert output.summary(BashOutputArgs(), shell.session) == "all"
        assert stop.summary(BashStopArgs("bg1\x1b[2J"), shell.session) == "bg1"
        assert BashTool().preview(BashArgs("x", background=True), shell.session).note == "in the background"
        assert "wait" in output.description
        assert "two seconds" in stop.description

    with_shell(tmp_path, scenario)
