"""The picture in the system's clipboard, where a program can give it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress

from mewcode.core.errors import ToolError

# Seconds for a program that only copies, bytes that are taken from it.
_LIMIT = 5.0
_MOST = 60 * 1024 * 1024

# AppleScript gives the picture as «data PNGf89504E47...», in hexadecimal.
_OSASCRIPT = ("osascript", "-e", "get the clipboard as «class PNGf»")


def _programs(platform: str, environ: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Commands that write the clipboard's picture to standard output, in the order in which to try them."""
    if platform == "darwin":
        return [("pngpaste", "-"), _OSASCRIPT]
    wayland = ("wl-paste", "--no-newline", "--type", "image/png")
    x11 = ("xclip", "-selection", "clipboard", "-target", "image/png", "-out")
    return [wayland, x11] if environ.get("WAYLAND_DISPLAY") else [x11, wayland]


async def read_clipboard_picture(environ: Mapping[str, str], platform: str = sys.platform) -> bytes:
    """The picture's bytes. Raises `ToolError` where there is none, or no program that could give it."""
    commands = [
        command
        for command in _programs(platform, environ)
        if shutil.which(command[0], path=environ.get("PATH", os.defpath))
    ]
    if not commands:
        hint = (
            "Install pngpaste." if platform == "darwin" else "Install wl-clipboard (Wayland) or xclip (X11)."
        )
        raise ToolError("the clipboard cannot be read here", hint=hint)
    for command in commands:
        data = await _output(command, environ)
        if command is _OSASCRIPT:
            data = _from_applescript(data)
        if data:
            return data
    raise ToolError("there is no picture in the clipboard")


async def _output(command: tuple[str, ...], environ: Mapping[str, str]) -> bytes:
    """What the command writes; nothing where it fails, is too slow or writes too much."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=dict(environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    data = bytearray()
    try:
        async with asyncio.timeout(_LIMIT):
            while len(data) <= _MOST and (chunk := await process.stdout.read(1 << 16)):
                data += chunk
            if len(data) > _MOST:
                return b""
            return bytes(data) if await process.wait() == 0 else b""
    except TimeoutError:
        return b""
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it may end just now
                process.kill()
            await process.wait()


def _from_applescript(data: bytes) -> bytes:
    _, found, rest = data.partition(b"PNGf")
    if not found:
        return b""
    with suppress(ValueError):
        return bytes.fromhex(rest.partition("»".encode())[0].decode("ascii", "ignore"))
    return b""
