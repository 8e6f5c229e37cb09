"""Whether git's own read-only commands run nothing but git in a repository."""

from __future__ import annotations

import os
import re
from pathlib import Path

_CONFIG_LIMIT = 64 * 1024
_INDEX_LIMIT = 64 * 1024 * 1024

# What a clone, a fetch and `git branch` write. Anything else may name a program (fsmonitor, textconv, a
# pager, an alias, a filter) or bring in another file.
_PLAIN_KEYS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks"
    r"|autocrlf|eol|safecrlf)"
    r"|remote\.(url|fetch|pushurl|tagopt|prune)|branch\.(remote|merge|rebase|description)"
    r"|user\.(name|email)|pull\.(rebase|ff)|push\.(default|autosetupremote)|init\.defaultbranch"
)
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=.*)?")

# The mode of a submodule in the index: git looks into it with the config that stands there.
_GITLINK = b"\x00\x00\xe0\x00"


def is_plain_repository(root: Path) -> bool:
    """Whether ``root`` is the top of a repository as a clone makes it: no setting that names a program or a
    file, no hook, no submodule. Doubts count as no; never raises."""
    git = root / ".git"
    try:
        if git.is_symlink() or not git.is_dir():
            return False
        if any(_brings_more(name) for name in os.listdir(git)):
            return False
        return _plain_config(git / "config") and _no_hooks(git / "hooks") and _no_links(git / "index")
    except (OSError, UnicodeDecodeError):
        return False


def _brings_more(name: str) -> bool:
    """Whether a file of this name in git's folder has git read a config or an index that is not looked at
    here: ``commondir`` moves config and hooks elsewhere, a shared index holds entries of the index.

    Compared as a file system that ignores letter case does.
    """
    folded = name.casefold()
    return folded in ("modules", "config.worktree", "commondir") or folded.startswith("sharedindex.")


def _plain_config(path: Path) -> bool:
    if path.stat().st_size > _CONFIG_LIMIT:
        return False
    section = ""
    for raw in path.read_text(encoding="utf-8").splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.endswith("\\"):
            return False
        if line[0] == "[":
            found = _SECTION.fullmatch(line)
            section = found[1].lower() if found else ""
            if not section:
                return False
            continue
        key = _KEY.fullmatch(line)
        if key is None or not _PLAIN_KEYS.fullmatch(f"{section}.{key[1].lower()}"):
            return False
    return True


def _no_hooks(folder: Path) -> bool:
    return not folder.exists() or all(name.endswith(".sample") for name in os.listdir(folder))


def _no_links(path: Path) -> bool:
    if not path.exists():
        return True
    return path.stat().st_size <= _INDEX_LIMIT and _GITLINK not in path.read_bytes()
