"""The lock on an open file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mewcode.infra.locks import try_lock


def test_each_opening_of_a_file_counts_for_itself(tmp_path: Path) -> None:
    one, other = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT, 0o600) for _ in range(2))
    try:
        assert try_lock(one)
        assert try_lock(one), "who holds it may ask again"
        assert not try_lock(other)
    finally:
        os.close(one)
    try:
        assert try_lock(other), "closing lets go"
    finally:
        os.close(other)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL])
def test_without_locks_in_the_file_system_all_get_it(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr("fcntl.flock", _failing(code))
    assert try_lock(0)


def test_another_failure_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcntl.flock", _failing(errno.EIO))
    with pytest.raises(OSError, match="why not"):
        try_lock(0)


def _failing(code: int):
    def flock(_descriptor: int, _operation: int) -> None:
        raise OSError(code, "why not")

    return flock
