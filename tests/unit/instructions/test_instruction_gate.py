"""Nothing of the instructions is loaded until a file of them shows."""

from __future__ import annotations

import pytest

from mewcode.infra.paths import Places
from mewcode.instructions.gate import InstructionGate
from mewcode.instructions.load import Loader


@pytest.fixture
def places(tmp_path):
    root = tmp_path / "proj"
    (root / "lib" / "deep").mkdir(parents=True)
    return Places(root, root, tmp_path / "home" / ".mewcode", root / ".mewcode")


@pytest.fixture
def made():
    return []


@pytest.fixture
def gate(places, made):
    def make():
        made.append(1)
        return Loader(places, home=places.user.parent)

    return InstructionGate(places, make)


def test_without_instructions_nothing_is_loaded(places, gate, made):
    file = places.root / "lib" / "deep" / "x.py"
    file.write_text("")
    assert not gate.is_new([file])
    assert gate.build() == ""
    assert gate.change() == ""
    assert gate.stale() == ()
    assert gate.loaded is None
    assert not gate.is_new([file, places.root / "y.py", places.root.parent / "z"])
    gate.conversation_changed()
    assert made == []


def test_a_file_that_shows_later_is_a_change(places, gate):
    gate.build()
    (places.root / "MEWCODE.md").write_text("NEW")
    assert gate.may_have_changed()
    assert "New: Source: MEWCODE.md" in gate.change()
    assert gate.change() == ""
    assert "NEW" in gate.build()


def test_a_folder_below_opens_the_gate(places, gate):
    (places.root / "lib" / "MEWCODE.md").write_text("LIB")
    gate.build()
    file = places.root / "lib" / "deep" / "x.py"
    assert gate.is_new([file])
    assert "LIB" in gate.touch([file])
    assert not gate.is_new([file])


def test_with_instructions_it_is_open_from_the_start(places, gate, made):
    (places.root / "MEWCODE.md").write_text("RULES")
    assert "RULES" in gate.build()
    assert gate.loaded is not None
    assert gate.change() == ""
    assert made


def test_before_the_prompt_is_built_nothing_is_told(places, gate):
    (places.root / "MEWCODE.md").write_text("RULES")
    (places.root / "lib" / "MEWCODE.md").write_text("LIB")
    assert gate.change() == ""
    assert not gate.is_new([places.root / "lib" / "x.py"])
    assert [document.node.shown for document in gate.look().documents] == ["MEWCODE.md"]
    assert "RULES" in gate.build()
