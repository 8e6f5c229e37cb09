"""Names of notes and of their files."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.memory.files import is_note_file
from mewcode.memory.names import MOST_SLUG, file_key, file_name, identity, name_in_file, name_key, slug
from mewcode.memory.note import TYPES, type_of


def named(name: str, taken: set[str] = frozenset()) -> str:  # type: ignore[assignment]
    return file_name("user_preference", name, lambda key: key in taken)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Prefers pytest", "user_preference_prefers-pytest.md"),
        ("../x", "user_preference_x.md"),
        ("a/b\\c", "user_preference_a-b-c.md"),
        ("CON", "user_preference_con.md"),
        ("nul.txt", "user_preference_nul-txt.md"),
        ("Ärger & Größe", "user_preference_ärger-grösse.md"),
        ("部署日", "user_preference_部署日.md"),
        ("हिन्दी", "user_preference_हिन्दी.md"),
        ("Ｆｕｌｌ", "user_preference_ｆｕｌｌ.md"),
    ],
)
def test_file_names_can_be_read(name: str, file: str) -> None:
    assert named(name) == unicodedata.normalize("NFC", file)


@pytest.mark.parametrize("name", ["...", "🎉", "  ", "../..", "\u200d", "-", "👩‍👩‍👧"])
def test_where_nothing_is_left_a_hash_stands(name: str) -> None:
    file = named(name)
    assert len(file) == len("user_preference_") + 6 + 3
    assert file != named(name + "!")


@given(st.text(max_size=300))
def test_a_slug_is_letters_digits_and_dashes(name: str) -> None:
    found = slug(name)
    assert len(found.encode()) <= MOST_SLUG
    assert all(unicodedata.category(char)[0] in "LMN" or char == "-" for char in found)
    assert not found.startswith("-")
    assert not found.endswith("-")
    assert "--" not in found


@given(st.lists(st.text(max_size=300), max_size=12), st.sampled_from(TYPES))
def test_files_are_safe_and_none_is_another(names: list[str], kind: str) -> None:
    taken: set[str] = set()
    for name in names:
        file = file_name(kind, name, taken.__contains__)
        assert file_key(file) not in taken
        taken.add(file_key(file))
        assert is_note_file(file)
        assert Path(file).name == file
        assert len(file.encode()) <= 200
        assert type_of(name_in_file(file)[0]) == kind
        assert name_in_file(file)[1]


def test_however_often_a_name_is_taken_there_is_one_more() -> None:
    taken: set[str] = set()
    for _ in range(60):
        taken.add(file_key(named("x" * 300, taken)))
    assert len(taken) == 60


@given(st.text(max_size=60))
def test_what_is_the_same_has_one_key(name: str) -> None:
    key = name_key(name)
    for other in (
        unicodedata.normalize("NFD", name), unicodedata.normalize("NFC", name), name.casefold(), f"  {name} ",
    ):  # fmt: skip
        assert name_key(other) == key
    assert name_key(key) == key


def test_level_and_type_make_another_note() -> None:
    one = identity("user", "user_preference", "Straße")
    assert one == identity("user", "user_preference", "STRASSE")
    assert one != identity("project", "user_preference", "Straße")
    assert one != identity("user", "correction_feedback", "Straße")


@pytest.mark.parametrize(
    "file",
    ["../x.md", "/x.md", "a/b.md", "inbox/../x.md", ".x.md", "MEMORY.md", "x.txt", "x\n.md", "inbox/.md", ""],
)
def test_no_other_file_passes_for_a_note(file: str) -> None:
    assert not is_note_file(file)


def test_notes_of_each_room_are_notes() -> None:
    assert all(map(is_note_file, ("x.md", "inbox/x.md", "archive/部署.md")))
