"""The tasks of `mewcode eval memory`: how a file is read, how an answer is judged, and what ours holds."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mewcode.core.errors import MewCodeError, UsageError
from mewcode.eval.memory_tasks import Task, own_tasks, read_tasks

TASK: dict[str, Any] = {
    "id": "host",
    "kind": "fact",
    "lang": "en",
    "told": [["Remember: the host is quokka."]],
    "noise": [],
    "ask": "Which host?",
    "expect": ["(?i)quokka"],
    "forbid": ["wombat"],
}


def written(folder: Path, *tasks: dict[str, Any]) -> Path:
    path = folder / "tasks.json"
    path.write_text(json.dumps({"name": "some", "tasks": list(tasks)}), encoding="utf-8")
    return path


def task(**more: Any) -> Task:
    known = {**TASK, **more}
    listed = {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
    return Task(**listed)


def test_an_answer_is_done_where_all_that_is_expected_matches_and_nothing_forbidden() -> None:
    one = task(expect=["quokka", "VPN"])
    assert one.missed("over the VPN to quokka") == ()
    assert one.missed("quokka") == ("VPN",)
    assert one.missed("the VPN, quokka, not wombat") == ("not: wombat",)
    assert one.missed("") == ("quokka", "VPN")


def test_only_so_much_of_an_answer_is_looked_at() -> None:
    assert task().missed("x" * 30_000 + " quokka") == ("(?i)quokka",)


def test_a_pattern_that_runs_for_ever_is_stopped_and_named() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(MewCodeError, match="takes too long"):
        task(expect=["(a+)+$"]).missed("a" * 40 + "!")
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("tasks", "word"),
    [
        ([TASK, TASK], "two tasks host"),
        ([{**TASK, "expect": []}], "expects"),
        ([{**TASK, "expect": ["("]}], "regular expression"),
        ([{**TASK, "forbid": ["*"]}], "regular expression"),
        ([{**TASK, "kind": "other"}], "other"),
        ([{**TASK, "more": 1}], "more"),
        ([{**TASK, "told": [[]]}], "empty"),
        ([{**TASK, "ask": " "}], "empty"),
        ([], "no such task"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tasks: list[dict[str, Any]], word: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_tasks(written(tmp_path, *tasks))
    assert word in str(caught.value)


def test_a_file_that_is_none_or_no_json_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_tasks(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("[[", encoding="utf-8")
    with pytest.raises(UsageError, match="holds no tasks"):
        read_tasks(tmp_path / "bad.json")


def test_tasks_are_chosen_by_kind_and_number(tmp_path: Path) -> None:
    path = written(
        tmp_path, *({**TASK, "id": str(n), "kind": kind} for n, kind in enumerate(("fact", "stale") * 2))
    )
    assert [one.id for one in read_tasks(path)] == ["0", "1", "2", "3"]
    assert [one.id for one in read_tasks(path, "stale")] == ["1", "3"]
    assert [one.id for one in read_tasks(path, "stale", 1)] == ["1"]


def test_what_is_of_no_interest_is_a_session_too() -> None:
    told = (("Remember: the host is quokka.",),)
    assert task(told=told).earlier == told
    assert task(told=told, noise=["What is WAL?"]).earlier == (*told, ("What is WAL?",))


OWN = read_tasks(own_tasks())


def test_our_own_tasks_are_enough_of_each_kind_and_in_both_languages() -> None:
    groups = Counter(one.kind if one.kind in ("silent", "stale") else "needed" for one in OWN)
    assert groups["needed"] >= 20
    assert groups["silent"] >= 10
    assert groups["stale"] >= 10
    for kind in {one.kind for one in OWN}:
        assert {one.lang for one in OWN if one.kind == kind} == {"en", "zh"}
    assert all(one.noise for one in OWN if one.kind not in ("silent", "stale"))
    assert all(len(one.told) > 1 for one in OWN if one.kind == "stale")


@pytest.mark.parametrize("one", OWN, ids=lambda one: one.id)
def test_our_own_tasks_do_not_give_their_answer_away(one: Task) -> None:
    assert one.missed(one.ask)
    assert not any(re.search(pattern, one.ask) for pattern in one.expect)
    assert not any(re.search(pattern, one.ask) for pattern in one.forbid)
    assert one.missed("I don't know.")
    assert one.missed("我不知道。")
