"""What changes while a session runs, and what tools come upon."""

from __future__ import annotations

import os
import shutil
import time

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


def test_a_folder_that_leads_outside_by_now_is_outside(places, live):
    write(places.root / "MEWCODE.md", f"@include {places.root}/sub/a.md")
    write(places.root / "sub" / "a.md", "A")
    write(places.root.parent / "else" / "b.md", "CANARY")
    live.build()
    shutil.rmtree(places.root / "sub")
    (places.root / "sub").symlink_to(places.root.parent / "else")
    write(places.root / "lib" / "MEWCODE.md", f"LIB\n@include {places.root}/sub/b.md")
    told = live.touch([places.root / "lib" / "x"])
    assert "LIB" in told
    assert "skipped (outside" in told
    assert "CANARY" not in told


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


def test_a_second_change_within_the_clocks_step_is_seen(places, live):
    path = write(places.root / "MEWCODE.md", "one")
    live.build()
    before = path.stat()
    path.write_text("two")  # as long, in the same place
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "+two" in live.change()


@pytest.fixture
def settled(monkeypatch):
    """All files were written a minute before they are read: only their times are looked at."""
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 60 * 10**9)


@pytest.mark.usefixtures("settled")
def test_what_shows_beside_files_of_old_is_seen(places, live):
    write(places.root / "MEWCODE.md", "one\n@include a.md\n@include link.md")
    write(places.root / "b.md", "B")
    (places.root / "link.md").symlink_to("b.md")
    file = write(places.root / "lib" / "x.py", "")
    write(places.root / "lib" / "MEWCODE.md", "LIB")
    live.build()
    assert "LIB" in live.touch([file])
    assert live.change() == ""
    write(places.root / ".mewcode" / "MEWCODE.md", "SECOND")
    assert "SECOND" in live.change()
    assert live.change() == ""
    write(places.root / "lib" / ".mewcode" / "MEWCODE.md", "THIRD")
    assert "THIRD" in live.change()
    write(places.root / "a.md", "FOURTH")
    assert "+FOURTH" in live.change()
    write(places.root / "c.md", "FIFTH")
    (places.root / "link.md").unlink()
    (places.root / "link.md").symlink_to("c.md")
    assert "+FIFTH" in live.change()
    assert live.change() == ""


@pytest.mark.usefixtures("settled")
def test_files_of_old_are_not_read_again(places):
    made = []

    def make():
        made.append(Loader(places, home=places.user.parent))
        return made[-1]

    write(places.root / "MEWCODE.md", "one")
    live = LiveInstructions(make)
    live.build()
    assert live.change() == ""
    assert [len(loader.traces) for loader in made] == [1, 0]


def test_what_tools_came_upon_is_watched_too(places, live):
    lib = write(places.root / "lib" / "MEWCODE.md", "LIB")
    live.build()
    assert "LIB" in live.touch([places.root / "lib" / "x"])
    assert live.change() == ""
    write(lib, "LIB\nand more")
    told = live.change()
    assert "lib/MEWCODE.md" in told
    assert "+and more" in told
    assert live.change() == ""
    lib.unlink()
    assert "lib/MEWCODE.md is gone" in live.change()
    write(places.root / "lib" / ".mewcode" / "MEWCODE.md", "LATE")
    assert "New: Source: lib/.mewcode/MEWCODE.md" in live.change()
    assert live.touch([places.root / "lib" / "y"]) == ""


def test_rules_that_are_written_or_rewritten_later_hold(places, live):
    rule = write(places.project / "rules" / "py.md", '---\npaths: ["*.py"]\n---\nOLD')
    live.build()
    write(rule, '---\npaths: ["*.py"]\n---\nREWRITTEN')
    assert live.change() == ""
    assert "REWRITTEN" in live.touch([places.root / "a.py"])
    write(places.project / "rules" / "c.md", '---\npaths: ["*.c"]\n---\nLATER')
    assert live.change() == ""
    assert "LATER" in live.touch([places.root / "a.c"])
    write(places.project / "rules" / "more.md", '---\npaths: ["*.py"]\n---\nFOR WHAT WAS TOUCHED')
    assert "FOR WHAT WAS TOUCHED" in live.change()


def test_what_the_conversation_holds_is_not_told_again_unless_it_changed(places, live):
    lib = write(places.root / "lib" / "MEWCODE.md", "LIB")
    live.build()
    told = live.touch([places.root / "lib" / "x"])
    live.conversation_changed()
    assert live.touch([places.root / "lib" / "x"], [f"<system-reminder>\n{told}\n</system-reminder>"]) == ""
    write(lib, "LIB 2")
    live.conversation_changed()
    assert "LIB 2" in live.touch([places.root / "lib" / "x"], [told])


def test_a_prompt_made_anew_takes_no_news_away(places, live):
    lib = write(places.root / "lib" / "MEWCODE.md", "LIB")
    path = write(places.root / "MEWCODE.md", "one")
    live.build()
    live.touch([places.root / "lib" / "x"])
    write(lib, "LIB 2")
    write(path, "another")
    assert "another" in live.build()
    told = live.change()
    assert "+LIB 2" in told
    assert "another" not in told
    assert live.touch([places.root / "lib" / "y"]) == ""
    assert live.change() == ""


def test_a_conversation_that_went_back_is_told_again(places, live):
    path = write(places.root / "MEWCODE.md", "one")
    live.build()
    write(path, "another")
    assert "+another" in live.change()
    live.conversation_changed()
    assert "+another" in live.change()
    assert live.change() == ""


def test_what_is_stale_is_named_whether_it_was_told_or_not(places, live):
    path = write(places.root / "MEWCODE.md", "one")
    lib = write(places.root / "lib" / "MEWCODE.md", "LIB")
    assert live.stale() == ()
    live.build()
    live.touch([places.root / "lib" / "x"])
    assert live.stale() == ()
    write(path, "another")
    assert "+another" in live.change()
    write(lib, "LIB 2")
    write(places.project / "rules" / "c.md", '---\npaths: ["*.c"]\n---\nLATER')
    assert sorted(live.stale()) == [".mewcode/rules/c.md", "MEWCODE.md", "lib/MEWCODE.md"]
    assert "another" in live.build()
    assert "+LIB 2" in live.change()
    assert live.stale() == ()
    path.write_bytes(b"a\0b")
    lib.write_bytes(b"a\0b")
    assert live.stale() == ("MEWCODE.md", "lib/MEWCODE.md")


def test_looking_changes_nothing(places, live):
    path = write(places.root / "MEWCODE.md", "one")
    write(places.root / "lib" / "MEWCODE.md", "LIB")
    live.build()
    live.touch([places.root / "lib" / "x"])
    write(path, "another")
    found = live.look()
    assert [document.text for document in found.documents] == ["another", "LIB"]
    assert "+another" in live.change()


def test_includes_from_outside_are_listed(places, live):
    write(places.root / "MEWCODE.md", "@include a.md\n@include ../out.md")
    write(places.root / "a.md", "@include /etc/hostname\n@include none.md")
    found = [(node.shown, include.written) for node, include in live.loaded.outside()]
    assert sorted(found) == [("MEWCODE.md", "../out.md"), ("a.md", "/etc/hostname")]
