"""Trust is kept in the user folder, folder by folder, and two processes lose nothing."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mewcode.config.file_lock import locked
from mewcode.config.trust import TrustStore, content_hash
from mewcode.core.errors import ConfigError


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "home" / ".mewcode")


def test_nothing_is_trusted_at_first_and_asking_makes_no_file(store, tmp_path):
    assert not store.is_trusted(tmp_path)
    assert not store.path.parent.exists()
    assert store.notices == []


def test_trust_is_for_one_folder_alone(store, tmp_path):
    root = tmp_path / "work" / "proj"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "work" / "proj-evil").mkdir()
    store.trust(root)
    store.trust(root)
    assert store.is_trusted(root)
    assert TrustStore(store.path.parent).is_trusted(root / "sub" / "..")
    for other in (root / "sub", root.parent, tmp_path / "work" / "proj-evil", tmp_path / "work" / "pro"):
        assert not store.is_trusted(other)
    assert json.loads(store.path.read_text())["trusted"] == [str(root.resolve())]


def test_a_link_to_a_trusted_folder_is_that_folder(store, tmp_path):
    root, link = tmp_path / "proj", tmp_path / "link"
    root.mkdir()
    link.symlink_to(root)
    store.trust(link)
    assert store.is_trusted(root)
    link.unlink()
    (tmp_path / "other").mkdir()
    link.symlink_to(tmp_path / "other")
    assert not store.is_trusted(link)


def test_files_and_folders_are_private(store, tmp_path):
    old = os.umask(0)
    try:
        store.trust(tmp_path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    for path in store.path.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_made_file_is_known_by_folder_path_and_content(store, tmp_path):
    root, path = tmp_path / "proj", tmp_path / "proj" / "config.local.yaml"
    root.mkdir()
    store.record_made(root, path, content_hash(b"one"))
    assert store.was_made(root, path, b"one")
    assert not store.was_made(root, path, b"one ")
    assert not store.was_made(root, root / "config.yaml", b"one")
    assert not store.was_made(tmp_path, path, b"one")
    store.record_made(root, path, content_hash(b"two"))
    assert store.was_made(root, path, b"two")
    assert not store.was_made(root, path, b"one")
    assert not store.is_trusted(root)


def test_a_name_in_another_encoding_is_kept(store, tmp_path):
    root = tmp_path / os.fsdecode(b"caf\xe9")
    store.trust(root)
    store.trust(tmp_path / "中文")
    assert store.is_trusted(root)
    assert store.is_trusted(tmp_path / "中文")
    assert not store.is_trusted(tmp_path / "caf\ufffd")


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"trusted": "/"}',
        b'{"trusted": [1]}',
        b'{"made": []}',
        b'{"made": {"/": 1}}',
        b"\xff",
    ],
)
def test_a_damaged_file_counts_as_no_trust_and_is_set_aside(store, tmp_path, damage):
    store.path.parent.mkdir(parents=True)
    store.path.write_bytes(damage)
    assert not store.is_trusted(tmp_path)
    assert not store.path.exists()
    assert store.path.with_name("trust.json.damaged").read_bytes() == damage
    assert len(store.notices) == 1
    assert "trust.json.damaged" in store.notices[0]
    store.trust(tmp_path)
    assert store.is_trusted(tmp_path)
    assert len(store.notices) == 1


def test_writing_over_a_damaged_file_keeps_it_too(store, tmp_path):
    store.path.parent.mkdir(parents=True)
    store.path.write_bytes(b"{half")
    store.trust(tmp_path)
    assert store.is_trusted(tmp_path)
    assert store.path.with_name("trust.json.damaged").read_bytes() == b"{half"


def test_what_a_later_version_adds_is_kept(store, tmp_path):
    store.path.parent.mkdir(parents=True)
    store.path.write_text('{"trusted": ["/a"], "later": {"x": [1]}}')
    store.trust(tmp_path)
    state = json.loads(store.path.read_text())
    assert state["later"] == {"x": [1]}
    assert state["trusted"][0] == "/a"


def test_a_file_that_cannot_be_read_or_written_is_said(store, tmp_path):
    store.path.mkdir(parents=True)
    assert not store.is_trusted(tmp_path)
    assert "cannot be read" in store.notices[0]
    with pytest.raises(ConfigError, match="cannot be written"):
        store.trust(tmp_path)


def test_two_processes_at_once_lose_nothing(store, child_env):
    code = (
        "import sys; from pathlib import Path; from mewcode.config.trust import TrustStore\n"
        "store, who = TrustStore(Path(sys.argv[1])), sys.argv[2]\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "for n in range(40):\n"
        "    store.trust(Path(f'/t/{who}/{n}')); store.record_made(Path('/t'), Path(f'/t/{who}{n}'), 'x')\n"
    )
    command = [sys.executable, "-c", code, str(store.path.parent)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": child_env}
    with subprocess.Popen([*command, "a"], **pipes) as one, subprocess.Popen([*command, "b"], **pipes) as two:
        for child in (one, two):
            assert child.stdout.readline() == "ready\n"
        for child in (one, two):
            child.stdin.write("go\n")
            child.stdin.flush()
        for child in (one, two):
            child.communicate(timeout=60)
            assert child.returncode == 0
    state = json.loads(store.path.read_text())
    assert set(state["trusted"]) == {f"/t/{who}/{n}" for who in "ab" for n in range(40)}
    assert len(state["made"]["/t"]) == 80


def test_threads_exclude_each_other_too(store):
    threads = [threading.Thread(target=store.trust, args=(Path(f"/t/{n}"),)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(json.loads(store.path.read_text())["trusted"]) == 12


def test_a_lock_that_stays_held_ends_in_an_error(tmp_path):
    path = tmp_path / "x.lock"
    with (
        locked(path),
        pytest.raises(ConfigError, match=r"another process has held x\.lock"),
        locked(path, limit=0),
    ):
        pass
    with locked(path, limit=0):
        pass


def test_a_lock_file_that_is_a_link_is_not_followed(tmp_path):
    path = tmp_path / "x.lock"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"x\.lock"), locked(path):
        pass
    assert not (tmp_path / "elsewhere").exists()
