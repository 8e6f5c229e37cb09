"""The scripts, run for real by bash. The interpreters they find are shell scripts; nothing is installed."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPTS = (
    "scripts/_env.sh",
    "scripts/run",
    "scripts/test",
    "scripts/check",
    "scripts/soak",
    "scripts/bench",
    "scripts/pictures",
    "scripts/tour",
    ".ci/run",
)
LIMIT = 20.0  # seconds; only a hang gets there

# What a start needs when nothing has to be done, and what a set-up needs besides.
START_TOOLS = ("bash", "env", "dirname", "readlink")
SET_UP_TOOLS = ("sh", "cat", "cp", "ln", "mkdir", "mv", "rm", "sleep", "touch")
# macOS has no flock.
LOCKS = ["link", "flock"] if shutil.which("flock") else ["link"]
EITHER_LOCK = pytest.mark.parametrize("with_flock", [lock == "flock" for lock in LOCKS], ids=LOCKS)

# Records each call, answers what the scripts ask of an interpreter, and stands in for the tools it starts.
# FAKE_PIP: a shell command to run in place of an installation. FAKE_FAILING: a tool that reports a failure.
FAKE_PYTHON = r"""#!/bin/sh
printf '%s\n' "$*" >>"$FAKE_CALLS"
case "$1 $2" in
  "-c "*version_info*) echo VERSION ;;
  "-c "*) ;;
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && echo "version = VERSION" >"$3/pyvenv.cfg" ;;
  "-m pip") eval "${FAKE_PIP:-:}" && : >"${0%/*}/mewcode" ;;
  */bin/mewcode*)
    shift
    printf '%s\n' "cwd:$PWD" "demo:$MEWCODE_OFFER_DEMO"
    printf 'arg:%s\n' "$@"
    cat
    ;;
  "-m ${FAKE_FAILING:-none}") exit 1 ;;
  *) echo "ran with soak=${MEWCODE_SOAK:-no} in $PWD" ;;
esac
"""

FAKE_UV = r"""#!/bin/sh
printf 'uv %s\n' "$*" >>"$FAKE_CALLS"
case "$1" in
  venv) [ -z "$FAKE_UV_FAILS" ] && for venv; do :; done && mkdir -p "$venv/bin" &&
    cp "$4" "$venv/bin/python" && echo "version = 3.12.1" >"$venv/pyvenv.cfg" ;;
  pip) : >"${4%/*}/mewcode" ;;
  *) exit 2 ;;
esac
"""


@dataclass
class Checkout:
    """A copy of the scripts, and a PATH of which every program is known."""

    root: Path
    bin: Path
    calls_file: Path
    env: dict[str, str] = field(default_factory=dict)

    def fake(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def fake_python(self, name: str = "python3", version: str = "3.12.1") -> Path:
        return self.fake(name, FAKE_PYTHON.replace("VERSION", version))

    def start(self, script: str = "run", *args: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.root / "scripts" / script, *args],
            cwd=cwd or self.root.parent,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(
        self,
        script: str | Path = "run",
        *args: str,
        cwd: Path | None = None,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.root / "scripts" / script, *args],
            cwd=cwd or self.root.parent,
            env={**self.env, **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def take_calls(self) -> list[str]:
        """The calls of interpreters and installers since the last look, without questions for the version."""
        calls = self.calls_file.read_text(encoding="utf-8").splitlines() if self.calls_file.exists() else []
        self.calls_file.unlink(missing_ok=True)
        return [call for call in calls if not call.startswith("-c ")]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs a set-up needs, without flock."""
    folder = tmp_path_factory.mktemp("tools")
    for name in START_TOOLS + SET_UP_TOOLS:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    return folder


