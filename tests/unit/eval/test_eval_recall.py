"""What `mewcode eval recall` measures and prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mewcode.cli import parse, run
from mewcode.core.errors import UsageError
from mewcode.eval.datasets import Case, read_dataset
from mewcode.eval.recall import Answer, figures, measure, percentile
from tests.support.fake_embedder import FakeEmbedder
from tests.unit.eval.test_eval_datasets import LOCOMO, LONG_MEM_EVAL, OWN, written


@pytest.fixture(autouse=True)
def only_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not the extra is installed here."""
    monkeypatch.setattr("mewcode.eval.run.embedder_loader", lambda: None)


def answer(wanted: str, *found: str, kind: str = "keyword", overall: bool = True) -> Answer:
    return Answer(Case("q", frozenset(wanted), kind, overall), found, 0.001, clears=bool(found))


def test_recall_counts_all_that_was_wanted_and_hit_any_of_it() -> None:
    one = answer("ab", "x", "a", "y", "y", "y", "b")
    assert [one.recall(rank) for rank in (1, 5, 10)] == [0.0, 0.5, 1.0]
    assert [one.hit(rank) for rank in (1, 5, 10)] == [False, True, True]
    assert one.reciprocal_rank == 0.5
    assert answer("a", "x").reciprocal_rank == 0.0


def test_figures_are_means_over_all_and_by_kind() -> None:
    found = figures(
        [
            answer("a", "a"),
            answer("a", "x", kind="cross"),
            answer("a", "a", kind="adversarial", overall=False),
            answer("", "x", kind="nothing"),
        ]
    )
    assert {kind: row["n"] for kind, row in found.items()} == {
        "all": 2, "keyword": 1, "cross": 1, "adversarial": 1,
    }  # fmt: skip
    assert found["all"]["hit@1"] == 0.5
    assert found["keyword"]["mrr"] == 1.0


def test_percentiles_are_values_that_were_measured() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([float(number) for number in range(100)], 0.95) == 95.0
    assert percentile([], 0.5) == 0.0


def test_sessions_count_where_sessions_are_wanted(tmp_path: Path) -> None:
    measured = measure(read_dataset(written(tmp_path, LONG_MEM_EVAL)))
    (only,) = measured.methods["lexical"]
    assert only.case.wanted == {"s1"}
    assert set(only.found) <= {"s1", "s2"}
    assert measured.size > 0


def test_evidence_is_found_by_the_turn_before_it(tmp_path: Path) -> None:
    conversation: dict[str, Any] = {
        "session_1": [
            {"dia_id": "D1:1", "speaker": "Bob", "text": "Where did you spend the holidays?"},
            {"dia_id": "D1:2", "speaker": "Ann", "text": "In Norway, with my sister."},
            {"dia_id": "D1:3", "speaker": "Bob", "text": "Good for you."},
        ]
    }
    question = {"question": "Where did Ann spend her holidays?", "evidence": ["D1:2"], "category": 4}
    path = written(tmp_path, [{"conversation": conversation, "qa": [question]}])
    (only,) = measure(read_dataset(path)).methods["lexical"]
    assert only.recall(5) == 1.0


def test_our_own_set_is_answered_about_as_well_as_was_measured() -> None:
    """Far below what was measured, and far above what chance or a broken part would leave."""
    for aliases, least in ((True, 0.88), (False, 0.78)):
        found = figures(measure(read_dataset(OWN, aliases=aliases, split="report")).methods["lexical"])
        assert found["all"]["hit@5"] >= least
        assert found["keyword"]["hit@5"] == 1.0


def test_the_object_for_scripts_has_its_promised_shape(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "recall", "--dataset", str(OWN), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert list(value) == ["dataset", "methods", "latency_ms"]
    assert value["dataset"] == "recall-notes.json"
    assert set(value["methods"]) == {"lexical"}
    assert set(value["methods"]["lexical"]) == {"all", "keyword", "paraphrase", "cross"}
    for row in value["methods"]["lexical"].values():
        assert set(row) == {"n", "recall@5", "recall@10", "recall@25", "hit@1", "hit@5", "mrr"}
        assert isinstance(row["n"], int)
    assert set(value["latency_ms"]) == {"p50", "p95"}


def test_meaning_is_measured_beside_words_where_the_extra_is_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mewcode.eval.run.embedder_loader", lambda: FakeEmbedder)
    assert run(["eval", "recall", "--dataset", str(OWN), "--split", "tune", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["methods"]
    assert list(found) == ["lexical", "semantic"]
    assert found["lexical"]["all"]["n"] == found["semantic"]["all"]["n"]
    assert found["lexical"]["all"]["mrr"] != found["semantic"]["all"]["mrr"]
    assert run(["eval", "recall", "--dataset", str(OWN), "--split", "tune"]) == 0
    told = capsys.readouterr().out
    for method in ("lexical", "semantic"):
        assert f"{method}: a question took" in told


def test_the_table_tells_kinds_halves_latency_and_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "recall", "--dataset", str(OWN)]) == 0
    told = capsys.readouterr().out
    for words in ("recall@25", "hit@10", "mrr", "paraphrase", "half: report", "95th percentile", " MB"):
        assert words in told
    assert "questions with nothing to find" in told


def test_locomo_is_measured_by_category(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "recall", "--dataset", str(written(tmp_path, LOCOMO)), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["methods"]["lexical"]
    assert {kind: row["n"] for kind, row in found.items()} == {
        "all": 2, "temporal": 1, "multi-hop": 1, "adversarial": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["eval"], "WORD"),
        (["eval", "nonsense"], "nonsense"),
        (["eval", "recall"], "data set"),
        (["eval", "recall", "--dataset", "x", "--split", "other"], "other"),
    ],
)
def test_wrong_usage_is_told(arguments: list[str], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        parse(arguments)


def test_a_half_that_has_no_question_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, LOCOMO)
    assert run(["eval", "recall", "--dataset", str(path), "--split", "tune"]) == 2
    assert "no such question" in capsys.readouterr().err
