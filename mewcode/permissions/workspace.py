"""Which paths belong to the workspace, and which are guarded wherever they are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

# Read when a shell, git or direnv starts: writing one is running a command later.
_STARTUP_FILES = frozenset(
    {
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
        ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login",
        ".envrc", ".gitconfig", ".xprofile", ".xinitrc", ".xsessionrc",
    }
)  # fmt: skip
_STARTUP_FOLDERS = ((".config", "fish"), (".config", "git"), (".config", "zsh"), (".ssh",))
_SYSTEM_STARTUP = ("/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/environment",
                   "/etc/zsh", "/etc/zshrc", "/etc/zshenv", "/etc/zprofile", "/etc/fish")  # fmt: skip
# Keys and logins in the home folder, which may itself be the workspace.
_CREDENTIALS = (
    (".ssh",), (".gnupg",), (".aws",), (".kube",), (".docker",), (".netrc",), (".git-credentials",),
    (".config", "gh"), (".config", "gcloud"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Workspace:
    """All paths absolute and resolved. ``user_dir`` is MewCode's own folder, normally ``~/.mewcode``."""

    root: str
    add_dirs: tuple[str, ...]
    home: str
    user_dir: str

    def inside(self, path: str) -> bool:
        """Whether a resolved path is the root or an added folder, or lies below one; compared by parts."""
        return any(below(path, folder) for folder in (self.root, *self.add_dirs))

    def resolve(self, path: str, folder: str = "/") -> str | None:
        """The absolute path without symbolic links; ``~`` is taken literally. None where it can be none."""
        try:
            resolved = os.path.realpath(os.path.join(folder, path))
        except (ValueError, OSError):  # a NUL, a name that the file system refuses
            return None
        # POSIX lets two slashes in front stand; Linux and macOS mean the same by them as by one.
        return resolved[1:] if resolved.startswith("//") else resolved

    def guarded_write(self, path: str) -> str:
        """Why a write to a resolved path always asks; empty where it does not."""
        names = [name.casefold() for name in path.split("/") if name]
        if ".git" in names:
            return "git's own folder"
        for name, following in zip(names, (*names[1:], ""), strict=False):
            if name == ".mewcode" and (not following or following.startswith(("config", "permissions"))):
                return "MewCode's own settings"
        if below(path.casefold(), self.user_dir.casefold()):
            return "MewCode's own folder"
        if names and names[-1] in _STARTUP_FILES:
            return "a start-up file"
        if self._in_home(path, _STARTUP_FOLDERS) or any(below(path, place) for place in _SYSTEM_STARTUP):
            return "a start-up file or key"
        return ""

    def guarded_read(self, path: str) -> str:
        """Why a read of a resolved path asks even within the workspace; empty where it does not."""
        if below(path.casefold(), self.user_dir.casefold()):
            # Started in HOME, the project's own archives live there, and are as readable as in any project.
            own = os.path.join(self.user_dir, "home-project", "sessions")
            return "" if self.root == self.home and below(path, own) else "MewCode's own folder"
        return "keys or logins" if self._in_home(path, _CREDENTIALS) else ""

    def _in_home(self, path: str, places: Iterable[tuple[str, ...]]) -> bool:
        folded, home = path.casefold(), self.home.casefold()
        return any(below(folded, os.path.join(home, *place)) for place in places)

    def display(self, path: str) -> str:
        """As a person reads it: relative to the root, with ``~`` for the home folder."""
        if path != self.root and below(path, self.root):
            return os.path.relpath(path, self.root)
        if path != self.home and below(path, self.home):
            return "~/" + os.path.relpath(path, self.home)
        return path


def below(path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or lies in it: whole parts are compared."""
    return path == folder or path.startswith(folder if folder.endswith("/") else folder + "/")
