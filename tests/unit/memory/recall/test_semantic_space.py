"""The vectors of a collection, compared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.memory.recall.semantic_space import Space, nearest, packed, script_of


def unit(seed: int, size: int = 384) -> np.ndarray:
    vector = np.random.default_rng(seed).standard_normal(size).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def space(*vectors: np.ndarray, scripts: str = "") -> Space:
    return Space(
        [
            (10 + number, f"id{number}", 1, number, (scripts or "L" * len(vectors))[number], packed(vector))
            for number, vector in enumerate(vectors)
        ]
    )


@given(st.integers(0, 1_000), st.integers(1, 40))
def test_a_byte_for_each_number_keeps_the_cosine(seed: int, count: int) -> None:
    question = unit(seed)
    vectors = [unit(seed + 1 + number) + question for number in range(count)]
    found = space(*vectors).cosines(question)
    exact = [float(vector @ question / np.linalg.norm(vector)) for vector in vectors]
    assert found == pytest.approx(exact, abs=0.002)


def test_more_vectors_than_are_compared_at_once_are_all_compared() -> None:
    vectors = [unit(number, 8) for number in range(1_300)]
    found = space(*vectors)
    assert [nearest(found.cosines(vectors[number]), 1) for number in (0, 511, 512, 1_299)] == [
        [0], [511], [512], [1_299],
    ]  # fmt: skip
    assert found.rows[512] == 522
    assert found.number("id512") == 512
    assert found.number("other") is None


def test_with_the_one_before_a_text_is_as_near_as_the_sum_of_both() -> None:
    one, two, question = unit(1), unit(2), unit(3) + unit(1)
    question = question / np.linalg.norm(question)
    found = space(one, two)
    near = found.with_before(found.cosines(question))
    both = one + two
    pair = float(both @ question / np.linalg.norm(both))
    assert near == pytest.approx([float(one @ question), (float(two @ question) + pair) / 2], abs=0.004)


def test_a_text_stands_out_among_those_of_its_own_script() -> None:
    latin, chinese, topic = unit(1), unit(2), unit(3)
    near_chinese = chinese + topic
    vectors = [latin + 0.2 * unit(10 + number) for number in range(20)]
    vectors += [chinese + 0.2 * unit(40 + number) for number in range(20)] + [near_chinese]
    question = latin + topic
    question = question / np.linalg.norm(question)
    found = space(*vectors, scripts="L" * 20 + "C" * 21)
    cosines = found.cosines(question)
    assert nearest(cosines, 1) != [40]
    assert nearest(found.standing(cosines, "L"), 1) == [40]


def test_a_lone_text_that_is_much_like_the_question_stands_out() -> None:
    found = space(unit(1), scripts="L")
    alike, unlike = np.array([0.9], np.float32), np.array([0.8], np.float32)
    assert found.standing(alike, "L")[0] > 0.5 > 0 > found.standing(unlike, "L")[0]


def test_nothing_is_nearest_where_there_is_nothing() -> None:
    found = Space([])
    cosines = found.cosines(unit(1))
    assert len(found) == 0
    assert nearest(found.standing(found.with_before(cosines), "L"), 5) == []


def test_vectors_of_another_size_are_left_out() -> None:
    rows = [(1, "a", 1, 0, "L", packed(unit(1, 8))), (2, "b", 1, 1, "L", packed(unit(2, 4)))]
    assert (len(Space(rows)), Space(rows).number("a")) == (1, 0)


def test_equally_near_ones_come_in_their_order() -> None:
    assert nearest(np.array([0.5, 0.7, 0.5, 0.7], np.float32), 4) == [1, 3, 0, 2]


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("how to deploy", "LATIN"),
        ("怎么部署 make release", "CJK"),
        ("как развернуть", "CYRILLIC"),
        ("1234 !?", ""),
        ("", ""),
    ],
)
def test_the_script_of_a_text_is_what_most_of_it_is_in(text: str, script: str) -> None:
    assert script_of(text) == script
