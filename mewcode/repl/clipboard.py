"""The clipboard: by an escape sequence that the terminal understands, and by the system's own program.

OSC 52 reaches the clipboard of the machine that the user sits at, also through ssh; but some terminals refuse
it, and none says so. The program reaches this machine's. Both are used where both are there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping

OSC52_LIMIT = 74_994
"""Bytes of text: as base64 that is 100,000 characters, the most that xterm and tmux take."""
_PATIENCE = 2.0  # seconds; the programs answer at once, or not at all


def osc52(text: str) -> str:
    """The sequence that puts ``text`` into the terminal's clipboard; empty where it is too long for that."""
    import base64

    data = text.encode("utf-8", "backslashreplace")
    return f"\x1b]52;c;{base64.b64encode(data).decode()}\x07" if len(data) <= OSC52_LIMIT else ""


def clipboard_program(environ: Mapping[str, str], platform: str = sys.platform) -> list[str] | None:
    """The program, with its arguments, that takes text on its input; None where there is none."""
    candidates: list[list[str]] = []
    if platform == "darwin":
        candidates.append(["pbcopy"])
    if environ.get("WAYLAND_DISPLAY"):
        candidates.append(["wl-copy"])
    if environ.get("DISPLAY"):
        candidates += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    if environ.get("WSL_DISTRO_NAME"):
        candidates.append(["clip.exe"])
    if environ.get("TMUX"):  # which by default ignores the sequence; -w hands the text on to the terminal
        candidates.append(["tmux", "load-buffer", "-w", "-"])
    for command in candidates:
        if found := shutil.which(command[0], path=environ.get("PATH")):
            return [found, *command[1:]]
    return None


def copy_by_program(text: str, environ: Mapping[str, str]) -> str:
    """Gives the text to the system's program; returns its name, or an empty string where that did not work.
    Blocks for up to two seconds."""
    command = clipboard_program(environ)
    if command is None:
        return ""
    try:
        # The program may stay in the background to serve the text: it must not hold our terminal.
        ended = subprocess.run(
            command,
            input=text.encode("utf-8", "backslashreplace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return command[0].rpartition("/")[2] if ended.returncode == 0 else ""