@pytest.fixture
def bare(tmp_path: Path, tools: Path) -> Checkout:
    """A checkout on a machine without Python."""
    root = tmp_path / "a b 项目"
    for script in SCRIPTS:
        (root / script).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / script, root / script)
    (root / "pyproject.toml").write_text('[project]\nname = "mewcode"\n', encoding="utf-8")
    programs = tmp_path / "bin"
    programs.mkdir()
    calls = tmp_path / "calls"
    env = {"PATH": f"{programs}:{tools}", "HOME": str(tmp_path), "FAKE_CALLS": str(calls)}
    return Checkout(root, programs, calls, env)


@pytest.fixture
def checkout(bare: Checkout) -> Checkout:
    """A checkout on a machine with a Python that suffices."""
    bare.fake_python()
    return bare


def only_line(text: str) -> str:
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    return text.rstrip("\n")


def installations(calls: list[str]) -> list[str]:
    return [call.rsplit(" ", 1)[1] for call in calls if call.startswith("-m pip install ")]


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_is_valid_bash(script: str) -> None:
    path = REPOSITORY / script
    checked = subprocess.run(["bash", "-n", path], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    if not script.endswith(".sh"):
        assert os.access(path, os.X_OK)
        assert "\nset -euo pipefail\n" in path.read_text(encoding="utf-8")


# ---- finding Python


def test_too_old_python_is_named_in_one_line(bare: Checkout) -> None:
    bare.fake("python3.13", "#!/bin/sh\necho 'no such version' >&2\nexit 127\n")  # an idle shim
    bare.fake_python("python3", "3.9.2")
    done = bare.run()
    assert done.returncode == 1
    assert done.stdout == ""
    assert only_line(done.stderr) == (
        "mewcode: needs Python 3.11 or newer; found 3.9.2 (python3). Install one or set MEWCODE_PYTHON."
    )
    assert not (bare.root / ".venv").exists()


def test_missing_python_is_said_in_one_line(bare: Checkout) -> None:
    done = bare.run("check")
    assert done.returncode == 1
    assert only_line(done.stderr).startswith("mewcode: needs Python 3.11 or newer; found none.")


def test_python_that_suffices_is_taken_past_one_that_does_not(bare: Checkout) -> None:
    bare.fake_python("python3", "3.9.2")
    bare.fake_python("python", "4.0.0")
    assert bare.run().returncode == 0
    assert "4.0.0" in (bare.root / ".venv/pyvenv.cfg").read_text(encoding="utf-8")


def test_mewcode_python_is_not_passed_over(checkout: Checkout) -> None:
    old = checkout.fake_python("old", "2.7.18")
    done = checkout.run(env={"MEWCODE_PYTHON": str(old)})
    assert done.returncode == 1
    assert f"found 2.7.18 ({old})" in only_line(done.stderr)
    checkout.fake_python("chosen", "3.14.0")
    assert checkout.run(env={"MEWCODE_PYTHON": "bin/chosen"}).returncode == 0  # relative to the caller
    assert "3.14.0" in (checkout.root / ".venv/pyvenv.cfg").read_text(encoding="utf-8")


# ---- setting up, once


def test_second_run_starts_the_program_alone(checkout: Checkout, tmp_path: Path) -> None:
    first = checkout.run()
    assert first.returncode == 0
    assert only_line(first.stderr) == "mewcode: setting up .venv (once, about half a minute)... done"
    venv = checkout.root / ".venv"
    pip = "-m pip install --disable-pip-version-check --no-input --progress-bar off -e ."
    assert checkout.take_calls() == [f"-m venv {venv}", pip, f"{venv}/bin/mewcode"]

    few = tmp_path / "few"
    few.mkdir()
    for tool in (*START_TOOLS, "cat"):  # cat is the fake program's own
        (few / tool).symlink_to(str(shutil.which(tool)))
    second = checkout.run(env={"PATH": str(few)})
    assert (second.returncode, second.stderr) == (0, "")
    assert checkout.calls_file.read_text(encoding="utf-8").splitlines() == [f"{venv}/bin/mewcode"]


def test_tools_for_development_are_added_when_asked_for_and_suffice_to_run(checkout: Checkout) -> None:
    checkout.run("run")
    checkout.run("test")
    checkout.run("check")
    checkout.run("soak")
    checkout.run("run")
    assert installations(checkout.take_calls()) == [".", ".[dev]"]


def test_changed_project_is_installed_again(checkout: Checkout) -> None:
    checkout.run()
    checkout.take_calls()
    with (checkout.root / "pyproject.toml").open("a", encoding="utf-8") as project:
        project.write("dependencies = []\n")
    done = checkout.run()
    assert only_line(done.stderr) == "mewcode: bringing .venv up to date... done"
    calls = checkout.take_calls()
    assert installations(calls) == ["."]
    assert not any(call.startswith("-m venv") for call in calls)


def test_moved_checkout_is_set_up_anew(checkout: Checkout) -> None:
    checkout.run()
    checkout.take_calls()
    checkout.root = checkout.root.rename(checkout.root.parent / "elsewhere")
    assert checkout.run().returncode == 0
    venv = checkout.root / ".venv"
    assert f"-m venv {venv}" in checkout.take_calls()


@pytest.mark.parametrize("broken", ["dangling", "silent", "no venv at all"])
def test_broken_environment_is_rebuilt(checkout: Checkout, broken: str) -> None:
    checkout.run()
    python = checkout.root / ".venv/bin/python"
    python.unlink()
    if broken == "dangling":
        python.symlink_to("/no/such/python")
    elif broken == "silent":
        python.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        python.chmod(0o755)
    else:
        shutil.rmtree(python.parent)
    checkout.take_calls()
    done = checkout.run("run", "x")
    assert done.returncode == 0
    assert "arg:x\n" in done.stdout
    assert installations(checkout.take_calls()) == ["."]


def test_set_up_leaves_standard_input_and_module_path_alone(checkout: Checkout) -> None:
    checkout.env["FAKE_PIP"] = 'cat; [ -z "$PYTHONPATH" ]'
    done = checkout.run(stdin="a question", env={"PYTHONPATH": "somewhere"})
    assert done.returncode == 0
    assert "a question" in done.stdout


# ---- packages that cannot be fetched


def test_failed_fetch_is_one_line_and_the_next_run_repairs_it(checkout: Checkout) -> None:
    refused = (
        "WARNING: Retrying after connection broken by 'NewConnectionError('<object at 0x7f>: Failed to"
        " establish a new connection: [Errno 111] Connection refused')': /simple/hatchling/"
    )
    output = f"Looking in indexes: https://index.example.org/\n{refused}\nERROR: No matching distribution"
    checkout.env["FAKE_PIP"] = f'cat <<"END"\n{output}\nEND\nfalse'
    done = checkout.run()
    assert (done.returncode, done.stdout) == (1, "")
    log = checkout.root / ".venv/install.log"
    assert only_line(done.stderr) == (
        "mewcode: cannot fetch packages (Connection refused); check the network, proxy or package index,"
        f" then run again. Full log: {log}"
    )
    assert output in log.read_text(encoding="utf-8")
    assert not list((checkout.root / ".venv").glob("*.stamp"))

    del checkout.env["FAKE_PIP"]
    assert checkout.run().returncode == 0
    assert len(installations(checkout.take_calls())) == 2


def test_python_without_venv_says_what_to_install(checkout: Checkout) -> None:
    says = "echo 'because ensurepip is not'\necho 'available. Failing command: x'\nexit 1\n"
    checkout.fake("python3", f'#!/bin/sh\n[ "$1" = -c ] && echo 3.12.1 && exit\n{says}')
    done = checkout.run()
    assert done.returncode == 1
    assert "(python3); install its venv package" in only_line(done.stderr)


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("ERROR: No matching distribution found\n\n[notice] A new release", "No matching distribution found"),
        ("error: failed\n  cause: error sending (https://a.example/x)\n  cause: dns error", "dns error"),
        (
            "ERROR: 403 Client Error: Forbidden for url: https://a.example/x",
            "403 Client Error: Forbidden for url:",
        ),
        ("ERROR: bad host mirror.example.org:8443 in pyproject.toml", "bad host in pyproject.toml"),
        ("HTTPSConnectionPool(host='a.example', port=443): Read timed out.", "timed out"),
        (
            "OSError('Tunnel connection failed: 407 Authentication Required')",
            "proxy: 407 Authentication Required",
        ),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] not valid for 'a.example'", "certificate verify failed"),
        ("x: [Errno 111] Connection refused\nDownloading rich.whl\nERROR: other", "other"),
        ("x: [Errno 111] Connection refused\n$ second attempt\nERROR: gone", "gone"),
        ("error: subprocess-exited-with-error\n╰─> See above for output.\nnote: a hint", "no reason given"),
        ("", "no reason given"),
    ],
)
def test_reason_is_found_in_the_log_and_names_no_host(checkout: Checkout, log: str, reason: str) -> None:
    command = 'set -euo pipefail; source "$0"; failure_reason'
    found = subprocess.run(
        ["bash", "-c", command, checkout.root / "scripts/_env.sh"],
        input=log + "\n",
        env=checkout.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (found.stdout, found.stderr) == (reason, "")


# ---- uv


def test_uv_is_used_where_it_is(checkout: Checkout) -> None:
    checkout.fake("uv", FAKE_UV.replace('cp "$4"', f'cp "{checkout.bin}/python3"'))
    assert checkout.run("test").returncode == 0
    venv = checkout.root / ".venv"
    assert checkout.take_calls()[:2] == [
        f"uv venv --allow-existing --python python3 {venv}",
        f"uv pip install --python {venv}/bin/python -e .[dev]",
    ]


def test_pip_is_asked_where_uv_fails(checkout: Checkout) -> None:
    checkout.fake("uv", FAKE_UV)
    checkout.env["FAKE_UV_FAILS"] = "1"
    assert checkout.run().returncode == 0
    assert installations(checkout.take_calls()) == ["."]


# ---- two at once, and one that is killed


class HeldInstallation:
    """An installation that says that it began, and ends when it is let."""

    def __init__(self, checkout: Checkout) -> None:
        self._began = checkout.root.parent / "began"
        self._go = checkout.root.parent / "go"
        os.mkfifo(self._began)
        os.mkfifo(self._go)
        checkout.env["FAKE_PIP"] = f'echo began >"{self._began}"; read line <"{self._go}"'
        # Open at both ends, so that neither side waits for the other's open.
        self._began_fd = os.open(self._began, os.O_RDWR)
        self._go_fd = os.open(self._go, os.O_RDWR)

    def wait_until_begun(self) -> None:
        ready, _, _ = select.select([self._began_fd], [], [], LIMIT)
        assert ready, "no installation began"
        os.read(self._began_fd, 100)

    def let_end(self) -> None:
        os.write(self._go_fd, b"go\n")

    def close(self) -> None:
        os.close(self._began_fd)
        os.close(self._go_fd)


def choose_lock(checkout: Checkout, with_flock: bool) -> None:
    if with_flock:
        (checkout.bin / "flock").symlink_to(str(shutil.which("flock")))


@EITHER_LOCK
def test_two_starts_at_once_install_once(checkout: Checkout, with_flock: bool) -> None:
    choose_lock(checkout, with_flock)
    held = HeldInstallation(checkout)
    with checkout.start() as one, checkout.start() as other:
        held.wait_until_begun()
        held.let_end()
        outputs = [process.communicate(timeout=LIMIT) for process in (one, other)]
    held.close()
    assert [one.returncode, other.returncode] == [0, 0]
    assert sorted(err for _, err in outputs) == [
        "",
        "mewcode: setting up .venv (once, about half a minute)... done\n",
    ]
    assert installations(checkout.take_calls()) == ["."]


@EITHER_LOCK
def test_killed_set_up_is_finished_by_the_next_run(checkout: Checkout, with_flock: bool) -> None:
    choose_lock(checkout, with_flock)
    held = HeldInstallation(checkout)
    with checkout.start() as process:
        held.wait_until_begun()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=LIMIT)
    held.close()
    assert not list((checkout.root / ".venv").glob("*.stamp"))
    del checkout.env["FAKE_PIP"]
    assert checkout.run().returncode == 0
    assert len(installations(checkout.take_calls())) == 2


