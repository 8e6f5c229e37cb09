"""Search by regular expression through every message, in a process that can be stopped at any time."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mewcode.core.errors import SessionError
from mewcode.sessions.catalog_entry import Hit

SECONDS = 10.0
"""How long a search may take."""
_POLL = 0.05
_CHUNK = 1 << 16
_REASON_LIMIT = 4096


class RegexFound(msgspec.Struct, frozen=True):
    """``hits``: in the order of the folders. ``is_complete``: all was looked through."""

    hits: list[Hit]
    is_complete: bool


def regex_search(
    pattern: str,
    folders: Sequence[Path],
    limit: int,
    stop: Callable[[], bool] | None = None,
    seconds: float = SECONDS,
) -> RegexFound:
    """The messages of sessions in which Python's regular expression stands, at most ``limit``. Where the
    pattern has no capitals, case does not count.

    Ends with what was found after ``seconds``, and soon after ``stop()`` is true; what takes too long within
    one message counts as not found. Raises SessionError for a pattern that makes no sense, and where no
    process can be started.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))}
    command = [sys.executable, "-P", "-m", "mewcode.sessions.regex_process", str(limit)]
    try:
        child = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise SessionError(f"The search could not be started: {error.strerror or error}") from error
    deadline = time.monotonic() + seconds
    with child:
        try:
            _ask(child, pattern, folders)
            lines, is_complete = _read(child, deadline, stop or _never)
            if not is_complete:
                child.kill()
            code = child.wait()
            reason = b"" if child.stderr is None else child.stderr.read(_REASON_LIMIT)
        except BaseException:
            child.kill()
            raise
    if is_complete and code == 2:
        raise SessionError(f"That is no regular expression: {reason.decode('utf-8', 'replace')}")
    if is_complete and code:
        raise SessionError("The search broke off.", "Search for a phrase instead.")
    return RegexFound([_hit(line, folders) for line in lines], is_complete)


def _ask(child: subprocess.Popen[bytes], pattern: str, folders: Sequence[Path]) -> None:
    said = [pattern.replace("\0", "").encode("utf-8", "replace"), *map(os.fsencode, folders)]
    assert child.stdin is not None
    try:
        child.stdin.write(b"".join(item + b"\0" for item in said))
        child.stdin.close()
    except BrokenPipeError:  # it ended at once: its exit code says more
        return


def _read(
    child: subprocess.Popen[bytes], deadline: float, stop: Callable[[], bool]
) -> tuple[list[bytes], bool]:
    """The whole lines that came, and whether that was all."""
    assert child.stdout is not None
    received = bytearray()
    is_complete = False
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while not stop() and time.monotonic() < deadline:
            if not selector.select(_POLL):
                continue
            chunk = os.read(child.stdout.fileno(), _CHUNK)
            if not chunk:
                is_complete = True
                break
            received += chunk
    return bytes(received).split(b"\n")[:-1], is_complete


def _hit(line: bytes, folders: Sequence[Path]) -> Hit:
    found: list[Any] = msgspec.json.decode(line)
    number, turn, role, ts, snippet, start, end = found
    folder = folders[number]
    return Hit(folder.name, turn, role, ts, snippet, folder, ((start, end),) if start < end else ())


def _never() -> bool:
    return False
