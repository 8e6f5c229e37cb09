import asyncio
import os
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_support import LIMIT, Shell, with_shell

from mewcode.core.access import CommandAccess
from mewcode.core.errors import ToolError
from mewcode.core.outcome import CommandView
from mewcode.tools.bash import BashArgs, BashTool
from mewcode.tools.shell_session import ShellSession
from tests.support.witness import Witness


@pytest.fixture
def witness(tmp_path):
    witness = Witness(tmp_path / "witness")
    yield witness
    witness.close()


def test_output_of_both_streams_in_order(tmp_path):
    async def scenario(shell):
        outcome = await shell.run("echo one; echo two >&2; echo three")
        assert outcome.content[0].text == "one\ntwo\nthree"
        assert outcome.view == CommandView("echo one; echo two >&2; echo three", "one\ntwo\nthree\n", 0, "")
        assert not outcome.is_error
        assert "".join(shell.shown) == "one\ntwo\nthree\n"
        assert await shell.text("true") == "(no output)"

    with_shell(tmp_path, scenario)


def test_an_exit_code_is_an_answer_and_no_error(tmp_path):
    async def scenario(shell):
        outcome = await shell.run("echo no; exit 3")
        assert (outcome.content[0].text, outcome.is_error) == ("no\nexit code 3", False)
        assert outcome.view.exit_code == 3
        outcome = await shell.run("kill -KILL $$")
        assert outcome.content[0].text == "(no output)\nexit code 137 (ended by SIGKILL)"
        assert outcome.view.exit_code == 137
        assert (await shell.text("no-such-command-here")).endswith("command not found\nexit code 127")

    with_shell(tmp_path, scenario)


def test_a_command_that_reads_gets_end_of_file(tmp_path):
    async def scenario(shell):
        assert await shell.text("cat; read line; echo got $?") == "got 1"

    with_shell(tmp_path, scenario)


MOVES = [
    ("cd sub", 0),
    ("cd sub; exit 4", 4),
    ("set -e; cd sub; false; cd /", 1),
    ("cd sub # a comment", 0),
    ("cd sub; cat <<EOF\nit's $((1 + 1))\nEOF", 0),
    ("cd sub; cat <<EOF\nno end", 0),
    ("cd sub; trap 'echo bye' EXIT", 0),
    ("cd sub; set -u; echo $undefined", 127),
    ("cd sub; set -x; true", 0),
    ("pwd() { echo /wrong; }; cd sub", 0),
    ("cd sub\n\n", 0),
    ("cd sub; (cd /; exit 2)", 2),
    ("cd sub && true && PWD=/wrong", 0),
]


# A plain sh that a signal ends runs no trap.
@pytest.mark.parametrize(("command", "code"), [*MOVES, ("cd sub; kill -TERM $$", 143)])
def test_the_folder_is_kept_however_a_command_ends(tmp_path, command, code):
    async def scenario(shell):
        assert (await moved(shell, command)).view.exit_code == code

    in_a_folder_with_sub(tmp_path, scenario)


@pytest.mark.parametrize("command", [command for command, _ in MOVES])
def test_the_folder_is_kept_by_a_plain_sh(tmp_path, command):
    async def scenario(shell):
        await moved(shell, command)  # its codes are its own

    in_a_folder_with_sub(tmp_path, scenario, shell="/bin/sh")


def in_a_folder_with_sub(folder, scenario, **options):
    (folder / "sub").mkdir()
    with_shell(folder, scenario, **options)


async def moved(shell, command):
    """Runs ``command``, which goes to ``sub``; the shell stands there afterwards."""
    sub = shell.session.root / "sub"
    outcome = await shell.run(command)
    assert shell.state.cwd == sub
    assert outcome.content[0].text.endswith(f"The shell now stands in {sub}.")
    assert await shell.text("pwd; echo $PWD") == f"{sub}\n{sub}"
    return outcome


@pytest.mark.parametrize(
    "command", ["if", "echo 'open", "}", "cd sub; )", "exec true", "exec 1>&- 2>&-; true"]
)
def test_a_broken_command_leaves_the_folder_as_it_was(tmp_path, command):
    (tmp_path / "sub").mkdir()

    async def scenario(shell):
        await shell.run(command)
        assert shell.state.cwd == tmp_path.resolve()
        assert await shell.text("echo fine") == "fine"

    with_shell(tmp_path, scenario)


def test_nothing_else_is_kept(tmp_path):
    async def scenario(shell):
        await shell.run("export LEFT=1; alias ll=ls; set -e; f() { :; }; umask 0")
        assert (
            await shell.text('echo "[$LEFT]" $# $0; false; echo on') == "[] 0 " + shell.state.shell + "\non"
        )

    with_shell(tmp_path, scenario)


