"""Checkpoints: what files were is kept once, found again, and named where it is lost."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.sessions.append_file import FileCalls
from mewcode.sessions.checkpoint_log import CheckpointLog, Entry, FileState, path_fields, path_of
from mewcode.sessions.checkpoint_store import CheckpointStore, observe
from mewcode.sessions.checkpoints import Change, Checkpoints


class World:
    """A session's folder, and its user's messages; ``turn`` is the one that runs."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.folder = folder
        self.turn = "t1"
        (folder / "session").mkdir(exist_ok=True)
        self.options = options
        self.kept = self.again()

    def again(self) -> Checkpoints:
        """As a later run opens them."""
        self.kept = Checkpoints(
            lambda: self.folder / "session",
            lambda: self.turn,
            now=lambda: 1.0,
            **self.options,  # type: ignore[arg-type]
        )
        return self.kept

    def write(self, path: Path, data: bytes | None) -> None:
        self.kept.before_write(path)
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)
        self.kept.after_write(path)

    def changes(self, turns: str, place: int) -> dict[str, Change]:
        n = self.kept.positions(turns.split())[place]
        return {os.path.basename(change.path): change for change in self.kept.changes_since(n)}

    @property
    def blobs(self) -> list[str]:
        return os.listdir(self.folder / "session/checkpoints/blobs")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def content(world: World, state: FileState) -> bytes | None:
    return world.kept.store.load(state.blob)


def test_each_content_is_kept_once(world: World, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"same")
    two.write_bytes(b"same")
    for turn in ("t1", "t2"):
        world.turn = turn
        for path in (one, two):
            world.write(path, b"new")
            world.write(path, b"newer")
    assert len(world.blobs) == 2
    assert {
        oct((tmp_path / "session/checkpoints/blobs" / name).stat().st_mode & 0o777) for name in world.blobs
    } == {"0o600"}
    assert content(world, world.changes("t1 t2", 0)["one"].before) == b"same"
    assert content(world, world.changes("t1 t2", 1)["one"].before) == b"newer"
    kept = world.again()
    assert content(world, world.changes("t1 t2", 0)["two"].before) == b"same"
    assert kept.counts_since([0, kept.log.next_n]) == [(2, True), (0, True)]


def test_all_that_can_stand_at_a_path(world: World, tmp_path: Path) -> None:
    link, script, absent = tmp_path / "link", tmp_path / "script", tmp_path / "a/b/absent"
    link.symlink_to("else/where")
    script.write_bytes(b"#!")
    script.chmod(0o754)
    for path in (link, script, absent, tmp_path):
        world.kept.before_write(path)
    found = world.changes("t1", 0)
    assert found["link"].before == FileState("link", target="else/where")
    assert (found["script"].before.kind, found["script"].before.mode) == ("file", 0o754)
    assert (found["absent"].before.kind, found["absent"].before.folder) == ("absent", str(tmp_path / "a"))
    assert (found[tmp_path.name].before.kind, found[tmp_path.name].before.why) == ("unknown", "a folder")
    assert world.kept.counts_since([0]) == [(4, False)]


