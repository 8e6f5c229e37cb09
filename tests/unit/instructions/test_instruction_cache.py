"""What an earlier start has read is not read again, unless something is not as it was."""

from __future__ import annotations

import os
import stat
import threading
import time

import msgspec
import pytest

from mewcode.infra.paths import Places
from mewcode.instructions import expand
from mewcode.instructions.cache import InstructionCache
from mewcode.instructions.discover import candidates
from mewcode.instructions.gate import InstructionGate
from mewcode.instructions.instruction_file import Unreadable
from mewcode.instructions.load import Loader
from tests.support.file_times import await_new_time


class Approved:
    def __init__(self, found):
        self.found = found

    def digest(self, path):
        return self.found.get(path)


@pytest.fixture
def places(tmp_path):
    root = tmp_path / "proj"
    root.mkdir()
    names = ["a.md", "link.md", "none.md", "there/c.md", "far.md"]
    write(root / "MEWCODE.md", "\n".join(["RULES", *(f"@include {name}" for name in names)]))
    write(root / "a.md", "A 甲")
    write(root / "docs" / "b.md", "B")
    write(root / "docs" / "c.md", "C")
    write(root / "other" / "c.md", "OTHER")
    (root / "link.md").symlink_to("docs/b.md")
    (root / "there").symlink_to("docs")
    write(root / "far" / "d.md", "D")
    (root / "far.md").symlink_to("far/d.md")
    return Places(root, root, tmp_path / "home" / ".mewcode", root / ".mewcode")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "home" / ".cache" / "mewcode"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def cache_of(places, folder, **options):
    return InstructionCache(places, folder, home=places.user.parent, **options)


def keep(places, folder, *, seconds=60, cache=None, **options):
    """A reading that took place so many seconds after all was written; what it came to. What is written
    after it bears another time."""
    loader = Loader(places, home=places.user.parent, **options)
    told = loader.load().told()
    loader.traces[0].began += seconds * 10**9
    (cache or cache_of(places, folder)).keep(told, loader.traces[0])
    await_new_time(places.root.parent)
    return told


def find(places, folder, **options):
    kept = cache_of(places, folder, **options).find(list(candidates(places)))
    return kept.told if kept is not None else None


def gate_of(places, folder, make_loader=None):
    def fresh():
        return Loader(places, home=places.user.parent)

    return InstructionGate(places, make_loader or fresh, lambda: cache_of(places, folder))


def file_of(folder):
    [path] = (folder / "instructions").iterdir()
    return path


def no_loader():
    raise AssertionError("nothing is to be read")


def test_what_is_as_it_was_is_not_read_again(places, folder):
    told = keep(places, folder)
    gate = gate_of(places, folder, no_loader)
    assert gate.build() == told.text()
    assert "A 甲" in told.text()
    assert "@include skipped (not found): none.md" in told.text()
    assert gate.may_have_changed()
    assert gate.change() == ""
    assert gate.loaded is None


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "a.md").write_text("C 乙"),
        lambda root: os.utime(root / "a.md", (1, 1)),
        lambda root: (root / "a.md").chmod(0o600),
        lambda root: (root / "a.md").unlink(),
        lambda root: (root / "none.md").write_text("there"),
        lambda root: (root / "none.md").mkdir(),
        lambda root: write(root / ".mewcode" / "MEWCODE.md", "more"),
        lambda root: write(root / ".mewcode" / "rules" / "x.md", "a rule"),
        lambda root: ((root / "link.md").unlink(), (root / "link.md").symlink_to("a.md")),
        lambda root: ((root / "there").unlink(), (root / "there").symlink_to("other")),
        lambda root: ((root / "far").rename(root / "old"), (root / "far").symlink_to("old")),
        lambda root: (root / "docs" / "b.md").write_text("BB"),
    ],
)
def test_what_is_not_as_it_was_is_read_anew(places, folder, change):
    keep(places, folder)
    change(places.root)
    assert find(places, folder) is None
    assert gate_of(places, folder).build() == Loader(places, home=places.user.parent).load().text()