@pytest.mark.parametrize("name", ["a b", "it's", 'q"$(x)', "新しい", "new\nline", "trailing\n"])
def test_any_folder_name(tmp_path, name):
    (tmp_path / name).mkdir()

    async def scenario(shell):
        environ = {**os.environ, "TARGET": str(tmp_path / name)}
        shell.state.environ = environ
        await shell.run('cd "$TARGET"')
        assert shell.state.cwd == tmp_path.resolve() / name

    with_shell(tmp_path, scenario)


def test_a_folder_that_vanished(tmp_path):
    async def scenario(shell):
        await shell.run("mkdir gone; cd gone")
        os.rmdir(tmp_path / "gone")
        text = await shell.text("pwd")
        root = tmp_path.resolve()
        assert text == f"{root}\nThe folder {root / 'gone'} is gone; this ran in {root}."
        assert shell.state.cwd == root
        await shell.run("mkdir own; cd own; rmdir ../own")
        assert shell.state.cwd == root
        os.rmdir(tmp_path)
        with pytest.raises(ToolError, match="does not exist any more"):
            await shell.run("pwd")

    folder = tmp_path / "root"
    folder.mkdir()
    tmp_path = folder
    with_shell(folder, scenario)


def test_what_a_command_inherits(tmp_path):
    environ = {
        "PATH": os.environ["PATH"],
        "ANTHROPIC_API_KEY": "secret-1",
        "ANTHROPIC_AUTH_TOKEN": "secret-2",
        "OPENAI_API_KEY": "secret-3",
        "MINE": "kept",
        "CDPATH": "secret-4",
        "BASH_ENV": "secret-5",
        "ENV": "secret-6",
    }

    async def scenario(shell):
        text = await shell.text("env; tty; exit 0")
        assert "secret" not in text
        assert "MINE=kept" in text
        assert {"GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "PAGER=cat", "TERM=dumb", "MEWCODE=1"} <= set(
            text.splitlines()
        )
        assert "not a tty" in text

    with_shell(tmp_path, scenario, environ=environ)


def test_the_shell_is_found_on_the_path(tmp_path):
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "sh").write_text('#!/bin/sh\nexec /bin/sh "$@"\n')
    (fake / "sh").chmod(0o755)
    (fake / "bash").mkdir()
    assert ShellSession(tmp_path, {"PATH": f"relative:{fake}"}).shell == str(fake / "sh")
    assert ShellSession(tmp_path, {"PATH": ""}).shell == "/bin/sh"
    assert ShellSession(tmp_path, {}, shell="/bin/other").shell == "/bin/other"


# Time and children.


def test_a_time_limit_ends_the_whole_group(tmp_path, witness):
    async def scenario(shell):
        outcome = await shell.run(
            f"exec 7>{witness.path}; trap '' TERM; echo begun; (sleep 1000; :) & sleep 1000; sleep 1000",
            timeout=1,
        )
        assert outcome.is_error
        text = outcome.content[0].text
        assert text.startswith("begun\nTimed out after 1 s: the command and what it started were ended.")
        assert outcome.view.exit_code is None
        assert witness.all_gone()

    with_shell(tmp_path, scenario, grace=0.1)


def test_time_limits_are_fitted(tmp_path):
    async def scenario(shell):
        limits = []

        async def run(command, timeout, on_output):
            limits.append(timeout)
            return await original(command, timeout, on_output)

        original = shell.state.run
        shell.state.run = run
        for asked in (None, -1, 0, 5, 9_999):
            await shell.run("true", timeout=asked)
        assert limits == [120, 120, 120, 5, 600]
        shell.state.timeout, shell.state.max_timeout = 3, 7
        for asked in (None, 5, 9):
            await shell.run("true", timeout=asked)
        assert limits[5:] == [3, 5, 7]

    with_shell(tmp_path, scenario)


@pytest.mark.parametrize("where", ["", ">/dev/null 2>&1"])
def test_what_is_left_running_ends_with_its_command(tmp_path, witness, where):
    async def scenario(shell):
        text = await shell.text(f"exec 7>{witness.path}; sleep 1000 {where} & echo started")
        assert text.startswith("started\nIt left a process running, which ended with it.")
        assert witness.all_gone()

    with_shell(tmp_path, scenario)


def test_a_child_that_ends_soon_is_waited_for(tmp_path):
    async def scenario(shell):
        assert await shell.text("(read line < fifo; echo late) & echo now; (echo x > fifo) &") == "now\nlate"

    os.mkfifo(tmp_path / "fifo")
    with_shell(tmp_path, scenario, linger=LIMIT)


def test_a_daemon_that_left_the_group_is_named(tmp_path):
    async def scenario(shell):
        text = await shell.text(
            "setsid sh -c 'echo $$ > pid; echo ready > fifo; exec sleep 1000' & read line < fifo; echo $line"
        )
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        assert text.startswith("ready\nA process that it detached still runs")

    os.mkfifo(tmp_path / "fifo")
    with_shell(tmp_path, scenario)


