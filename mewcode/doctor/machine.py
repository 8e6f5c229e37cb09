"""The machine: programs, folders, sessions, config files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from mewcode.config.layers import CONFIG_FILE, LOCAL_FILE, shown_path
from mewcode.doctor.check import Check, Subject
from mewcode.infra.log_file import log_path
from mewcode.infra.terminal_text import safe_line
from mewcode.tools.ripgrep import find_ripgrep

# Seconds that a program may take to say its version.
_LIMIT = 3.0
_LEAST_FREE = 500_000_000
_MOST_READ = 200_000_000


def check_programs(subject: Subject) -> Iterator[Check]:
    """Python, ripgrep, git, bash: there, and how old; what recall goes by."""
    yield Check("python", "ok", f"{sys.version.split()[0]} ({sys.executable})")
    rg = find_ripgrep(subject.environ)
    if rg is None:
        hint = "Install ripgrep (rg): a slower search in Python stands in until then."
        yield Check("ripgrep", "warn", "not found", hint)
    else:
        yield _version("ripgrep", [rg, "--version"], subject.environ, "Reinstall ripgrep.")
    for name, hint in (
        ("git", "Install git: without it branches are not shown and worktrees not known."),
        ("bash", "Install bash: commands run in it."),
    ):
        path = shutil.which(name, path=subject.environ.get("PATH"))
        if path is None:
            yield Check(name, "warn" if name == "git" else "fail", "not found", hint)
        else:
            yield _version(name, [path, "--version"], subject.environ, hint)
    yield check_recall()


def check_recall() -> Check:
    """How notes and past turns are found."""
    from mewcode.memory.recall.semantic import INSTALL, why_never, why_not

    reason = why_not()
    if not reason:
        return Check("recall", "ok", "by words and by meaning")
    advice = "" if why_never() else f"; by meaning too with: {INSTALL}"
    return Check("recall", "ok", f"by words alone ({reason}){advice}")


def _version(name: str, command: list[str], environ: Mapping[str, str], hint: str) -> Check:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT,
            env=dict(environ),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, "fail", f"{command[0]} does not run ({type(error).__name__})", hint)
    first = done.stdout.decode("utf-8", "backslashreplace").partition("\n")[0]
    if done.returncode:
        return Check(name, "fail", f"{command[0]} fails with exit code {done.returncode}", hint)
    return Check(name, "ok", f"{safe_line(first, 60)} ({command[0]})")


def check_folders(subject: Subject) -> Iterator[Check]:
    """The user folder is private and writable, the others can be written where they are needed."""
    places, home = subject.places, subject.environ.get("HOME")
    yield _folder("user folder", places.user, home, private=True)
    yield _folder("project folder", places.project, home, private=False)
    yield _folder("log folder", log_path().parent, home, private=False)


def _folder(name: str, path: Path, home: str | None, *, private: bool) -> Check:
    shown = shown_path(path, home)
    if not path.exists():
        above = next((folder for folder in path.parents if folder.exists()), Path("/"))
        if os.access(above, os.W_OK):
            return Check(name, "ok", f"{shown} (made when it is needed)")
        return Check(name, "fail", f"{shown} cannot be made", f"Make {above} writable.")
    if not path.is_dir():
        return Check(name, "fail", f"{shown} is not a folder", "Move the file away.")
    if not os.access(path, os.W_OK | os.X_OK):
        return Check(name, "fail", f"{shown} is not writable", f"chmod u+rwx {shown}")
    mode = path.stat().st_mode & 0o777
    if private and mode & 0o077:
        return Check(name, "warn", f"{shown} is open to others (mode {mode:o})", f"chmod 700 {shown}")
    return Check(name, "ok", shown)


def check_archive(subject: Subject) -> Iterator[Check]:
    """The sessions of this folder can be read, and there is room for more."""
    from mewcode.core.errors import SessionError
    from mewcode.sessions.find import list_sessions
    from mewcode.sessions.reader import load_history

    folder = subject.places.project / "sessions"
    sessions = list_sessions(folder)
    damaged, unread, read = [], 0, 0
    for info in sessions:  # the newest first: those are looked at, however many there are
        if read + info.size > _MOST_READ:
            unread += 1
            continue
        read += info.size
        try:
            if load_history(info.path).skipped:
                damaged.append(info.id)
        except SessionError:
            damaged.append(info.id)
    size = sum(info.size for info in sessions) / 1e6
    detail = f"{len(sessions)} sessions, {size:.1f} MB" + (f", {unread} not looked at" if unread else "")
    if damaged:
        named = ", ".join(damaged[:3]) + (" ..." if len(damaged) > 3 else "")
        hint = f"They open all the same, without the broken lines: {safe_line(named)}"
        yield Check("archive", "warn", f"{detail}, {len(damaged)} with damaged lines", hint)
    else:
        yield Check("archive", "ok", detail)
    yield _disk(folder)


def _disk(folder: Path) -> Check:
    above = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(above).free
    detail = f"{free / 1e9:.1f} GB free"
    if free < _LEAST_FREE:
        return Check("disk", "warn", detail, "Make room: sessions are not saved on a full disk.")
    return Check("disk", "ok", detail)


def check_config(subject: Subject) -> Iterator[Check]:
    """Each config file that is there is valid, and what is ignored of them."""
    if subject.loaded is None:
        yield Check("config", "fail", subject.config_error, subject.config_hint)
        return
    places = subject.places
    paths = (places.user / CONFIG_FILE, places.project / CONFIG_FILE, places.project / LOCAL_FILE)
    found = [shown_path(path, subject.environ.get("HOME")) for path in paths if path.exists()]
    notices = subject.loaded.notices
    if notices:
        yield Check("config", "warn", safe_line(notices[0], 300), "Trust the folder: mewcode --trust")
    else:
        yield Check("config", "ok", ", ".join(found) or "no file, so the defaults")
