"""Path patterns of rules, gitignore-like, judged on resolved paths, part by part and never as text.

``src/**`` lies below the workspace's root, ``~/notes/*`` below the home folder, ``/etc/hosts`` is absolute.
``*`` does not cross a ``/``, ``**`` does. An allow rule covers what it says and no more. A deny or ask rule
is read broadly: it hits everything below a folder that it names, a pattern without a ``/`` hits that name
in any folder, letter case is ignored, and a symbolic link that it names stands for its target as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from mewcode.permissions.globs import Glob, escape_segment, segment_glob
from mewcode.permissions.workspace import Workspace

_LIMIT = 1000  # characters of a pattern; keeps matching within microseconds
_Part = Glob | None  # None is `**`


class PathPattern(msgspec.Struct, frozen=True):
    """``base`` tells what ``parts`` are relative to; a part of None is ``**``."""

    base: Literal["workspace", "home", "root"]
    parts: tuple[_Part, ...]

    def covers(self, path: str, workspace: Workspace) -> bool:
        """Narrow: whether an allow rule with this pattern covers the resolved ``path``."""
        return any(_fits(parts, _split(path)) for parts in self._allowed(workspace))

    def _allowed(self, workspace: Workspace) -> Iterator[tuple[_Part, ...]]:
        if self.base == "workspace":
            yield (*_literal(workspace.root), *self.parts)
            return
        start = _split(workspace.home) if self.base == "home" else ()
        fixed = [*start, *self._fixed_parts()]
        rest = self.parts[len(fixed) - len(start) :]
        yield (*(_exact(part) for part in fixed), *rest)
        # A link that the user named (`~/notes`) is followed; one within the workspace, which the model or the
        # repository may have made, is not.
        named = "/" + "/".join(fixed)
        if not workspace.inside(os.path.normpath(named)):
            yield (*_literal(os.path.realpath(named)), *rest)

    def _fixed_parts(self) -> Iterator[str]:
        for part in self.parts:
            literal = part.literal if part is not None else None
            if literal is None:
                return
            yield literal

    def hits(self, paths: Iterable[str], workspace: Workspace) -> bool:
        """Broad: whether a deny or ask rule with this pattern hits one of ``paths``, as written or resolved.

        The links that the pattern names are looked up once for all paths.
        """
        denied = [(*parts, None) for parts in self._denied(workspace)]  # and all that lies below
        name_alone = self.base == "workspace" and len(self.parts) == 1
        for path in paths:
            names = tuple(fold(part) for part in _split(path))
            if any(_fits(parts, names, folded=True) for parts in denied):
                return True
            if name_alone and not workspace.inside(path) and _fits(self.parts, names[-1:], folded=True):
                return True
        return False

    def may_hit(self, text: str) -> bool:
        """Whether the shell's wildcards or braces in ``text`` might expand to a path that this pattern
        hits."""
        if "{" in text:
            return True
        literal = [part.literal for part in self.parts if part is not None and part.literal is not None]
        for name in text.split("/"):
            if not re.search(r"[*?\[]", name):
                continue
            try:
                glob = segment_glob(name)
            except ValueError:
                return True
            # A wildcard in front does not match a dot in front.
            if not literal or any(
                glob.matches(part, fold) for part in literal if part[:1] != "." or name[:1] == "."
            ):
                return True
        return False

    def _denied(self, workspace: Workspace) -> Iterator[tuple[_Part, ...]]:
        yield from self._allowed(workspace)
        if self.base == "workspace":
            for folder in (workspace.root, *workspace.add_dirs):
                yield (*_literal(folder), *self.parts)
                if len(self.parts) == 1:
                    yield (*_literal(folder), None, *self.parts)
        fixed = list(self._fixed_parts())
        if len(fixed) == len(self.parts):
            bases = {
                "workspace": (workspace.root, *workspace.add_dirs),
                "home": (workspace.home,),
                "root": ("/",),
            }
            for base in bases[self.base]:
                yield _literal(os.path.realpath(os.path.join(base, *fixed)))


def parse_path_pattern(text: str) -> PathPattern:
    """Raises ValueError with what is wrong."""
    text = text.strip()
    if len(text) > _LIMIT:
        raise ValueError(f"longer than {_LIMIT} characters")
    if any(ord(char) < 32 or char == "\x7f" for char in text):
        raise ValueError("a control character in a path")
    base: Literal["workspace", "home", "root"] = "workspace"
    if text == "~" or text.startswith("~/"):
        base, text = "home", text[2:]
    elif text.startswith("~"):
        raise ValueError("only '~/' is known, not another user's home")
    elif text.startswith("/"):
        base = "root"
    below = text.endswith("/") and text.strip("/") != ""
    names = [name for name in text.split("/") if name not in ("", ".")]
    if ".." in names:
        raise ValueError("'..' in a pattern; write the folder itself")
    parts = tuple(None if name == "**" else segment_glob(name) for name in names)
    return PathPattern(base, (*parts, None) if below else parts)


def exact_path_pattern(path: str, workspace: Workspace) -> str:
    """The pattern that covers ``path`` (resolved) alone, relative to the workspace where it lies there."""
    if any(ord(char) < 32 or char in "\x7f\ud800" for char in path):
        return ""
    root = workspace.root
    if path != root and path.startswith(root.rstrip("/") + "/"):
        relative = escape_segment(path[len(root.rstrip("/")) + 1 :])
        # `~` and a blank at an end would be read as something else.
        return (
            ""
            if relative != relative.strip()
            else ("./" + relative if relative.startswith("~") else relative)
        )
    return "" if path != path.strip() else escape_segment(path)


def fold(text: str) -> str:
    """One spelling for names that some file systems hold to be the same: letter case, composed accents."""
    if text.isascii():
        return text.lower()
    import unicodedata

    return unicodedata.normalize("NFC", text).casefold()


def _split(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def _exact(name: str) -> Glob:
    return Glob(tuple(name))


def _literal(path: str) -> tuple[_Part, ...]:
    return tuple(_exact(part) for part in _split(path))


def _fits(parts: Sequence[_Part], names: Sequence[str], *, folded: bool = False) -> bool:
    """Whether the pattern's parts match all names; a row of the usual table is kept per part."""
    reached = [True] + [False] * len(names)
    for part in parts:
        row = [False] * (len(names) + 1)
        if part is None:
            row[0] = reached[0]
            for at in range(1, len(names) + 1):
                row[at] = reached[at] or row[at - 1]
        else:
            for at in range(1, len(names) + 1):
                row[at] = reached[at - 1] and part.matches(names[at - 1], fold if folded else None)
        if not any(row):
            return False
        reached = row
    return reached[-1]
