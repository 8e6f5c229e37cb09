"""The input in the user's own editor."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType

from mewcode.core.errors import MewCodeError

# What is there on most systems, where the user has named none.
_USUAL = ("nano", "vim", "vi")
# Seconds that an editor may take to end when it is asked to.
_GRACE = 1.0


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """The command of the user's editor: ``VISUAL``, ``EDITOR``, else one that is usual. Raises
    `MewCodeError` where there is none."""
    import shutil

    for name in ("VISUAL", "EDITOR"):
        if words := _words(environ.get(name, "")):
            return words
    for name in _USUAL:
        if shutil.which(name, path=environ.get("PATH", os.defpath)):
            return [name]
    raise MewCodeError("there is no editor", hint="Set $EDITOR to the one you use.")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise MewCodeError(f"$EDITOR makes no sense: {error}", hint="Quotes have to close.") from error


async def edit_text(text: str, environ: Mapping[str, str]) -> str:
    """Opens the editor on ``text`` and returns what it leaves, without the newline at its end. Called in the
    main thread while the terminal is free (`repl.screen.Screen.away`); the loop goes on meanwhile. Raises
    `MewCodeError`; the text is then as it was."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="mewcode-") as folder:
        path = os.path.join(folder, "input.md")
        _write(path, text)
        await edit_file(path, environ)
        return _read(path).removesuffix("\n")


async def edit_file(path: str | os.PathLike[str], environ: Mapping[str, str]) -> None:
    """Opens the editor on a file until the user leaves it. Called as `edit_text`. Raises `MewCodeError`; what
    the file then holds is for the caller to see."""
    command = editor_command(environ)
    # Ctrl-C is meant for the editor. A handler of ours, unlike an ignored signal, is not inherited.
    before = signal.signal(signal.SIGINT, _nothing)
    try:
        code = await _run([*command, os.fspath(path)], environ)
    finally:
        signal.signal(signal.SIGINT, before)
    if code != 0:
        raise MewCodeError(f"the editor ended with code {code}; the text is unchanged")


async def _run(command: list[str], environ: Mapping[str, str]) -> int:
    """Runs it to its end. Where that is not waited for, because we end ourselves, it is ended."""
    try:
        process = await asyncio.create_subprocess_exec(*command, env=dict(environ))
    except OSError as error:
        raise MewCodeError(
            f"the editor {command[0]} did not start: {error.strerror}", hint="Set $EDITOR to another."
        ) from error
    try:
        return await process.wait()
    finally:
        if process.returncode is None:
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):  # it may end just now
        process.terminate()
        try:
            async with asyncio.timeout(_GRACE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.write(text)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="strict", newline=None) as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise MewCodeError(f"what the editor left cannot be read: {error}") from error


def _nothing(number: int, frame: FrameType | None) -> None:
    pass
