"""Words of a command that may be paths, and whether they stay within the workspace.

Which arguments of a program are paths is known for few programs, so each word, each value behind an ``=``
or a comma, and what is glued to a short option is taken for one where it looks like one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from mewcode.permissions.folders import Folders
from mewcode.permissions.globs import Glob
from mewcode.permissions.shell_words import HARMLESS_PARAMETERS, Word
from mewcode.permissions.workspace import Workspace

_STANDARD_STREAMS = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"})
_LOOKS_LIKE_PATH = re.compile(r"/|~|\.\.(/|$)")
_PLACE_VARIABLE = re.compile(r"PWD|HOME|DIR|PATH|ROOT|PREFIX|TMP|TEMP")
_SUBSTITUTION = re.compile(r"[$<>]\(.*\)|`.*`", re.DOTALL)


def path_candidates(text: str) -> Iterator[str]:
    """What in an argument may be a path, ``~`` not yet expanded."""
    pieces = [
        text,
        *(piece for piece in re.split(r"[=,]", text)[1:] if _LOOKS_LIKE_PATH.match(piece.lstrip("@"))),
    ]
    if "=" in text:
        pieces.append(text.partition("=")[2])
    glued = re.match(r"-[A-Za-z](.+)", text, re.DOTALL)
    if glued and not text.startswith("--"):
        pieces.append(glued[1])
        # `-xvf/etc/hosts`: the path begins somewhere in it. `-Isrc/include` must not count as `/include`.
        far = re.match(r"-[A-Za-z]+?(/[^/]+|~|\.\.(?=/|$))", text)
        if far and (not far[1].startswith("/") or os.path.lexists(far[1].replace("\0", ""))):
            pieces.append(text[far.start(1) :])
    for piece in pieces:
        yield piece
        if piece.startswith("@"):
            yield piece[1:]
        if piece.lower().startswith("file:"):
            yield re.sub(r"^file:(//[^/]*)?", "", piece, flags=re.IGNORECASE)


def resolved_candidates(text: str, folders: Folders, workspace: Workspace) -> Iterator[str]:
    """The same as absolute, resolved paths, from every folder the command may run in."""
    for piece in path_candidates(text):
        if not piece:
            continue
        if piece == "~" or piece.startswith("~/"):
            piece = workspace.home + piece[1:]
        for folder in folders or ("/",):
            path = workspace.resolve(piece, folder)
            if path is not None:
                yield path


def guarded_word(word: Word, folders: Folders, workspace: Workspace) -> str:
    """Why a command that may write must ask because of this word; empty where it need not."""
    for path in resolved_candidates(word.text, folders, workspace):
        if reason := workspace.guarded_write(path):
            return f"{workspace.display(path)} is {reason}"
    return ""


def stays_inside(word: Word, folders: Folders, workspace: Workspace, pattern: Glob | None = None) -> bool:
    """Whether a word that a rule's ``*`` stands for may lead nowhere but into the workspace.

    ``pattern`` is the word's own pattern, such as ``/etc/*``: a path that it spells out is meant.
    """
    if not word.literal:
        return _expands_inside(word, folders, workspace)
    text = word.text
    if folders is None:
        return text.startswith("-") and not any(
            _LOOKS_LIKE_PATH.match(piece) for piece in path_candidates(text)
        )
    for piece in path_candidates(text):
        if piece in _STANDARD_STREAMS:
            continue
        if piece.startswith("~") and not re.match(r"~(/|$)", piece):
            # `~user`, `~+`, `~-`; `~3` and such within a word never stand in front.
            return False
        for path in resolved_candidates(piece, folders, workspace):
            if not workspace.inside(path) and not (pattern and _spelled_out(pattern, path, workspace)):
                return False
    return True


def _spelled_out(pattern: Glob, path: str, workspace: Workspace) -> bool:
    prefix = pattern.prefix
    if prefix.startswith("~/"):
        tokens = (*workspace.home, *pattern.tokens[1:])
        return Glob(tokens).matches(path)
    return prefix.startswith("/") and len(prefix) > 1 and pattern.matches(path)


def _expands_inside(word: Word, folders: Folders, workspace: Workspace) -> bool:
    text = _SUBSTITUTION.sub("", word.text) if word.inside else word.text
    if word.tilde or folders is None:
        return False
    variables = set(word.variables) - HARMLESS_PARAMETERS
    if any(_PLACE_VARIABLE.search(name.upper()) for name in variables):
        return False
    if variables or word.inside:
        # `$X` is some argument; `$X/y`, `--file=/$X` are places that nobody can know.
        return not re.search(r"/|\.\.|~", text)
    if word.wild_at is None:
        return not re.search(r"/|\.\.|~", text)
    wild = text[word.wild_at :]
    if re.search(r"\.\.|(^|[{,=])[/~.]|(^|/)\.[^/]*[*?\[{]", wild) or ("{" in wild and "/" in wild):
        return False
    fixed = text[: word.wild_at]
    if fixed.rpartition("/")[2].startswith(".") or "=" in fixed:
        return not re.search(r"/|\.\.|~", text) and not fixed.rpartition("/")[2].startswith(".")
    start = fixed.rpartition("/")
    return all(
        workspace.inside(path) for path in resolved_candidates(start[0] + start[1], folders, workspace)
    )
