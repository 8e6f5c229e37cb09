"""Where things live: the user folder, the workspace's root, its project folder.

Nothing here is read at import; the environment and the folder started in are arguments.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

PROJECT_DIR = ".mewcode"

# Kept out of version control unless the user decides otherwise by editing the file.
_GITIGNORE = """\
# Made by MewCode: what is private stays out of version control.
sessions/
memory/
trash/
*.local.*
*.lock
.gitignore
"""


class Places(msgspec.Struct, frozen=True):
    """``cwd``: the folder started in. ``root``: the git work tree's top, else ``cwd``. ``user``: the user
    folder (``~/.mewcode``). ``project``: the project folder. All absolute; none need exist."""

    cwd: Path
    root: Path
    user: Path
    project: Path


def home_of(environ: Mapping[str, str]) -> Path:
    """The user's home folder."""
    return Path(environ.get("HOME") or Path.home())


def find_places(cwd: Path, environ: Mapping[str, str]) -> Places:
    """Finds the folders for a start in ``cwd`` by looking for ``.git`` upwards; runs no process."""
    cwd = cwd.resolve()
    home = home_of(environ)
    user = Path(environ.get("MEWCODE_HOME") or home / PROJECT_DIR).expanduser().absolute()
    root = _git_top(cwd) or cwd
    return Places(cwd, root, user, project_of(root, user))


def project_of(root: Path, user: Path) -> Path:
    """The project folder of the workspace ``root``, for the user folder ``user``."""
    project = root / PROJECT_DIR
    return user / "home-project" if _is_same(project, user) else project


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths are one folder. Neither need exist: HOME may be a link before anything is made."""
    if one == other or one.resolve() == other.resolve():
        return True
    try:
        return one.samefile(other)  # a file system that ignores case, a bind mount
    except OSError:
        return False


def _git_top(start: Path) -> Path | None:
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return None


def cache_dir(environ: Mapping[str, str], home: Path, system: str = sys.platform) -> Path:
    """Where the system keeps MewCode's caches, as platformdirs has it; it need not exist."""
    if system == "linux":  # to load platformdirs takes longer than a start has to spare
        given = environ.get("XDG_CACHE_HOME", "")
        return (Path(given) if os.path.isabs(given) else home / ".cache") / "mewcode"
    import platformdirs

    return Path(platformdirs.user_cache_dir("mewcode", appauthor=False))


def private_dir(path: Path, make: Callable[[Path], object] | None = None) -> Path:
    """Makes a folder of ours (0700), its missing parents likewise, and returns it. Raises OSError.

    ``make`` makes one folder in place of the plain system call, and raises as that does.
    """
    if not path.is_dir():
        private_dir(path.parent, make)
        try:
            (make or _make_private)(path)
        except FileExistsError:  # another process was quicker
            if not path.is_dir():
                raise
    return path


def _make_private(path: Path) -> None:
    path.mkdir(mode=0o700)


def project_dir(places: Places) -> Path:
    """Makes the project folder, with the ``.gitignore`` of first use. Raises OSError."""
    folder = private_dir(places.project)
    ignore = folder / ".gitignore"
    try:
        descriptor = os.open(ignore, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return folder
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(_GITIGNORE)
    return folder