@pytest.mark.parametrize("name", [b"\xff\xfe", "文件 😀".encode(), b"a\nb\x1b[1m", b'"\\'])
def test_any_name_is_found_again(name: bytes, world: World, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    path.write_bytes(b"1")
    world.write(path, b"2")
    world.again()
    assert world.kept.paths == [str(path)]
    assert list(world.changes("t1", 0)) == [path.name]
    (tmp_path / "session/checkpoints/index.jsonl").read_text("utf-8")


@given(st.text(st.characters(blacklist_characters="\0"), min_size=1).map(lambda name: "/" + name))
@settings(max_examples=100)
def test_paths_come_back_as_they_were(name: str) -> None:
    try:
        path = os.fsdecode(os.fsencode(name))
    except UnicodeEncodeError:  # no path can be spelt so
        return
    plain, raw = path_fields(path)
    plain.encode()
    assert path_of(Entry(0, "before", path=plain, raw=raw)) == path


def test_too_large_a_file_is_named(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mewcode.sessions.checkpoint_store.LARGEST_FILE", 10)
    path = tmp_path / "large"
    path.write_bytes(b"x" * 11)
    world.write(path, b"small")
    change = world.changes("t1", 0)["large"]
    assert "larger than" in world.kept.can_restore(change.before)
    assert not (tmp_path / "session/checkpoints/blobs").exists()


def test_the_oldest_are_given_up_first(tmp_path: Path) -> None:
    world = World(tmp_path, most_bytes=1000)
    path = tmp_path / "a"
    path.write_bytes(b"0" * 300)
    for turn in range(1, 6):
        world.turn = f"t{turn}"
        world.write(path, str(turn).encode() * 300)
    assert world.kept.store.total <= 1000
    assert sum(os.path.getsize(tmp_path / "session/checkpoints/blobs" / name) for name in world.blobs) <= 1000
    turns = "t1 t2 t3 t4 t5"
    known = [not world.kept.can_restore(world.changes(turns, place)["a"].before) for place in range(5)]
    assert known == sorted(known)
    assert known[-1]
    assert not known[0]
    assert "to save room" in world.kept.can_restore(world.changes(turns, 0)["a"].before)
    counts = world.kept.counts_since(world.kept.positions(turns.split()))
    assert [is_known for _, is_known in counts] == known


class Refusing(FileCalls):
    """A disk that is full after so many writes."""

    def __init__(self, after: int) -> None:
        self.left = after

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(descriptor, data)


def test_a_full_disk_stops_no_write_and_is_made_up_for(tmp_path: Path) -> None:
    calls = Refusing(1)
    world = World(tmp_path, calls=calls)
    path = tmp_path / "a"
    path.write_bytes(b"1")
    world.write(path, b"2")
    assert world.kept.log.failing == "No space left on device"
    calls.left = 10
    world.turn = "t2"
    world.write(path, b"3")
    assert world.kept.log.failing == ""
    before = world.changes("t1 t2", 0), world.changes("t1 t2", 1)
    world.again()
    after = world.changes("t1 t2", 0), world.changes("t1 t2", 1)
    assert [found["a"].before for found in before] == [found["a"].before for found in after]


def test_no_folder_is_made_where_the_session_has_none(tmp_path: Path) -> None:
    kept = Checkpoints(lambda: tmp_path / "nowhere", lambda: "t1")
    path = tmp_path / "a"
    path.write_bytes(b"1")
    kept.before_write(path)
    assert not (tmp_path / "nowhere").exists()
    assert kept.log.failing
    assert "could not be kept" in kept.can_restore(kept.changes_since(0)[0].before)


def test_a_damaged_index_gives_what_can_be_read(world: World, tmp_path: Path) -> None:
    path = tmp_path / "a"
    for turn in ("t1", "t2"):
        world.turn = turn
        world.write(path, turn.encode())
    index = tmp_path / "session/checkpoints/index.jsonl"
    lines = index.read_bytes().splitlines(keepends=True)
    odd = [b"null\n", b'{"n": 2}\n', b"\xff\n", b'{"n":9,"type":"before","path":"not/absolute"}\n']
    broken = [b'{"n":9,"type":"before","path":"/a","raw":"zz"}\n', b'{"n":9,"type":"before","path":"/a","sta']
    index.write_bytes(b"".join([*odd, *lines[:2], *odd, *lines[1:], *broken]))
    world.again()
    assert [entry.n for entry in world.kept.log.entries] == [0, 1, 2, 3]
    world.turn = "t3"
    world.write(path, b"t3")
    world.again()
    assert [entry.n for entry in world.kept.log.entries] == [0, 1, 2, 3, 4, 5]


def test_a_content_that_was_changed_on_disk_is_none(world: World, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    world.write(path, b"2")
    before = world.changes("t1", 0)["a"].before
    (tmp_path / "session/checkpoints/blobs" / before.blob).write_bytes(b"another")
    assert content(world, before) is None
    assert content(world, FileState("file", "../../../a")) is None


def test_a_failed_write_is_no_change_by_others(world: World, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    world.kept.before_write(path)
    world.turn = "t2"
    world.write(path, b"2")
    assert not world.changes("t1 t2", 0)["a"].foreign


def test_someone_elses_change_within_a_turn_is_kept_too(world: World, tmp_path: Path) -> None:
    path = tmp_path / "a"
    world.write(path, b"1")
    path.write_bytes(b"the user's own")
    world.write(path, b"2")
    assert world.changes("t1", 0)["a"].foreign
    states = [entry.state for entry in world.kept.log.entries if entry.type == "before"]
    assert [content(world, state) for state in states if state] == [None, b"the user's own"]


def test_a_fifo_or_a_link_to_one_is_not_waited_for(world: World, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    world.kept.before_write(tmp_path / "fifo")
    assert world.changes("t1", 0)["fifo"].before.why == "no regular file"
    (tmp_path / "session/checkpoints").joinpath("index.jsonl").unlink()
    os.mkfifo(tmp_path / "session/checkpoints/index.jsonl")
    assert world.again().paths == []


def test_the_index_says_what_its_docstring_says(world: World, tmp_path: Path) -> None:
    path = tmp_path / "a"
    world.write(path, b"1")
    world.kept.log_note("t1", "a word")
    world.kept.log_rewind(Entry(0, "rewind", turn="r", kept="t0", last="t1", at=0, head="h", files=True))
    lines = (tmp_path / "session/checkpoints/index.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"n": 0, "type": "before", "ts": 1.0, "turn": "t1", "path": str(path), "state": {"kind": "absent"}},
        {"n": 1, "type": "after", "ts": 1.0, "path": str(path), "state": json.loads(lines[1])["state"]},
        {"n": 2, "type": "note", "ts": 1.0, "turn": "t1", "text": "a word"},
        {
            "n": 3,
            "type": "rewind",
            "ts": 1.0,
            "turn": "r",
            "kept": "t0",
            "last": "t1",
            "head": "h",
            "files": True,
        },
    ]


def test_observing_keeps_only_where_asked(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    store = CheckpointStore(tmp_path / "checkpoints")
    assert observe(str(path)).blob not in store.sizes
    assert observe(str(path), store).blob in store.sizes
    assert CheckpointLog(tmp_path / "checkpoints").entries == []
