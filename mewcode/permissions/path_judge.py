"""Reads and writes of files, by a tool or by a redirection of the shell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mewcode.permissions.finding import Question
from mewcode.permissions.path_rules import PathPattern, exact_path_pattern
from mewcode.permissions.rules import Rule
from mewcode.permissions.workspace import Workspace

WRITERS = ("write_file", "edit_file")


def covers_path(rule: Rule, tool: str, path: str, workspace: Workspace) -> bool:
    """Whether an allow rule of this very tool covers a resolved path."""
    if not rule.names(tool):
        return False
    return rule.pattern is None or (
        isinstance(rule.pattern, PathPattern) and rule.pattern.covers(path, workspace)
    )


def hits_path(rule: Rule, tools: Iterable[str], paths: Iterable[str], workspace: Workspace) -> bool:
    """Whether a deny or ask rule of one of these tools hits one of the paths (as written, or resolved)."""
    if not any(rule.names(tool) for tool in tools):
        return False
    if rule.pattern is None:
        return True
    return isinstance(rule.pattern, PathPattern) and rule.pattern.hits(paths, workspace)


def ask_read(tool: str, path: str, allow: Sequence[Rule], workspace: Workspace) -> Question | None:
    """None where the read of a resolved path needs no question."""
    guarded = workspace.guarded_read(path)
    # A search reads all that lies below; the other tools tell no more than names.
    if not guarded and tool == "grep" and workspace.holds_guarded(path):
        guarded = "a folder with keys or logins in it"
    if workspace.inside(path) and not guarded:
        return None
    if any(covers_path(rule, tool, path, workspace) for rule in allow):
        return None
    why = guarded or "outside the workspace"
    return Question(f"{workspace.display(path)} is {why}", _rule(tool, path, workspace))


def ask_write(
    tool: str, path: str, allow: Sequence[Rule], workspace: Workspace, *, edits_free: bool
) -> Question | None:
    """None where the write to a resolved path needs no question. ``edits_free``: mode accept-edits."""
    if guarded := workspace.guarded_write(path):
        return Question(f"{workspace.display(path)} is {guarded}; a write to it always asks")
    if any(covers_path(rule, tool, path, workspace) for rule in allow):
        return None
    inside = workspace.inside(path)
    if inside and edits_free:
        return None
    reason = "would be written" if inside else "is outside the workspace and would be written"
    return Question(f"{workspace.display(path)} {reason}", _rule(tool, path, workspace))


def _rule(tool: str, path: str, workspace: Workspace) -> str:
    pattern = exact_path_pattern(path, workspace)
    text = f"{tool}({pattern})"
    return text if pattern and len(text) <= 500 and text.isprintable() else ""