def test_what_was_written_just_now_is_not_kept(places, folder):
    keep(places, folder, seconds=0)
    assert not folder.exists()


@pytest.mark.parametrize(("seconds", "is_kept"), [(1, False), (3, True)])
def test_where_times_count_in_seconds_it_takes_two_of_them(places, folder, seconds, is_kept):
    now = time.time_ns() // 10**9
    os.utime(places.root / "a.md", (now, now))
    keep(places, folder, seconds=seconds)
    assert (find(places, folder) is not None) == is_kept


def test_another_user_folder_root_or_start_reads_anew(places, folder, tmp_path):
    keep(places, folder)
    assert find(places, folder) is not None
    assert find(places, folder, include_roots=[tmp_path / "more"]) is None
    assert find(msgspec.structs.replace(places, user=tmp_path / "other"), folder) is None
    write(places.root / "docs" / "x", "")
    assert find(msgspec.structs.replace(places, cwd=places.root / "docs"), folder) is None


def test_a_root_that_leads_elsewhere_by_now_reads_anew(places, folder, tmp_path):
    (tmp_path / "one").mkdir()
    more = tmp_path / "more"
    more.symlink_to(tmp_path / "one")
    keep(places, folder, cache=cache_of(places, folder, include_roots=[more]))
    assert find(places, folder, include_roots=[more]) is not None
    more.unlink()
    more.symlink_to(tmp_path)
    assert find(places, folder, include_roots=[more]) is None


def test_an_approval_that_was_withdrawn_reads_anew(places, folder):
    outside = write(places.root.parent / "x.md", "OUTSIDE")
    write(places.root / "MEWCODE.md", "@include ../x.md")
    approved = Approved({outside: expand.content_digest(expand.read_instruction_file(outside))})
    assert "OUTSIDE" in keep(places, folder, approvals=approved).text()
    assert find(places, folder, make_approvals=lambda: approved) is not None
    assert find(places, folder, make_approvals=lambda: Approved({})) is None
    assert find(places, folder) is None


def damaged(path):
    path.write_bytes(path.read_bytes()[:-9])


def foreign(path):
    path.write_bytes(b"\xff\x00{}")


def longer(path):
    os.truncate(path, 3_000_000)


def writable_by_all(path):
    path.chmod(0o622)


def a_link(path):
    path.rename(path.with_name("x"))
    path.symlink_to("x")


def a_fifo(path):
    path.unlink()
    os.mkfifo(path)


def of_another_version(path):
    key, *rest = msgspec.msgpack.decode(path.read_bytes())
    path.write_bytes(msgspec.msgpack.encode([["0.0.0", *key[1:]], *rest]))


def with_a_path_that_is_none(path):
    key, told, trace = msgspec.msgpack.decode(path.read_bytes())
    trace[3] = {"a\0b": [1]}
    path.write_bytes(msgspec.msgpack.encode([key, told, trace]))


@pytest.mark.parametrize(
    "spoil",
    [damaged, foreign, longer, writable_by_all, a_link, a_fifo, of_another_version, with_a_path_that_is_none],
)
def test_a_cache_that_is_not_ours_counts_as_none(places, folder, spoil):
    told = keep(places, folder)
    spoil(file_of(folder))
    assert find(places, folder) is None
    assert gate_of(places, folder).build() == told.text()


def test_a_cache_within_the_workspace_is_neither_read_nor_written(places, tmp_path):
    keep(places, places.root / "cache")
    assert not (places.root / "cache").exists()
    keep(places, tmp_path / "cache")
    (tmp_path / "cache").rename(places.root / "cache")
    (tmp_path / "cache").symlink_to(places.root / "cache")
    assert find(places, places.root / "cache") is None
    assert find(places, tmp_path / "cache") is None


