"""A workspace with a file, a folder, a link that leads out, and a home beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mewcode.core.access import CommandAccess, Verdict
from mewcode.permissions.policy import Policy
from mewcode.permissions.rules import RuleSet


class Place:
    """``policy`` makes a policy for the workspace; ``bash`` judges a command under one allow rule or more."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.root, self.home, self.outside = top / "ws", top / "home", top / "outside"
        for folder in (self.root / "src", self.root / ".git", self.home / ".mewcode", self.outside):
            folder.mkdir(parents=True)
        (self.root / "a.txt").write_text("text\n")
        (self.root / "src" / "main.py").write_text("pass\n")
        (self.root / "link-out").symlink_to(self.outside)
        (self.outside / "x").write_text("x\n")

    def policy(self, allow=(), ask=(), deny=(), **more: Any) -> Policy:
        more.setdefault("trusted_folder", True)
        rules = {"user": RuleSet.parse(allow, ask, deny)}
        return Policy(self.root, rules=rules, home=self.home, user_dir=self.home / ".mewcode", **more)

    def bash(self, command: str, *allow: str, cwd: Path | None = None, **more: Any) -> Verdict:
        policy = self.policy(allow, **more)
        return policy.judge("bash", False, [CommandAccess(command, str(cwd or self.root))])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="session")
def shared_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """For property tests that only judge."""
    return Place(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="session")
def decide(shared_place: Place) -> Callable[..., str]:
    return lambda command, *allow, **more: shared_place.bash(command, *allow, **more).decision
