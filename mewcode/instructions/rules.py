"""Rules: Markdown files of which some hold only for certain paths, as their head says. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from mewcode.core.errors import ToolError
from mewcode.infra.path_glob import PathGlob


class Rule(msgspec.Struct, frozen=True):
    """``text``: without the head. ``paths``: patterns relative to the folder that the rule belongs to; None:
    it holds everywhere. ``problem``: what is wrong with the head, "" for nothing; such a rule holds
    everywhere."""

    text: str
    paths: tuple[str, ...] | None = None
    problem: str = ""

    def holds_for(self, path: str) -> bool:
        """Whether it holds for a path relative to that folder, with ``/`` between its parts."""
        if self.paths is None:
            return True
        parts = path.split("/")
        return any(PathGlob(pattern).matches(parts) for pattern in self.paths)


def read_rule(text: str) -> Rule:
    """A rule from its file's text. The head is YAML between two lines of ``---`` at the very beginning."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return Rule(text)
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    if not end:
        return Rule(text, problem="its head is not closed by ---")
    body = "\n".join(lines[end + 1 :])
    paths, problem = _paths("\n".join(lines[1:end]))
    return Rule(body, None if problem else paths, problem)


def _paths(head: str) -> tuple[tuple[str, ...] | None, str]:
    import yaml  # only where there is a head

    try:
        values: Any = yaml.safe_load(head)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None, "its head is not valid YAML"
    if values is None:
        return None, ""
    if not isinstance(values, dict):
        return None, "its head is no list of keys"
    paths = values.get("paths")
    if paths is None:
        return None, ""
    patterns = [paths] if isinstance(paths, str) else paths
    if not isinstance(patterns, list) or not all(isinstance(item, str) and item for item in patterns):
        return None, "paths is no list of patterns"
    for pattern in patterns:
        try:
            PathGlob(pattern)
        except ToolError as error:
            return None, str(error)
    return tuple(patterns), ""