def test_only_the_user_can_read_it(places, folder):
    keep(places, folder)
    assert stat.S_IMODE(file_of(folder).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_of_many_workspaces_the_oldest_give_way(places, folder):
    for number in range(60):
        path = write(folder / "instructions" / f"{number}.msgpack", "")
        os.utime(path, (number, number))
    left = write(folder / "instructions" / ".x.abcdefgh.tmp", "")
    os.utime(left, (1, 1))
    keep(places, folder)
    names = {path.name for path in (folder / "instructions").iterdir()}
    assert len(names) == 50
    assert {f"{number}.msgpack" for number in range(11, 60)} < names
    assert find(places, folder) is not None


def test_what_cannot_be_kept_is_logged(places, folder, caplog):
    write(folder, "a file")
    with caplog.at_level("INFO"):
        keep(places, folder)
    assert "not kept for the next start: File exists" in caplog.text


def test_names_that_are_no_text_are_not_kept(places, folder, caplog):
    (places.root / os.fsdecode(b"\xff.md")).write_text("odd")
    (places.root / ".mewcode" / "rules").mkdir(parents=True)
    (places.root / ".mewcode" / "rules" / os.fsdecode(b"\xff.md")).write_text("odd")
    with caplog.at_level("INFO"):
        keep(places, folder)
    assert "a name that is not UTF-8" in caplog.text
    assert find(places, folder) is None


def test_a_file_that_could_not_be_read_is_tried_again(places, folder, monkeypatch):
    def fail(path):
        raise Unreadable("too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(expand, "read_instruction_file", fail)
        assert "too many open files" in keep(places, folder).text()
    assert find(places, folder) is None


def many(places, text="@include ../x.md"):
    names = [f"r{number}.md" for number in range(25)]
    for name in names:
        write(places.root / name, name)
    write(places.root / "MEWCODE.md", "\n".join([*(f"@include {name}" for name in names), text]))


@pytest.mark.parametrize(
    ("files", "text", "is_kept"), [(many, "", True), (many, "@include ../x.md", False), (None, "", False)]
)
def test_a_start_keeps_what_is_much_and_waits_for_nobody(places, folder, monkeypatch, files, text, is_kept):
    if files is not None:
        files(places, text)
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 60 * 10**9)
    gate = gate_of(places, folder)
    gate.build()
    for thread in threading.enumerate():
        if thread.name == "keep-instructions":
            thread.join(10)
    assert (find(places, folder) is not None) == is_kept
    assert gate.loaded is not None


def test_what_changed_since_the_prompt_is_told_as_a_difference(places, folder):
    keep(places, folder)
    gate = gate_of(places, folder)
    gate.build()
    write(places.root / "a.md", "A 甲\nand more")
    assert gate.stale() == ("MEWCODE.md",)
    told = gate.change()
    assert "+and more" in told
    assert "-A 甲" not in told
    assert gate.change() == ""
    assert "and more" in gate.build()
    assert gate.stale() == ()


def test_all_that_is_gone_is_told(places, folder):
    keep(places, folder)
    gate = gate_of(places, folder)
    gate.build()
    (places.root / "MEWCODE.md").unlink()
    assert "MEWCODE.md is gone" in gate.change()


def test_folders_and_rules_that_tools_come_upon_are_told(places, folder):
    write(places.root / "docs" / "MEWCODE.md", "DOCS")
    write(places.project / "rules" / "py.md", '---\npaths: ["*.py"]\n---\nPYTHON')
    keep(places, folder)
    gate = gate_of(places, folder)
    assert "PYTHON" not in gate.build()
    assert not gate.is_new([])
    assert gate.is_new([places.root / "x.py"])
    assert "PYTHON" in gate.touch([places.root / "x.py"])
    assert not gate.is_new([places.root / "x.py"])
    assert "DOCS" in gate.touch([places.root / "docs" / "y"])
    assert gate.stale() == ()
    assert gate.change() == ""
    write(places.project / "rules" / "py.md", '---\npaths: ["*.py"]\n---\nPYTHON 3')
    assert gate.stale() == (".mewcode/rules/py.md",)
    assert "+PYTHON 3" in gate.change()


def test_a_prompt_made_anew_is_read_anew_where_something_changed(places, folder):
    keep(places, folder)
    gate = gate_of(places, folder)
    gate.build()
    write(places.root / "a.md", "ANOTHER")
    assert "ANOTHER" in gate.build()
    assert gate.change() == ""
