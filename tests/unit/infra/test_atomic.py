"""A file is replaced whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mewcode.infra import atomic
from mewcode.infra.atomic import sync_dir, write_atomic

FULL = OSError(errno.ENOSPC, "No space left on device")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"one")
    write_atomic(path, b"two, and longer")
    assert path.read_bytes() == b"two, and longer"
    assert list(tmp_path.iterdir()) == [path]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=3_000), durable=st.booleans(), step=st.integers(1, 700))
def test_any_bytes_in_any_pieces(data: bytes, durable: bool, step: int, tmp_path_factory) -> None:
    """The system may take less than it is given."""
    path = tmp_path_factory.mktemp("any") / "file"
    real = os.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atomic.os, "write", lambda descriptor, view: real(descriptor, view[:step]))
        write_atomic(path, data, durable=durable)
    assert path.read_bytes() == data


def test_the_mode(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "private", b"")
        write_atomic(tmp_path / "given", b"", mode=0o755)
        write_atomic(tmp_path / "by umask", b"", mode=None)
    finally:
        os.umask(before)
    assert [mode(tmp_path / name) for name in ("private", "given", "by umask")] == [0o600, 0o755, 0o640]


def test_it_is_never_open_to_others_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = os.write

    def write(descriptor: int, data: memoryview) -> int:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return real(descriptor, data)

    monkeypatch.setattr(atomic.os, "write", write)
    before = os.umask(0)
    try:
        write_atomic(tmp_path / "file", b"secret")
    finally:
        os.umask(before)
    assert seen == [0o600]


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "fchmod"])
def test_a_failure_leaves_the_old_file_and_nothing_beside_it(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*arguments: object) -> None:
        raise FULL

    monkeypatch.setattr(atomic.os, call, fail)
    with pytest.raises(OSError, match="No space"):
        write_atomic(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_half_way_is_one_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    real, calls = os.write, []

    def write(descriptor: int, data: memoryview) -> int:
        calls.append(len(data))
        if len(calls) == 2:
            raise FULL
        return real(descriptor, data[:2])

    monkeypatch.setattr(atomic.os, "write", write)
    with pytest.raises(OSError, match="No space"):
        write_atomic(path, b"newer")
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"old", [path])


def test_ctrl_c_in_the_middle_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "file", b"new")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_durable_is_not_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(atomic.os, "fsync", synced.append)
    write_atomic(tmp_path / "file", b"x", durable=False)
    assert synced == []
    write_atomic(tmp_path / "file", b"x")
    assert len(synced) == 2, "the file, and the folder that holds its name"


@pytest.mark.parametrize("name", ["a" * 255, "名" * 85, ".hidden", "with space"])
def test_any_name_has_room_for_its_temporary_one(name: str, tmp_path: Path) -> None:
    write_atomic(tmp_path / name, b"x")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_no_folder_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "missing" / "file", b"x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=r"."):
        write_atomic(tmp_path / "folder", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_readers_see_the_old_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "file"
    texts = [bytes([letter]) * 20_000 for letter in b"abcdefgh"]
    write_atomic(path, texts[0], durable=False)
    writers = [
        threading.Thread(
            target=lambda text=text: [write_atomic(path, text, durable=False) for _ in range(10)]
        )
        for text in texts
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_bytes() in texts
    for writer in writers:
        writer.join()
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_system_that_cannot_sync_a_folder_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(atomic.os, "fsync", refuse)
    sync_dir(tmp_path)
