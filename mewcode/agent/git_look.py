"""What git says of the workspace: asked for a moment, where asking runs nothing of the repository."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence

from mewcode.agent.surroundings import Surroundings
from mewcode.infra.terminal_text import safe_line

_LINE = 160
_OUTPUT_READ = 65_536


def may_run_git(around: Surroundings) -> bool:
    """Whether the folder is trusted, or its repository is as a clone makes it: others can name programs that
    git runs."""
    from mewcode.permissions.repository import is_plain_repository

    return around.trusted or is_plain_repository(around.places.root)


def run_git(around: Surroundings, words: Sequence[str], deadline: float) -> list[str] | None:
    """The lines that git prints in the workspace's root; None where it is not there, fails, or is not done at
    ``deadline`` (of `time.monotonic`)."""
    import shutil
    import subprocess

    git = shutil.which("git", path=around.environ.get("PATH"))
    if git is None or not os.path.isabs(git):  # one from the workspace would be the repository's own
        return None
    quiet = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.quotePath=false")
    settings = [word for setting in (*quiet, "log.showSignature=false") for word in ("-c", setting)]
    environ = {
        name: value
        for name, value in around.environ.items()
        if not name.startswith("GIT_") and name not in around.secret_names
    }
    root = around.places.root
    environ |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    environ["GIT_CEILING_DIRECTORIES"] = str(root.parent)
    try:
        process = subprocess.Popen(
            [git, "--no-pager", *settings, *words],
            cwd=root,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), process.kill)
    timer.daemon = True
    timer.start()
    with process:
        assert process.stdout is not None
        output = process.stdout.read(_OUTPUT_READ)
        is_cut = len(output) == _OUTPUT_READ
        if is_cut:
            process.kill()
        code = process.wait()
    timer.cancel()
    if code != 0 and not is_cut:
        return None
    return output.decode("utf-8", "replace").splitlines()


def listed(lines: Sequence[str], most: int) -> list[str]:
    """The first lines, safe to show and with nothing in them that looks like a mark of ours."""
    shown = [safe_line(line, _LINE).replace("<", "‹").replace(">", "›") for line in lines[:most]]
    return [*shown, f"and {len(lines) - most} more"] if len(lines) > most else shown
