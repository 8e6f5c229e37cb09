"""Running a search: ripgrep where there is one, else the same in Python, as a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from mewcode.core.errors import ToolError
from mewcode.tools.search import Search

# Seconds. A search that takes longer was asked of the wrong folder.
TIME_LIMIT = 20.0
_CHUNK = 1 << 16
# What is kept of a message on stderr, in bytes.
_ERRORS_KEPT = 4096


RipgrepFinder = Callable[[], "str | None"]


def find_ripgrep(environ: Mapping[str, str] | None = None) -> str | None:
    """``rg`` beside the running Python (where the package brings it), else on the path; None without one.
    Relative entries of the path are left out: they would run what lies in the user's project."""
    search_path = (os.environ if environ is None else environ).get("PATH", "")
    for folder in (os.path.dirname(sys.executable), *search_path.split(os.pathsep)):
        candidate = os.path.join(folder, "rg")
        if os.path.isabs(candidate) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def plain_flags(base: Path) -> list[str]:
    """What each search below a folder is given: no settings of the user's, and the ignore files of git."""
    in_git = any(os.path.lexists(folder / ".git") for folder in (base, *base.parents))
    flags = ["--no-config", "--no-messages", "--color=never", "--no-ignore-dot", "--no-ignore-global"]
    # Outside a repository ignore files count all the same, but only those within the folder: a rule such as
    # `*` in a home folder kept under git is not meant for what lies below.
    return flags if in_git else [*flags, "--no-require-git", "--no-ignore-parent"]


def _ripgrep_command(rg: str, search: Search) -> list[str]:
    command = [rg, *plain_flags(Path(search.base)), "--null", "--sort=path"]
    if search.hidden:
        command += ["--hidden", "--glob=!.git"]
    target = f"./{search.target}" if search.target else "./"
    if search.pattern is None:
        return [*command, "--files", "--", target]
    command += ["--crlf", "--no-heading", "--with-filename", "--line-number"]
    command += ["--ignore-case"] if search.ignore_case else ["--case-sensitive"]
    if search.multiline:
        command += ["--multiline", "--multiline-dotall"]
    if search.name_filter and not search.target:
        command += [f"--type-add=wanted:{search.name_filter}", "--type=wanted"]
    match search.mode:
        case "files":
            command.append("--files-with-matches")
        case "count":
            command.append("--count")
        case _:
            command.append(f"--context={search.context}")
    return [*command, "--", search.pattern, target]


async def run_search(search: Search, rg: str | None, consume: Callable[[bytes], bool]) -> None:
    """Runs a search and hands its output on in chunks, in the form of ``rg --null``, until ``consume`` says
    False. When this returns or raises, the process is gone. Raises `ToolError` for a pattern that makes no
    sense, and after `TIME_LIMIT` seconds."""
    try:
        async with asyncio.timeout(TIME_LIMIT):
            if rg is not None and await _run(search, _ripgrep_command(rg, search), consume):
                return
            python = [sys.executable, "-P", "-m", "mewcode.tools.search_process"]
            if not await _run(search, python, consume, environment=_python_environment()):
                raise ToolError("No search program could be started.")
    except TimeoutError as error:
        raise ToolError(
            f"The search took longer than {TIME_LIMIT:.0f} seconds and was stopped. "
            "Search a smaller folder or for something narrower."
        ) from error


def _python_environment() -> dict[str, str]:
    """The process finds this package where this one did; nothing is taken from the folder searched."""
    places = os.pathsep.join(path for path in sys.path if os.path.isabs(path))
    return {**os.environ, "PYTHONPATH": places}


async def _run(
    search: Search,
    command: list[str],
    consume: Callable[[bytes], bool],
    *,
    environment: dict[str, str] | None = None,
) -> bool:
    """False where the program does not start or does not know what it is asked: another must do. With an
    ``environment`` the program is ours, and takes the search on stdin."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=search.base,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL if environment is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError:
        return False
    try:
        if process.stdin is not None:
            process.stdin.write(msgspec.json.encode(search))
            process.stdin.close()
        return await _hand_on(process, consume)
    finally:
        await _end(process)


async def _hand_on(process: asyncio.subprocess.Process, consume: Callable[[bytes], bool]) -> bool:
    assert process.stdout is not None
    assert process.stderr is not None
    while chunk := await process.stdout.read(_CHUNK):
        if not consume(chunk):
            return True
    errors = (await process.stderr.read(_ERRORS_KEPT)).decode("utf-8", "replace")
    code = await process.wait()
    if code in (0, 1) or not errors:
        return True
    if "unexpected argument" in errors or "unrecognized flag" in errors or "wasn't expected" in errors:
        return False  # a ripgrep of before 2020
    raise ToolError(_explain(errors))


def _explain(errors: str) -> str:
    """What the search program said, as a hint for the next try."""
    words = errors.strip()
    if "regex" in words or "repetition" in words:
        hint = "Escape ( ) [ ] { } . * + ? to find them as they are."
        return f"The pattern is no valid regular expression. {hint}\n{words}"
    return f"The search failed: {words}"


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):  # it may end just now
            process.kill()
    # What is left in the pipes is read, so that they close.
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            while await stream.read(_CHUNK):
                pass
    await process.wait()