def test_cancelling_ends_the_group_and_is_passed_on(tmp_path, witness):
    async def scenario(shell):
        call = asyncio.ensure_future(
            shell.run(
                f"exec 7>{witness.path}; trap '' TERM; echo up; (sleep 1000; sleep 1000) & wait; sleep 1000"
            )
        )
        await shell.heard.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert witness.all_gone()
        assert await shell.text("echo next") == "next"

    with_shell(tmp_path, scenario, grace=0.1)


def test_cancelling_twice_waits_for_no_grace(tmp_path, witness):
    async def scenario(shell):
        call = asyncio.ensure_future(
            shell.run(f"exec 7>{witness.path}; trap '' TERM; echo up; while :; do sleep 1000; done")
        )
        await shell.heard.wait()
        call.cancel()
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert witness.all_gone()

    with_shell(tmp_path, scenario, grace=1_000)


# Output.


def test_a_flood_shows_head_and_tail(tmp_path):
    async def scenario(shell):
        outcome = await shell.run("echo first; yes | head -c 50000000; echo last")
        text = outcome.content[0].text
        assert text.startswith("first\ny\n")
        assert text.endswith("y\nlast")
        assert "lines, 49,9" in text
        assert len(text) <= 30_000
        assert len(outcome.view.output) <= 8_000
        assert outcome.view.output.endswith("y\nlast\n")

    with_shell(tmp_path, scenario)


def test_an_endless_flood_ends_at_the_time_limit(tmp_path):
    async def scenario(shell):
        outcome = await shell.run("yes", timeout=0.3)
        assert outcome.is_error
        assert len(outcome.content[0].text) < 31_000

    with_shell(tmp_path, scenario)


def test_output_that_is_no_plain_text(tmp_path):
    async def scenario(shell):
        outcome = await shell.run(
            r"printf '\033[31mred\033[0m\000 10%%\r\033[K100%%\n\377\n\033]0;t\007中文'"
        )
        assert outcome.content[0].text == "100%\n\\xff\n中文"
        assert not any("\x1b" in piece or "\0" in piece for piece in [*shell.shown, outcome.view.output])

    with_shell(tmp_path, scenario)


# Before it runs.


def test_what_the_policy_and_the_user_see(tmp_path):
    tool, shell = BashTool(), None

    async def scenario(made):
        nonlocal shell
        shell = made
        await made.run("cd /usr")
        return made

    with_shell(tmp_path, scenario)
    args = BashArgs("rm -rf x\r\x1b[2Kecho hi\nls")
    assert tool.accesses(args, shell.session) == (CommandAccess(args.command, os.path.realpath("/usr")),)
    assert tool.summary(args, shell.session) == "rm -rf x\\r\\x1b[2Kecho hi ls"
    assert tool.preview(args, shell.session) == CommandView("rm -rf x\\r\\x1b[2Kecho hi\nls")
    assert not tool.read_only
    assert "bash_output" in tool.description


def test_what_cannot_be_started(tmp_path):
    async def scenario(shell):
        with pytest.raises(ToolError, match="NUL"):
            await shell.run("echo a\0b")
        with pytest.raises(ToolError, match="too long for the system"):
            await shell.run("echo " + "x" * 3_000_000)
        shell.state._shell = "/no/such/shell"
        with pytest.raises(ToolError, match="could not be started"):
            await shell.run("true")
        with pytest.raises(ToolError, match="could not be started"):
            await shell.run("true", background=True)
        assert not shell.state.background

    with_shell(tmp_path, scenario)


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(exclude_characters="\0") | st.sampled_from("'\"\\$`\n#!(){}"), max_size=40))
def test_any_text_reaches_the_shell_as_it_is(tmp_path_factory, text):
    folder = tmp_path_factory.getbasetemp()
    word = text.encode(errors="replace").decode().replace("\r", "")
    quoted = "'" + word.replace("'", "'\\''") + "'"

    async def scenario():
        shell = Shell(folder)
        seen = bytearray()
        async with asyncio.timeout(LIMIT):
            finished = await shell.state.run(f"printf %s {quoted}", 20, seen.extend)
        assert finished.returncode == 0
        assert bytes(seen).decode() == word

    asyncio.run(scenario())


def test_a_command_is_judged_where_it_will_run(tmp_path):
    """From a folder that is gone, ``../x`` would lie within the workspace, and beside it where it runs."""

    async def scenario(shell):
        await shell.run("mkdir gone; cd gone")
        os.rmdir(tmp_path / "gone")
        (access,) = BashTool().accesses(BashArgs("cat ../x"), shell.session)
        assert access.cwd == str(tmp_path.resolve())

    with_shell(tmp_path, scenario)