def test_interrupted_set_up_says_so_in_one_line(checkout: Checkout) -> None:
    held = HeldInstallation(checkout)
    # Where the tests run in the background, an ignored SIGINT would be passed on.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with checkout.start() as process:
        signal.signal(signal.SIGINT, before)
        held.wait_until_begun()
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
    held.close()
    assert process.returncode in {130, -signal.SIGINT}
    assert only_line(err) == "mewcode: the set-up of .venv was interrupted; run again to finish it."
    assert not list((checkout.root / ".venv").glob("*.stamp"))
    assert not (checkout.root / ".venv/install.owner").is_symlink()


# ---- what the scripts run


def test_run_keeps_the_folder_and_the_arguments(checkout: Checkout, tmp_path: Path) -> None:
    here = tmp_path / "我的 folder"
    here.mkdir()
    links = tmp_path / "links"
    links.mkdir()
    (links / "second").symlink_to(checkout.root / "scripts/run")
    (links / "mew").symlink_to("second")  # relative to the link's folder, not to the caller's
    done = checkout.run("../../links/mew", "-p", "a b", "", "*", cwd=here)
    assert done.returncode == 0
    assert done.stdout.splitlines()[:6] == [f"cwd:{here}", "demo:1", "arg:-p", "arg:a b", "arg:", "arg:*"]
    linked = checkout.run(links / "mew", cwd=here)
    assert linked.stdout.startswith(f"cwd:{here}\n")
    assert linked.stderr == ""


