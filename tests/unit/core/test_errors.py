"""The tree of errors is the one that its file draws, exit codes included."""

from __future__ import annotations

import re

import pytest

from mewcode.core import errors
from mewcode.core.errors import (
    ConfigError,
    MewCodeError,
    ProviderError,
    RateLimited,
    SessionBusy,
)

CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, MewCodeError)
}


def drawn() -> dict[str, tuple[str, str]]:
    """Each error of the drawing: its parent's name, and the words beside it."""
    tree: dict[str, tuple[str, str]] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"([│├└─ ]*)([A-Z]\w+)\s{2,}(\S.*)", line)
        if match:
            depth = len(match[1])
            above = [(level, name) for level, name in above if level < depth]
            tree[match[2]] = (above[-1][1] if above else "", match[3])
            above.append((depth, match[2]))
    return tree


def test_the_drawing_is_the_tree() -> None:
    parents = {name: kind.__bases__[0].__name__ for name, kind in CLASSES.items()}
    parents["MewCodeError"] = ""
    assert {name: parent for name, (parent, _) in drawn().items()} == parents
    assert len(parents) > 10


def test_the_exit_codes_are_those_that_are_drawn() -> None:
    for name, (_, words) in drawn().items():
        if match := re.search(r"exit (\d+)", words):
            assert CLASSES[name].exit_code == int(match[1]), name


def test_what_is_retried_is_drawn_so_and_ends_as_try_again() -> None:
    for name, (_, words) in drawn().items():
        kind = CLASSES[name]
        if issubclass(kind, ProviderError):
            assert kind.retryable == ("retried" in words), name
            assert kind.exit_code == (75 if kind.retryable else 1), name


def test_an_error_reads_as_what_and_what_to_do() -> None:
    assert str(MewCodeError("the disk is full", "Free some.")) == "the disk is full\nFree some."
    assert str(MewCodeError("the disk is full")) == "the disk is full"
    error = ConfigError("unknown key 'modle'", "Did you mean model?", "config.yaml:3")
    assert (error.message, error.where) == ("config.yaml:3: unknown key 'modle'", "config.yaml:3")
    assert ConfigError("x").message == "x"


def test_what_errors_carry() -> None:
    busy = SessionBusy("held", "Fork.", 42, 1.5)
    assert (busy.pid, busy.since) == (42, 1.5)
    limited = RateLimited("slow down", status=429, retry_after=3.5)
    assert (limited.status, limited.retry_after, limited.hint) == (429, 3.5, "")


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_each_can_be_raised_with_words_alone(kind: type[MewCodeError]) -> None:
    with pytest.raises(MewCodeError, match="words") as caught:
        raise kind("words")
    assert caught.value.exit_code in (1, 2, 75)
