"""Identifiers: of the right form for every provider, and never twice."""

from __future__ import annotations

import os
import re
from collections import Counter

import pytest

from mewcode.core.ids import new_call_id, new_id


@pytest.mark.parametrize("length", [1, 8, 12, 64])
def test_an_id_has_its_length_and_nothing_but_letters_and_digits(length: int) -> None:
    for _ in range(200):
        assert re.fullmatch(rf"[A-Za-z0-9]{{{length}}}", new_id(length))


def test_ids_are_not_repeated() -> None:
    assert len({new_id() for _ in range(5_000)}) == 5_000
    assert len({new_call_id() for _ in range(5_000)}) == 5_000


def test_a_call_id_is_what_the_strictest_provider_takes() -> None:
    assert re.fullmatch(r"[A-Za-z0-9]{9}", new_call_id())


def test_every_letter_comes_about_as_often() -> None:
    counts = Counter(new_id(60_000))
    assert len(counts) == 62
    assert max(counts.values()) < 1.35 * min(counts.values()), counts


def test_bytes_that_would_favour_a_letter_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([bytes([255, 248, 0]), bytes([61, 62, 250]), bytes([1, 1, 1])])
    monkeypatch.setattr(os, "urandom", lambda size: next(drawn))
    assert new_id(3) == "A9A"
