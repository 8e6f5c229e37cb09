"""What a start has said of the notes is said again where nothing changed, and only there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mewcode.config.trust import TrustStore
from mewcode.infra.paths import Places, find_places
from mewcode.memory.changes import Archive, Create, Forget, Update
from mewcode.memory.store import NoteStore
from mewcode.note_source import open_notes, prompt_notes
from tests.support.file_times import await_new_time
from tests.support.notes import add, note, one, ref

LATER = 10.0
"""Seconds by which these starts come later than what was written: as if by then nothing were new."""


class Home:
    """A user and a project with notes."""

    def __init__(self, folder: Path) -> None:
        self.environ = {"HOME": str(folder / "home")}
        (folder / "work").mkdir(parents=True)
        self.places: Places = find_places(folder / "work", self.environ)
        TrustStore(self.places.user).trust(self.places.root)
        self.caches = folder / "home/.cache/mewcode/notes"
        add(self.notes, note("Port", "The port is 6543."), note("Who", level="user", kind="user_preference"))

    @property
    def notes(self) -> NoteStore:
        return open_notes(self.places, self.environ)

    @property
    def folder(self) -> Path:
        return self.places.project / "memory"

    def start(self, later: float = LATER) -> str:
        return prompt_notes(self.places, self.environ, lambda: time.time() + later)

    def fresh(self, later: float = LATER) -> str:
        return NoteStore(
            [store.shelf for store in self.notes.levels.values()], clock=lambda: time.time() + later
        ).prompt_text()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on no note can be looked into."""

    def refuse(store: NoteStore) -> str:
        raise AssertionError("looked into the notes")

    return lambda: monkeypatch.setattr(NoteStore, "prompt_text", refuse)


def test_a_second_start_looks_into_no_note(home: Home, blind: Callable[[], None]) -> None:
    first = home.start()
    assert "Port" in first
    blind()
    assert home.start() == first


def test_what_was_written_just_now_is_not_relied_on(home: Home) -> None:
    home.start(later=0)
    assert not list(home.caches.glob("*"))


def rewrite(home: Home) -> None:
    path = home.notes.path(one(home.notes, "Port"))
    path.write_text(path.read_text().replace("Port", "Gate"))


CHANGES: dict[str, Callable[[Home], object]] = {
    "a new note": lambda home: add(home.notes, note("Another")),
    "an update": lambda home: home.notes.apply(
        [Update(ref(one(home.notes, "Port")), {"description": "x"})], by="user"
    ),
    "a note forgotten": lambda home: home.notes.apply([Forget(ref(one(home.notes, "Port")))], by="user"),
    "a note at rest": lambda home: home.notes.apply([Archive(ref(one(home.notes, "Port")))], by="user"),
    "a file edited": rewrite,
    "a file deleted": lambda home: home.notes.path(one(home.notes, "Port")).unlink(),
    "a file put there": lambda home: (home.folder / "project_by_hand.md").write_text("By hand."),
    "a note of the user's": lambda home: add(home.notes, note("Me", level="user", kind="user_preference")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_is_seen_at_once(home: Home, change: Callable[[Home], object]) -> None:
    before = home.start()
    await_new_time(home.folder)
    change(home)
    assert home.start() == home.fresh() != before


def test_what_is_used_shows_a_day_later(home: Home, blind: Callable[[], None]) -> None:
    """It may change the order in which notes are left out."""
    first = home.start()
    await_new_time(home.folder)
    home.notes.used([one(home.notes, "Port")], "read")
    blind()
    assert home.start() == first
    with pytest.raises(AssertionError, match="looked into"):
        home.start(later=LATER + 86_400)


def test_a_note_that_ends_is_gone_at_its_time(home: Home) -> None:
    ends = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() + 3_600))
    add(home.notes, note("Freeze", valid_to=ends))
    assert "Freeze" in home.start()
    assert "Freeze" not in home.start(later=7_200)


def test_trust_that_is_withdrawn_counts_at_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert "Port" in home.start()
    (home.places.user / "trust.json").unlink()
    assert "Port" not in home.start()


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x94\x90\x90\x00\xa0", b"\x94\x90\x90\xcb"])
def test_a_damaged_cache_counts_as_none(home: Home, content: bytes) -> None:
    text = home.start()
    [path] = home.caches.glob("*.msgpack")
    path.write_bytes(content)
    assert home.start() == text


def test_a_cache_that_others_can_write_counts_as_none(home: Home) -> None:
    text = home.start()
    [path] = home.caches.glob("*.msgpack")
    path.write_bytes(path.read_bytes().replace(b"6543", b"9999").replace(b"Port", b"Trap"))
    path.chmod(0o666)
    assert home.start() == text


def test_only_the_user_can_read_it(home: Home) -> None:
    home.start()
    [path] = home.caches.glob("*.msgpack")
    assert path.stat().st_mode & 0o777 == 0o600
    assert home.caches.stat().st_mode & 0o777 == 0o700


def test_a_cache_folder_within_the_workspace_is_not_used(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.environ["XDG_CACHE_HOME"] = str(home.places.root / "caches")
    assert "Port" in home.start()
    assert not (home.places.root / "caches").exists()


def test_a_folder_that_cannot_be_written_only_costs_the_next_start(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    home.caches.parent.mkdir(parents=True)
    home.caches.write_text("in the way")
    with caplog.at_level("INFO"):
        assert "Port" in home.start()
    assert "not kept" in caplog.text


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.sampled_from(["add", "edit", "touch", "delete", "swap", "start", "use"]), max_size=8)
)
def test_whatever_happens_between_two_starts_the_text_is_that_of_the_notes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    home = Home(tmp_path_factory.mktemp("kept"))
    for number, step in enumerate(steps):
        await_new_time(home.folder)
        files = sorted(home.folder.glob("project_*.md"))
        if step == "add":
            home.notes.apply([Create(note(f"Note {number}"))], by="user")
        elif step == "start":
            assert home.start() == home.fresh()
        elif step == "use":
            home.notes.used(home.notes.live()[:1], "read")
        elif not files:
            continue
        elif step == "edit":
            files[0].write_text(files[0].read_text() + f"\nMore {number}.\n")
        elif step == "touch":
            os.utime(files[-1])
        elif step == "delete":
            files[-1].unlink()
        else:
            files[0].rename(home.folder / "kept-aside")
            (home.folder / "kept-aside").rename(files[0])
    assert home.start() == home.fresh()
