"""A cheap look at the files of a workspace: what git takes for changed, and when the files were last written.

Two looks, one before and one after a command, tell what it changed. A look reads no more than the files that
differ from the commit that is checked out, and those that are known to have been changed before.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from mewcode.sessions.checkpoint_log import FileState
from mewcode.sessions.checkpoint_store import observe

LIMIT = 1.0
"""Seconds that a look may take: what is slower would be noticed."""
_MOST_LISTED = 5_000
"""Paths that git may list; a tree with more is in the midst of something that a look cannot follow."""
_MOST_KNOWN = 2_000
_LARGEST_KEPT = 1 << 20
"""Bytes of a file whose content is kept because a command might change it; a source file has less."""
_MOST_KEPT = 20 << 20
"""Bytes of all files whose content one look keeps: to read and write them takes a tenth of a second."""
_MOST_NEW = 200
"""Files in a new folder that are known one by one."""
_LARGEST_ANSWER = 16 << 20
# What would lead git to another repository than the one it is sent to.
_DIVERTING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")

Signature = tuple[int, ...]
Keep = Callable[[str, Signature], FileState]


class TooSlow(Exception):
    """The look took longer than its limit, or found too much."""


class Look(msgspec.Struct, frozen=True):
    """``head``: the commit that is checked out, empty without git. ``listed``: git's two letters by absolute
    path (of a folder that git does not track, with a slash at its end). ``signatures``: of what was there,
    None for what was not. ``states``: of the files whose content is kept. ``taken``: Unix time in ns."""

    head: str
    listed: dict[str, str]
    signatures: dict[str, Signature | None]
    states: dict[str, FileState]
    taken: int


class CommandChange(msgspec.Struct, frozen=True):
    path: str
    before: FileState
    after: FileState


def look(
    root: Path,
    known: Sequence[str],
    keep: Keep,
    *,
    with_git: bool,
    limit: float = LIMIT,
    also: Iterable[str] = (),
) -> Look:
    """Looks at the work tree ``root``, with git where that may be run here; else, and besides, at the files
    ``known`` and ``also``. ``keep`` is given each file that may be about to change. Raises `TooSlow`."""
    end, taken = time.monotonic() + limit, time.time_ns()
    head, listed = _status(root, limit) if with_git else ("", {})
    signatures: dict[str, Signature | None] = {}
    states: dict[str, FileState] = {}
    room = _MOST_KEPT
    for path in dict.fromkeys([*listed, *known[-_MOST_KNOWN:], *also]):
        if time.monotonic() > end:
            raise TooSlow
        signatures[path] = signature = _signature(path)
        if signature is None or not stat.S_ISREG(signature[2]) or time.monotonic() > end - limit / 2:
            continue
        if signature[1] <= min(_LARGEST_KEPT, room):
            states[path] = keep(path, signature)
            room -= signature[1]
    return Look(head, listed, signatures, states, taken)


def refresh(seen: Look, path: str, keep: Keep) -> None:
    """Takes the state of one file, which no command changed, into a look."""
    seen.signatures[path] = signature = _signature(path)
    seen.states.pop(path, None)
    if signature is not None and stat.S_ISREG(signature[2]) and signature[1] <= _LARGEST_KEPT:
        seen.states[path] = keep(path, signature)


def differences(before: Look, after: Look) -> Iterator[CommandChange]:
    """What was changed between two looks; the later one must have looked at all that the earlier one had."""
    for path, now in after.signatures.items():
        if path in before.signatures:
            then = before.signatures[path]
            if then == now and before.listed.get(path) == after.listed.get(path):
                continue
            change = CommandChange(path, _state_then(path, then, before), _state_now(path, after))
        elif path in after.listed:
            if path.endswith("/"):
                yield from _new_folder(path, before)
                continue
            change = CommandChange(path, _state_unlisted(path, now, before, after), _state_now(path, after))
        else:
            continue
        if not change.before.same(change.after):
            yield change


def _state_then(path: str, signature: Signature | None, before: Look) -> FileState:
    if signature is None:
        return FileState("absent")
    kept = before.states.get(path)
    if kept is not None:
        return kept
    if path.endswith("/"):
        return FileState("unknown", why="a folder that git does not track", mtime_ns=signature[0])
    return FileState(
        "unknown",
        size=signature[1],
        mtime_ns=signature[0],
        why="a command changed it, and it was not kept before",
    )


def _state_now(path: str, after: Look) -> FileState:
    kept = after.states.get(path)
    if kept is not None:
        return kept
    if path.endswith("/"):
        signature = after.signatures[path]
        return FileState("unknown", why="a folder", mtime_ns=signature[0] if signature else 0)
    return observe(path)


def _state_unlisted(path: str, now: Signature | None, before: Look, after: Look) -> FileState:
    """The state of a file that git did not list at the earlier look: as in the commit, or not there."""
    if after.listed[path] in ("??", "A.", "AM"):
        return _state_of_new(now, before)
    return FileState("commit", before.head)


def _state_of_new(now: Signature | None, before: Look) -> FileState:
    """A file that git did not know is new, unless it is older: then git was kept from seeing it."""
    if now is None or now[4] >= before.taken:
        return FileState("absent")
    return FileState("unknown", why="it was there before, but hidden from git")


def _new_folder(path: str, before: Look) -> Iterator[CommandChange]:
    """The files of a folder that git did not list before."""
    count = 0
    for folder, _, names in os.walk(path):
        for name in names:
            inner = os.path.join(folder, name)
            signature = _signature(inner)
            count += 1
            if count > _MOST_NEW:
                more = FileState("unknown", why=f"a new folder of more than {_MOST_NEW} files")
                yield CommandChange(path, more, FileState("unknown", why="a folder"))
                return
            state = _state_of_new(signature, before)
            if state.kind == "absent":
                state = msgspec.structs.replace(state, folder=path.rstrip("/"))
            yield CommandChange(inner, state, observe(inner))


def _signature(path: str) -> Signature | None:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_mode, status.st_ino, status.st_ctime_ns


# --- git --------------------------------------------------------------------------------------------------


def _status(root: Path, limit: float) -> tuple[str, dict[str, str]]:
    """The commit, and what git takes for changed. Empty where git does not answer."""
    what = ["status", "--porcelain=v2", "-z", "--branch", "--no-renames", "--no-ahead-behind"]
    answer = run_git(root, [*what, "--untracked-files=normal", "--ignore-submodules=all"], limit)
    return _parse_status(root, answer) if answer is not None else ("", {})


def _parse_status(root: Path, answer: bytes) -> tuple[str, dict[str, str]]:
    head, listed = "", dict[str, str]()
    for line in answer.split(b"\0"):
        if line.startswith(b"# branch.oid "):
            head = line[13:].decode("ascii", "replace")
            continue
        fields = {b"1": 8, b"u": 10, b"?": 1}.get(line[:1])
        parts = line.split(b" ", fields) if fields else []
        if not fields or len(parts) <= fields or parts[fields].startswith(b".mewcode/"):
            continue
        letters = "??" if fields == 1 else parts[1].decode("ascii", "replace")
        listed[os.path.join(root, os.fsdecode(parts[fields]))] = letters
        if len(listed) > _MOST_LISTED:
            raise TooSlow
    return (head if head.isalnum() else ""), listed


def run_git(root: Path, arguments: Sequence[str], limit: float, data: bytes = b"") -> bytes | None:
    """What git prints; None where it fails or is not there. Raises `TooSlow` after ``limit`` seconds.

    The repository's own settings start no monitor and no hook; its filters may run, so the caller must know
    that the folder is trusted or brings none. It never waits for anyone and takes no lock.
    """
    import subprocess

    git = shutil.which("git")
    if git is None or not os.path.isabs(git):
        return None
    command = [git, "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]
    environ = {name: value for name, value in os.environ.items() if name not in _DIVERTING}
    try:
        process = subprocess.Popen(
            [*command, "-C", str(root), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            start_new_session=True,
        )
    except OSError:
        return None
    with process:
        try:
            output, _ = process.communicate(data, timeout=limit)
        except subprocess.TimeoutExpired:
            _kill(process.pid)
            raise TooSlow from None
        except BaseException:
            _kill(process.pid)
            raise
    return output if process.returncode == 0 and len(output) <= _LARGEST_ANSWER else None


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def committed_state(root: Path, commit: str, path: str, limit: float = 5.0) -> tuple[str, int, bytes] | None:
    """Kind ("file", "link" or "absent"), permission bits and content of a file of a commit, as it would be
    checked out. None where git cannot tell; may raise `TooSlow`."""
    if not commit.isalnum():
        return None
    inner = os.path.relpath(path, root)
    listed = run_git(root, ["ls-tree", "-z", commit, "--", inner], limit)
    if listed is None:
        return None
    if not listed:
        return "absent", 0, b""
    mode, kind = listed.split(b" ", 2)[:2]
    if kind != b"blob":
        return None
    show = ["cat-file", "blob" if mode == b"120000" else "--filters", f"{commit}:{inner}"]
    content = run_git(root, show, limit)
    if content is None:
        return None
    return (
        ("link", 0, content)
        if mode == b"120000"
        else ("file", 0o755 if mode == b"100755" else 0o644, content)
    )
