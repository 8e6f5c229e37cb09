"""Each line of the table of attacks, and the same table in the other modes."""

from __future__ import annotations

import pytest
from permission_attacks import ATTACKS


def test_the_table_is_large() -> None:
    assert len({command for command, _, _ in ATTACKS}) >= 250


@pytest.mark.parametrize(("command", "with_rule", "without"), ATTACKS)
def test_attack(decide, command: str, with_rule: str, without: str) -> None:
    assert decide(command, "bash(git *)") == with_rule
    assert decide(command) == without
