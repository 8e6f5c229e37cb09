"""Which paths belong to the workspace, and which are guarded wherever they are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import msgspec

from mewcode.infra.terminal_text import visible_text

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
# The system's own view of processes: their environment holds keys, and the workspace may be the root folder.
_PROCESSES = "/proc"
# HFS+ (macOS) leaves these out of names: `.g\u200cit` is `.git` there. The list is git's own.
_IGNORED_IN_NAMES = "[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]"
# Keys and logins in the home folder, which may itself be the workspace.
_CREDENTIALS = (
    (".ssh",), (".gnupg",), (".aws",), (".kube",), (".docker",), (".netrc",), (".git-credentials",),
    (".config", "gh"), (".config", "gcloud"),
)  # fmt: skip


class Workspace(msgspec.Struct, frozen=True):
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
        plain = path if path.isascii() else re.sub(_IGNORED_IN_NAMES, "", path)
        names = [name.casefold() for name in plain.split("/") if name]
        if ".git" in names:
            return "git's own folder"
        for name, following in zip(names, (*names[1:], ""), strict=False):
            if name == ".mewcode" and (not following or following.startswith(("config", "permissions"))):
                return "MewCode's own settings"
            if name == ".mewcode" and following == "sessions":
                return "MewCode's record of your conversations"
        if below(plain.casefold(), self.user_dir.casefold()):
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
        if below(path, _PROCESSES):
            return "what the system tells of running programs"
        return "keys or logins" if self._in_home(path, _CREDENTIALS) else ""

    def holds_guarded(self, folder: str) -> bool:
        """Whether something of `guarded_read` may lie below a resolved folder."""
        places = (self.home, self.user_dir, _PROCESSES)
        return any(below(place.casefold(), folder.casefold()) for place in places)

    def _in_home(self, path: str, places: Iterable[tuple[str, ...]]) -> bool:
        folded, home = path.casefold(), self.home.casefold()
        return any(below(folded, os.path.join(home, *place)) for place in places)

    def display(self, path: str) -> str:
        """As a person reads it: relative to the root, with ``~`` for the home folder, on one line, control
        characters spelt out."""
        shown = path
        if path != self.root and below(path, self.root):
            shown = os.path.relpath(path, self.root)
        elif path != self.home and below(path, self.home):
            shown = "~/" + os.path.relpath(path, self.home)
        return visible_text(shown).replace("\n", "\\n")


def below(path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or lies in it: whole parts are compared."""
    return path == folder or path.startswith(folder if folder.endswith("/") else folder + "/")
