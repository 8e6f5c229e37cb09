"""Sets of questions in their three forms."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mewcode.core.errors import UsageError
from mewcode.eval.datasets import NOTHING, Case, Corpus, read_dataset

OWN = Path(__file__).parents[3] / "evals" / "recall-notes.json"


def written(tmp_path: Path, value: Any) -> Path:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def locomo_turn(place: str, speaker: str, text: str, **more: Any) -> dict[str, Any]:
    return {"dia_id": place, "speaker": speaker, "text": text, **more}


LOCOMO = [
    {
        "sample_id": "conv-1",
        "qa": [
            {"question": "When did Ann paint?", "answer": 2022, "evidence": ["D1:2"], "category": 2},
            {
                "question": "What was seen?",
                "answer": "a",
                "evidence": ["D1:1; D2:01", "D:1:2"],
                "category": 1,
            },
            {"question": "Was it sold?", "adversarial_answer": "no", "evidence": ["D2:1"], "category": 5},
            {"question": "Would Ann agree?", "answer": "yes", "evidence": [], "category": 3},
            {"question": "Of another talk?", "answer": "yes", "evidence": ["D9:9"], "category": 4},
        ],
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                locomo_turn("D1:1", "Bob", "What have you been up to?"),
                locomo_turn("D1:2", "Ann", "Painting.", img_url=["http://x"], blip_caption="a lake"),
            ],
            "session_2_date_time": "2:00 pm on 9 May, 2023",
            "session_2": [locomo_turn("D2:1", "Bob", "Did you sell it?")],
            "session_3_date_time": "nothing was said",
        },
        "event_summary": {},
    }
]

LONG_MEM_EVAL = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which degree?",
        "answer": "Law",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20", "2023/05/21"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I took law", "has_answer": True},
                {"role": "assistant", "content": "Well done"},
                {"role": "user", "content": "Thanks"},
            ],
            [{"role": "assistant", "content": "Hello"}],
        ],
        "answer_session_ids": ["s1"],
    },
    {
        "question_id": "q2_abs",
        "question_type": "single-session-user",
        "question": "Which school?",
        "answer": "never said",
        "haystack_session_ids": [],
        "haystack_sessions": [],
        "answer_session_ids": [],
    },
]


def read_one(path: Path, **more: Any) -> Corpus:
    (corpus,) = read_dataset(path, **more)
    return corpus


def test_locomo_is_turns_by_session_and_questions_with_evidence(tmp_path: Path) -> None:
    corpus = read_one(written(tmp_path, LOCOMO))
    assert {name: [turn.number for turn in turns] for name, turns in corpus.sessions.items()} == {
        "D1": [1, 2],
        "D2": [1],
    }
    assert corpus.sessions["D1"][1].text == "Ann: Painting. a lake"
    assert corpus.cases == (
        Case("When did Ann paint?", frozenset({"D1/2"}), "temporal"),
        Case("What was seen?", frozenset({"D1/1", "D2/1", "D1/2"}), "multi-hop"),
        Case("Was it sold?", frozenset({"D2/1"}), "adversarial", is_overall=False),
    )


def test_long_mem_eval_is_a_haystack_a_question(tmp_path: Path) -> None:
    corpus = read_one(written(tmp_path, LONG_MEM_EVAL))
    assert corpus.by_session
    assert corpus.cases == (Case("Which degree?", frozenset({"s1"}), "single-session-user"),)
    assert [turn.text for turn in corpus.sessions["s1"]] == ["I took law\nWell done", "Thanks"]
    assert [turn.text for turn in corpus.sessions["s2"]] == ["Hello"]


def test_our_own_set_can_be_read_by_halves_and_without_aliases() -> None:
    whole = read_one(OWN)
    tune, report = read_one(OWN, split="tune"), read_one(OWN, split="report")
    assert len(tune.cases) + len(report.cases) == len(whole.cases)
    assert all(note.aliases for note in whole.notes)
    assert not any(note.aliases for note in read_one(OWN, aliases=False).notes)


def test_our_own_set_is_what_it_says_to_be() -> None:
    """Enough of each kind, in both languages, with halves that share no wanted note, and aliases that do not
    repeat a question."""
    value = json.loads(OWN.read_text(encoding="utf-8"))
    notes = {note["id"]: note for note in value["notes"]}
    assert len(notes) >= 80
    assert {note["lang"] for note in notes.values()} == {"en", "zh"}
    assert all(5 <= len(note["aliases"]) <= 12 for note in notes.values())
    asked = [query for query in value["queries"] if query["target_ids"]]
    assert len(asked) >= 80
    assert {query["kind"] for query in asked} == {"keyword", "paraphrase", "cross"}
    for query in asked:
        (target,) = query["target_ids"]
        assert query["nlang"] == notes[target]["lang"]
        assert (query["kind"] == "cross") == (query["qlang"] != query["nlang"])
        assert query["q"].casefold() not in map(str.casefold, notes[target]["aliases"])
    halves = [
        {query["target_ids"][0] for query in asked if query["split"] == half} for half in ("tune", "report")
    ]
    assert halves[0].isdisjoint(halves[1])


@pytest.mark.parametrize("name", ["recall-blind.json", "recall-situations.json"])
def test_the_sets_that_are_only_reported_are_what_they_say_to_be(name: str) -> None:
    corpus = read_one(OWN.with_name(name))
    asked = [case for case in corpus.cases if case.kind != NOTHING]
    assert (len(corpus.notes), len(asked), len(corpus.cases)) == (100, 120, 130)
    assert Counter(case.kind for case in asked) == {"paraphrase": 50, "cross": 45, "keyword": 25}
    assert all(note.aliases for note in corpus.notes)


@pytest.mark.parametrize("text", ["", "[1]", "{}", '[{"qa": 3}]', "\x00", '{"notes": [], "queries": 1}'])
def test_what_is_no_set_is_named_with_what_is_wrong(tmp_path: Path, text: str) -> None:
    path = tmp_path / "set.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"set\.json is no data set") as told:
        read_dataset(path)
    assert "LoCoMo" in told.value.hint


def test_a_missing_file_and_a_missing_note_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_dataset(tmp_path / "none.json")
    query = {"q": "x", "target_ids": ["n9"], "kind": "keyword", "qlang": "en", "nlang": "en"}
    with pytest.raises(UsageError, match="no data set"):
        read_dataset(written(tmp_path, {"notes": [], "queries": [query]}))
