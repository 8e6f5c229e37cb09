"""How text becomes words of the index, and a question terms."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.memory.recall.concepts import (
    CONCEPTS,
    TABLE,
    TOPICS,
    concepts_of,
    known_words,
    names_of,
    table_of,
    topics_of,
)
from mewcode.memory.recall.question import Term, Worth, read_question
from mewcode.memory.recall.stems import stem
from mewcode.memory.recall.stop_words import STOP_STEMS, WEAK_STEMS
from mewcode.memory.recall.words import pairs, prepared

WORTH = Worth(meaning=0.9, topic=0.35, parts=0.4)


def words(text: str) -> list[str]:
    """The prepared words, without the concepts and topics behind them."""
    return [word for word in prepared(text).split() if word[0] not in "§¤"]


def exact(question: str) -> list[str]:
    return [" ".join(term.exact) for term in read_question(question)]


@pytest.mark.parametrize(
    "forms",
    [
        "deploy deploys deployed deploying deployment",
        "configure configuration configuring configured config cfg",
        "cache caches cached caching",
        "retry retries retried",
        "happy happiness",
        "run ran running",
        "write writes wrote written writing",
        "index indexes indices",
        "database databases db",
        "hop hopped hopping",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"), ("ties", "tie"), ("cries", "cri"), ("gas", "gas"), ("kiwis", "kiwi"),
        ("agreed", "agre"), ("luxuriated", "luxuri"), ("hoping", "hope"), ("relational", "relat"),
        ("sensitivity", "sensit"), ("consistently", "consist"), ("communication", "communic"),
        ("generous", "generous"), ("generate", "generat"), ("sky", "sky"), ("proceeding", "proceed"),
        ("rolling", "roll"), ("apology", "apolog"), ("hopefulness", "hope"), ("by", "by"), ("say", "say"),
    ],
)  # fmt: skip
def test_stems_are_those_of_the_published_algorithm(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize("pair", ["hope hop", "general generate", "universe news", "policy police"])
def test_words_of_their_own_stay_apart(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzY'é", max_size=24))
def test_a_stem_of_anything_is_no_longer_than_a_letter_more(word: str) -> None:
    found = stem(word)
    assert found or not word
    assert len(found) <= max(len(word) + 1, 14)  # a short form stands for a longer word


def test_width_case_and_accents_are_folded() -> None:
    assert words("ＡＰＩ Café NAÏVE Straße") == words("api cafe naive strasse")


def test_marks_that_are_no_accents_stay() -> None:
    assert "が" in words("が")
    assert "か" not in words("が")


@pytest.mark.parametrize("name", ["read_file", "readFile", "ReadFile", "read-file", "READ_FILE"])
def test_an_identifier_is_its_parts_and_all_of_it(name: str) -> None:
    assert words(name) == ["read", "file", "readfil"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("src/auth/login.py", ["src", stem("auth"), "login", stem("py"), "loginpi"]),
        ("v3.11.2", ["3.11.2"]),
        ("utf-8 UTF8", ["utf", "utf8", "utf", "utf8"]),
        ("C++ C# c", ["c++", "c#", "c"]),
        ("Caroline's don't", ["carolin", "dont"]),
        ("__init__", ["init"]),
        ("_ - ...", []),
        ("k8s", [stem("kubernetes")]),
        ("2026-12-01", ["2026", "12", "01", "20261201"]),
    ],
)
def test_names_paths_and_versions(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_what_is_no_word_is_left_out() -> None:
    assert words("x" * 65) == []
    assert words("x\0y \ud800 \ufeff") == ["x", "y"]


def test_scripts_without_blanks_become_pairs_and_characters() -> None:
    assert words("数据库") == ["数据", "据库", "数", "据", "库"]
    assert words("库") == ["库"]
    assert words("用Redis做缓存") == ["用", "redi", "做缓", "缓存", "做", "缓", "存"]
    assert words("한국어")[:2] == ["한국", "국어"]


@given(st.text(max_size=200))
def test_prepared_text_holds_nothing_that_fts5_would_cut(text: str) -> None:
    said = prepared(text)
    assert "\n" not in said
    assert "  " not in said
    assert said == said.strip()
    for word in said.split(" "):  # the mark of a name is no ASCII
        assert all(char in ".+#" or not char.isascii() or char.isalnum() for char in word), word
    said.encode()


def test_words_of_both_languages_share_a_concept() -> None:
    assert set(concepts_of(stem("deploying"))) & set(concepts_of("上线"))
    assert concepts_of("麒麟") == ()


def test_words_of_one_topic_share_it_and_no_concept() -> None:
    tuesday, friday = stem("tuesday"), "周五"
    assert set(topics_of(tuesday)) & set(topics_of(friday))
    assert not set(concepts_of(tuesday)) & set(concepts_of(friday))


def test_two_words_that_are_one_stand_as_that_too() -> None:
    assert words("rolled back") == ["roll", "rollback", "back"]
    assert words("roll the back") == ["roll", "the", "back"]
    (term,) = read_question("rolled back?")
    assert (term.exact, term.parts) == (("rollback",), ("roll", "back"))
    assert set(read_question("rollback")[0].meanings) == set(term.meanings)


def test_of_a_long_question_the_topics_are_left_out() -> None:
    said = "tuesday " + " ".join(f"zebra{letter}" for letter in "abcdefghijkl")
    assert read_question("tuesday")[0].topics
    assert read_question(said)[0] == msgspec.structs.replace(read_question("tuesday")[0], topics=())


def test_of_many_topics_a_word_has_the_smallest() -> None:
    lists = [
        f"topic{number} spoon {' '.join(f'w{number}x{n}' for n in range(number))}" for number in range(9)
    ]
    made = table_of("", "\n".join(reversed(lists))).splitlines()
    (spoon,) = [line for line in made if line.startswith("spoon ")]
    assert spoon.split(" ")[1:] == [f"¤topic{number}" for number in range(6)]


def test_what_may_be_said_of_anything_has_no_names() -> None:
    assert {names_of(word) for word in STOP_STEMS | WEAK_STEMS} == {()}


@pytest.mark.parametrize("path", [CONCEPTS, TOPICS])
def test_the_lists_name_each_line_once_and_hold_words_of_two_languages(path: Path) -> None:
    heads = []
    for line in path.read_text(encoding="utf-8").splitlines():
        english, _, chinese = line.partition("|")
        assert re.fullmatch(r"[a-z0-9][a-z0-9.+#-]*( [a-z0-9][a-z0-9.+#-]*)*", english.strip()), line
        assert all(re.fullmatch(r"[\u4e00-\u9fff]{2,4}", word) for word in chinese.split()), line
        heads.append(english.split()[0])
    assert heads == sorted(set(heads))


@given(st.text(alphabet="数据库迁移部署上线的了", max_size=12))
def test_cutting_into_known_words_loses_nothing(run: str) -> None:
    assert "".join(known_words(run)) == run


def test_stop_words_are_left_out_of_questions_alone() -> None:
    assert exact("how do we run the tests?") == ["run", "test"]
    assert "the" in words("the tests")
    assert exact("请问怎么部署") == ["部署"]


def test_where_nothing_else_is_said_stop_words_count() -> None:
    assert exact("what did you do") == ["what", "do", "you"]
    assert exact("是") == ["是"]
    assert exact(" ?! ") == []


def test_a_question_of_one_character_finds_it() -> None:
    assert read_question("库") == [Term(("库",))]
    assert set(read_question("库")[0].exact) <= set(prepared("数据库").split())


def test_a_term_is_said_once_and_a_paste_is_cut() -> None:
    assert exact("retry retry retries") == ["retri"]
    found = exact(" ".join(f"zebra{number}" for number in range(100_000)))
    assert (found[0], found[-1], len(found)) == ("zebra0", "zebra99999", 64)


def test_how_much_of_a_term_a_text_holds() -> None:
    (term,) = read_question("数据库")
    assert term.strength_in(dict.fromkeys(prepared("数据库").split(), 1.0), 0.0, WORTH) == 1.0
    same_meaning = term.strength_in(dict.fromkeys(prepared("database").split(), 1.0), 0.0, WORTH)
    in_parts = term.strength_in(dict.fromkeys(pairs("数据"), 1.0) | {"数": 1.0, "据": 1.0}, 0.0, WORTH)
    assert 1.0 > same_meaning > in_parts > 0.0
    assert term.strength_in({"缓存": 1.0}, 0.0, WORTH) == 0.0


def test_more_of_a_word_counts_more_and_a_long_text_less() -> None:
    (term,) = read_question("zebra")
    assert term.strength_in({"zebra": 2.0}, 1.2, WORTH) > term.strength_in({"zebra": 1.0}, 1.2, WORTH)
    assert term.strength_in({"zebra": 1.0}, 1.2, WORTH) > term.strength_in({"zebra": 1.0}, 2.4, WORTH)


def test_the_table_of_concepts_is_what_their_list_and_the_stems_give() -> None:
    made = table_of(*(path.read_text(encoding="utf-8") for path in (CONCEPTS, TOPICS)))
    assert TABLE.read_text(encoding="utf-8") == made, "python -m mewcode.memory.recall.concepts makes it anew"


def test_what_says_nothing_and_what_says_little_are_told_apart() -> None:
    assert not STOP_STEMS & WEAK_STEMS
    assert read_question("which of these looks better?") == [
        Term(("look",), is_weak=True),
        Term(("better",), is_weak=True),
    ]
