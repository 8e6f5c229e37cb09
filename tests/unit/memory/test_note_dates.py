"""Points in time that a file may claim: none of them breaks what shows it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.memory.dates import days_text, known_time
from mewcode.memory.files import NoteCalls
from mewcode.memory.history import HISTORY, Log
from mewcode.memory.tidy.turn import TURN, read_turn
from mewcode.memory.usage import USAGE, read_usage
from tests.support.notes import NOW


@given(st.floats() | st.integers())
def test_any_number_is_a_time_that_a_calendar_has(moment: float) -> None:
    known = known_time(moment)
    assert known in (0.0, moment)
    assert time.strftime("%Y-%m-%d", time.localtime(known))


def test_a_time_of_now_stays() -> None:
    assert known_time(NOW) == NOW


@pytest.mark.parametrize("moment", ["1e300", "-1e300"])
def test_a_history_tells_a_change_whose_time_is_none(tmp_path: Path, moment: str) -> None:
    line = f'{{"id":"a","ts":{moment},"by":"user","what":["x"],"steps":[]}}\n'
    (tmp_path / HISTORY).write_text(line, encoding="utf-8")
    assert [(change.what, change.ts) for change in Log(tmp_path, NoteCalls()).changes()] == [(("x",), 0.0)]


@pytest.mark.parametrize("moment", ["1e300", "-1e300", "1" * 400])
def test_a_use_whose_time_is_none_counts(tmp_path: Path, moment: str) -> None:
    (tmp_path / USAGE).write_text(f'{{"ts":{moment},"file":"a.md"}}\n', encoding="utf-8")
    use = read_usage(tmp_path, None).of("a.md")
    assert (use.count, use.last) == (1, 0.0)


def test_a_turn_to_tidy_up_has_times_that_a_calendar_has(tmp_path: Path) -> None:
    (tmp_path / TURN).write_text('{"last":-1e300,"tried":-1e300}', encoding="utf-8")
    turn = read_turn(tmp_path, NOW)
    assert (turn.last, turn.tried) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("seconds", "said"), [(-5.0, "0 days"), (86_400.0, "1 day"), (1_234.5 * 86_400, "1,234 days")]
)
def test_whole_days_are_counted(seconds: float, said: str) -> None:
    assert days_text(seconds) == said