@pytest.mark.parametrize(
    ("script", "given", "expected", "soak"),
    [
        ("test", (), "-m pytest -n 2 tests", "no"),
        ("test", ("tests/unit", "-k", "a or b"), "-m pytest tests/unit -k a or b", "no"),
        ("soak", (), "-m pytest -m soak or hypothesis", "1"),
        ("soak", ("-x",), "-m pytest -m soak or hypothesis -x", "1"),
    ],
)
def test_pytest_is_run_in_the_checkout(
    checkout: Checkout, script: str, given: tuple[str, ...], expected: str, soak: str
) -> None:
    done = checkout.run(script, *given)
    assert done.returncode == 0
    assert checkout.take_calls()[-1] == expected
    assert done.stdout == f"ran with soak={soak} in {checkout.root}\n"


def test_check_runs_everything_and_names_what_failed(checkout: Checkout) -> None:
    good = checkout.run("check")
    assert (good.returncode, good.stdout.splitlines()[-1]) == (0, "scripts/check: all passed")
    checkout.take_calls()
    bad = checkout.run("check", env={"FAKE_FAILING": "mypy"})
    assert (bad.returncode, bad.stdout.splitlines()[-1]) == (1, "scripts/check: failed: mypy")
    lint_imports = f"{checkout.root}/.venv/bin/lint-imports"
    assert checkout.take_calls() == [
        "-m ruff check",
        "-m ruff format --check",
        "-m mypy",
        lint_imports,
    ]


@pytest.mark.parametrize(("failing", "status"), [("", 0), ("mypy", 1), ("pytest", 1)])
def test_ci_runs_checks_and_tests_and_fails_with_either(
    checkout: Checkout, failing: str, status: int, tmp_path: Path
) -> None:
    done = subprocess.run(
        ["bash", checkout.root / ".ci/run"],
        cwd=tmp_path,
        env={**checkout.env, "CI": "true", "FAKE_FAILING": failing},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    calls = checkout.take_calls()
    assert "-m mypy" in calls
    assert calls[-1] == "-m pytest -n 2 tests"
    if failing != "pytest":
        assert done.stdout.splitlines()[-1].startswith("ran with soak=no")
