"""What changes while a session runs, and what tools come upon."""

from __future__ import annotations

import os

import pytest

from mewcode.infra.paths import Places
from mewcode.instructions.live import LiveInstructions
from mewcode.instructions.load import Loader


@pytest.fixture
def places(tmp_path):
    root = tmp_path / "proj"
    root.mkdir()
    return Places(root, root, tmp_path / "home" / ".mewcode", root / ".mewcode")


@pytest.fixture
def live(places):
    return LiveInstructions(lambda: Loader(places, home=places.user.parent))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_nothing_changed_is_nothing_to_tell(places, live):
    write(places.root / "MEWCODE.md", "one")
    assert "one" in live.build()
    assert live.change() == ""


def test_a_change_is_told_once_as_a_difference(places, live):
    path = write(places.root / "MEWCODE.md", "a\nb\nc\nd\ne\nf")
    live.build()
    write(path, "a\nb\nc\nd\ne\nF and more")
    told = live.change()
    assert "-f\n+F and more" in told
    assert "\n a" not in told
    assert live.change() == ""
    assert "F and more" in live.build()


def test_a_file_that_was_only_touched_is_no_change(places, live):
    path = write(places.root / "MEWCODE.md", "one")
    live.build()
    os.utime(path, (1, 1))
    assert live.change() == ""


def test_new_and_deleted_files_and_includes(places, live):
    live.build()
    write(places.root / "MEWCODE.md", "one\n@include a.md")
    assert "New: Source: MEWCODE.md" in live.change()
    write(places.root / "a.md", "INCLUDED")
    assert "+INCLUDED" in live.change()
    (places.root / "a.md").unlink()
    assert "-INCLUDED" in live.change()
    (places.root / "MEWCODE.md").unlink()
    assert "MEWCODE.md is gone" in live.change()


def test_a_large_change_is_shown_by_its_beginning(places, live):
    path = write(places.root / "MEWCODE.md", "a\n" * 3_000)
    live.build()
    write(path, "b\n" * 9_000)
    told = live.change()
    assert "was rewritten" in told
    assert len(told) < 9_000


def test_a_folder_below_tells_its_instructions_when_it_is_touched(places, live):
    write(places.root / "lib" / "MEWCODE.md", "LIB")
    write(places.root / "lib" / "deep" / "AGENTS.md", "DEEP")
    file = write(places.root / "lib" / "deep" / "x.py", "")
    live.build()
    assert live.is_new([file])
    told = live.touch([file])
    assert told.index("DEEP") < told.index("LIB")
    assert not live.is_new([file])
    assert live.touch([places.root / "lib" / "y.py"]) == ""


def test_rules_for_paths_are_told_when_one_is_touched(places, live):
    write(places.project / "rules" / "py.md", '---\npaths: ["src/**/*.py"]\n---\nPYTHON\n@include ../more.md')
    write(places.project / "more.md", "MORE")
    live.build()
    assert live.touch([places.root / "src" / "a.c"]) == ""
    told = live.touch([places.root / "src" / "a.py"])
    assert "PYTHON" in told
    assert "MORE" in told
    assert live.touch([places.root / "src" / "b.py"]) == ""


def test_a_folder_outside_tells_nothing(places, live, tmp_path):
    write(tmp_path / "else" / "MEWCODE.md", "CANARY")
    live.build()
    assert live.touch([tmp_path / "else" / "x.py", places.root.parent / "y"]) == ""


def test_what_was_told_is_not_told_again_after_a_change(places, live):
    write(places.root / "lib" / "MEWCODE.md", "LIB")
    path = write(places.root / "MEWCODE.md", "one")
    live.build()
    assert "LIB" in live.touch([places.root / "lib" / "x"])
    write(path, "two")
    assert "two" in live.change()
    assert live.touch([places.root / "lib" / "y"]) == ""


def test_what_cannot_be_read_below_is_said(places, live):
    write(places.root / "lib" / "MEWCODE.md", "a\0b")
    live.build()
    assert "instructions skipped (binary): lib/MEWCODE.md" in live.touch([places.root / "lib" / "x"])
