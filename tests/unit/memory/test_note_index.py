"""The index: exact lines, a stable order, limits in bytes and lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.memory.changes import Update
from mewcode.memory.entry import MOST_CORE, MOST_DESCRIPTION, MOST_FIRST_LINE, Entry, Use, cut_bytes, entry_of
from mewcode.memory.index import (
    CORE_TITLE,
    MOST_BYTES,
    MOST_LINES,
    core_rules,
    core_text,
    cut_words,
    index_line,
    index_text,
    prompt_text,
)
from mewcode.memory.note import TYPES
from tests.support.notes import add, index, note, one, ref, store


def entry(number: int, **more: Any) -> Entry:
    made = note(more.pop("name", f"n{number:04}"), more.pop("body", "text"), **more)
    return entry_of(made, f"{made.type}_{number}.md", (0, 0, 0), "")


def no_uses(_: Entry) -> Use:
    return Use()


def test_a_line_is_as_agreed() -> None:
    made = entry(1, name="Deploy 日", description="每周五 deploy")
    assert index_line(made) == "- [project_knowledge] [Deploy 日](project_knowledge_1.md) — 每周五 deploy"


def test_pinned_then_type_then_name() -> None:
    entries = [
        entry(1, kind="reference_material"), entry(2, name="b"), entry(3, name="A"), entry(4, pinned=True),
        entry(5, kind="user_preference"), entry(6, kind="correction_feedback"),
    ]  # fmt: skip
    text = index_text(entries, no_uses)
    assert [line.split("_")[-1][0] for line in text.splitlines() if line.startswith("- [")] == list("456321")
    assert index_text(entries[::-1], no_uses) == text


def test_a_description_is_cut_and_the_body_stands_in() -> None:
    assert len(entry(1, description="é" * 300).line.encode()) <= MOST_DESCRIPTION
    assert entry(1, description="é" * 100).line == "é" * 100
    assert entry(1, body="\n\n# 标题 title\n\nmore").line == "标题 title"
    assert entry(1, body="---\n> - an item *of* a list").line == "an item *of* a list"
    assert entry(1, body="**Why**: it breaks.").line == "**Why**: it breaks."
    assert entry(1, body="-Werror is on").line == "-Werror is on"
    assert len(entry(1, body="标" * 50).line.encode()) <= MOST_FIRST_LINE
    assert entry(1, description="one\ntwo").line in ("one two", "one\ntwo")


@given(st.text(max_size=100), st.integers(10, 60))
def test_a_cut_is_within_its_bytes_and_between_characters(text: str, limit: int) -> None:
    cut = cut_bytes(text, limit)
    assert len(cut.encode("utf-8", "replace")) <= limit
    assert cut == text or text.startswith(cut[:-1])


ENTRIES = st.lists(
    st.builds(
        lambda number, kind, size, lines, pinned, level, updated: entry(
            number, name=f"{number} 名" * size, kind=kind, body="行 line\n" * lines, pinned=pinned,
            level=level, description="d" * size * 9, updated=f"2026-01-{updated:02}",
        ),
        st.integers(0, 10**6), st.sampled_from(TYPES), st.integers(1, 20), st.integers(0, 400),
        st.booleans(), st.sampled_from(["user", "project"]), st.integers(1, 28),
    ),
    max_size=300,
    unique_by=lambda made: (made.level, made.file),
)  # fmt: skip


@settings(max_examples=40)
@given(ENTRIES, st.integers(0, 5))
def test_a_prompt_stays_within_its_limits(entries: list[Entry], spread: int) -> None:
    def uses(made: Entry) -> Use:
        return Use(len(made.name) % (spread + 1), 1.0)

    text = prompt_text(entries, uses)
    assert (text == "") == (not entries)
    assert len(text.encode()) <= MOST_BYTES
    lines = text.split("\n")
    assert len(lines) <= MOST_LINES
    listed = {line for line in lines if line.startswith("- [")}
    left_out = [made for made in entries if index_line(made) not in listed]
    kept = [made for made in entries if index_line(made) in listed]
    assert (cut_words(len(left_out)) in lines) == bool(left_out)

    def rank(made: Entry) -> tuple[bool, int]:
        return made.pinned, uses(made).count

    assert not left_out or not kept or max(map(rank, left_out)) <= min(map(rank, kept))
    if kept and len({made.level for made in kept}) == 2:
        assert text.index("## Notes of this project") < text.index("## Notes of the user")


@settings(max_examples=40)
@given(ENTRIES)
def test_core_rules_stay_within_their_bytes(entries: list[Entry]) -> None:
    core = core_rules(entries, no_uses)
    assert all(made.pinned or made.type == "correction_feedback" for made in core)
    assert sum(len(core_text(made).encode()) + 2 for made in core) <= MOST_CORE


def test_the_most_used_rules_stand_whole() -> None:
    rules = [entry(number, kind="correction_feedback", body=f"rule {number} " * 300) for number in range(9)]
    found = core_rules(rules, lambda made: Use(int(made.file[-4]), 1.0))
    assert [made.file[-4] for made in found] == ["8", "7", "6"]


def test_300_notes_are_199_lines_and_a_word() -> None:
    entries = [entry(number) for number in range(300)]
    lines = prompt_text(entries, no_uses).split("\n")
    assert len(lines) == MOST_LINES
    assert lines[-1] == "(index truncated: 102 more; search_notes finds them)"


def test_what_is_over_is_not_listed(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(
        notes, note("live", pinned=True), note("over", valid_to="2020-01-01"),
        note("next", valid_from="2999-01-01"), note("closed", superseded_by="x.md"),
        note("web", origin="web"),
    )  # fmt: skip
    text = notes.prompt_text()
    assert "[live]" in text
    assert "[next]" in text
    assert not any(f"[{name}]" in text for name in ("over", "closed", "web"))
    assert text.endswith(f"{CORE_TITLE}\n### live\nAbout live.")


def test_project_first_then_user(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("mine", level="user", kind="user_preference"), note("ours"))
    assert [line for line in notes.prompt_text().splitlines() if line] == [
        "## Notes of this project", "- [project_knowledge] [ours](project_knowledge_ours.md) — About ours.",
        "## Notes of the user", "- [user_preference] [mine](user_preference_mine.md) — About mine.",
    ]  # fmt: skip


def test_what_was_used_stays_in_sight(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, *(note(f"n{number}") for number in range(250)))
    rare = one(notes, "n7")
    last = next(made for made in notes.entries() if f"[{made.name}]" not in notes.prompt_text())
    notes.used([last], "recall")
    assert f"[{last.name}]" in notes.prompt_text()
    notes.apply([Update(ref(rare), {"pinned": True})], by="user")
    assert "### n7" in notes.prompt_text()


def test_names_cannot_break_the_lines(tmp_path: Path) -> None:
    notes = store(tmp_path)
    add(notes, note("a\nb\x1b[31m", description="x\n- [y](z)"))
    assert index(tmp_path) == ["- [project_knowledge] [a b](project_knowledge_a-b.md) — x - [y](z)"]
