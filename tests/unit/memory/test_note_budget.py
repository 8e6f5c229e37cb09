"""What may be spent on notes in a day, over all processes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mewcode.memory.budget import BUDGET, Budget

NOON = time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1))
DAY = 86_400


def test_what_is_spent_counts_until_the_local_day_ends(tmp_path: Path) -> None:
    now = NOON
    budget = Budget(tmp_path / "home" / BUDGET, 1_000, clock=lambda: now)
    assert (budget.left(), budget.spent()) == (1_000, 0)
    assert not (tmp_path / "home").exists(), "to ask writes nothing"
    budget.spend(300)
    budget.spend(400)
    assert (budget.left(), budget.spent()) == (300, 700)
    budget.spend(900)
    assert (budget.left(), budget.spent()) == (0, 1_600)
    now += DAY
    assert (budget.left(), budget.spent()) == (1_000, 0)


def test_a_limit_of_none_leaves_nothing(tmp_path: Path) -> None:
    assert Budget(tmp_path / BUDGET, 0).left() == 0


def test_other_processes_count_too(tmp_path: Path) -> None:
    path = tmp_path / BUDGET
    code = (
        "import sys; from pathlib import Path; from mewcode.memory.budget import Budget\n"
        "budget = Budget(Path(sys.argv[1]), 10**9)\n"
        "for _ in range(200): budget.spend(7)"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(4)]
    assert [process.wait(timeout=60) for process in running] == [0] * 4
    assert Budget(path, 10**9).spent() == 4 * 200 * 7
    assert path.stat().st_mode & 0o077 == 0


def test_that_all_is_spent_is_told_once_a_day(tmp_path: Path) -> None:
    now = NOON
    budget = Budget(tmp_path / BUDGET, 10, clock=lambda: now)
    assert budget.tell_once()
    assert not budget.tell_once()
    budget.spend(5)
    assert not Budget(tmp_path / BUDGET, 10, clock=lambda: now).tell_once(), "in another process neither"
    assert budget.spent() == 5
    now += DAY
    assert budget.tell_once()
    assert budget.spent() == 0


@pytest.mark.parametrize("junk", [b"", b"\0" * 29, b"2026-03-04 12\n", "预算".encode(), b"x" * 5_000])
def test_a_file_that_is_none_of_ours_counts_for_nothing_and_is_replaced(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / BUDGET
    path.write_bytes(junk)
    budget = Budget(path, 100, clock=lambda: NOON)
    assert budget.spent() == 0
    budget.spend(40)
    assert budget.spent() == 40


def test_a_disk_that_takes_nothing_lets_this_process_count_by_itself(tmp_path: Path) -> None:
    path = tmp_path / BUDGET
    path.mkdir()
    budget = Budget(path, 100, clock=lambda: NOON)
    budget.spend(60)
    budget.spend(30)
    assert budget.left() == 10
    assert budget.tell_once()
    assert not budget.tell_once()
    path.rmdir()
    budget.spend(5)
    assert Budget(path, 100, clock=lambda: NOON).spent() == 95, "written once it can be"
