"""A note's text: read whatever a person wrote, changed without losing any of it."""

from __future__ import annotations

import sys

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mewcode.core.errors import NoteError
from mewcode.memory import frontmatter
from mewcode.memory.frontmatter_yaml import read_yaml
from mewcode.memory.note import (
    KEYS,
    TYPES,
    Note,
    changed_text,
    clean_body,
    note_text,
    parse_note,
    type_of,
)
from mewcode.memory.rules import prepared

FILE = "project_knowledge_x.md"


def parsed(text: str) -> Note:
    return parse_note(text, file=FILE, level="project")[0]


WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
TRICKY = st.sampled_from([
    "true", "~", "null", "1.0", "2026-01-01", "a: b", "a #b", "- x", "[x]", "{x}", "'", '"', "x:", "*a", "&a",
    "!t", "|", ">", "%x", "@x", "`x", "a, b", "\u2028", "\x85", "\ufeff", "é", "部署", "a\tb", "\\n", "=",
    "<<",
])  # fmt: skip
TEXTS = st.one_of(WORDS, TRICKY)
NOTES = st.builds(
    Note,
    name=TEXTS,
    type=st.sampled_from(TYPES),
    level=st.just("project"),
    description=st.one_of(st.just(""), TEXTS),
    body=st.text(st.characters(codec="utf-8"), max_size=80),
    tags=st.lists(TEXTS, max_size=3).map(tuple),
    aliases=st.lists(TEXTS, max_size=3).map(tuple),
    valid_to=st.sampled_from(["", "2026-05-01"]),
    confidence=st.sampled_from([None, 0.0, 0.25, 1.0]),
    origin=st.sampled_from(["user", "agent", "tool", "web"]),
    source=st.lists(st.just("20260101-100000-aaaa/m1"), max_size=1).map(tuple),
    pinned=st.booleans(),
).map(lambda note: prepared(note, 1.0))


@given(NOTES)
def test_what_is_written_is_read(note: Note) -> None:
    assume(note.name)
    assert parsed(note_text(note)) == note
    assert frontmatter.split(note_text(note)).text == note_text(note)


@given(NOTES, NOTES)
def test_a_changed_note_reads_as_changed(one: Note, other: Note) -> None:
    assume(one.name and other.name)
    text = changed_text(note_text(one), one, other)
    assert parsed(text) == other
    assert changed_text(text, other, other) == text


HEAD_LINE = st.one_of(
    st.sampled_from([
        "name: x", "name: 'it''s'", 'name: "q\\n"', "tags: [a, b]", "tags:", "- a", "  - b", "- - a",
        "# a comment", "", "pinned: true # why", "my_key: {a: 1}", "owner: &x me", "other: *x", "text: |",
        "  more", "name: a: b", "created: 2026-01-01", "'quoted key': 1", '"type": user', "name:x", "? y",
        "\t", "tags: [a, 'b, c',]", "aliases: [[x]]", "description: >-", "  folded", "confidence: 0.5",
        "名字: 值", "...", "%YAML 1.2", "origin: ",
    ]),
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=20),
)  # fmt: skip


@settings(max_examples=400)
@given(st.lists(HEAD_LINE, max_size=8))
def test_the_plain_reader_agrees_with_yaml(lines: list[str]) -> None:
    simple = frontmatter.read_simple(lines)
    if simple is not None:
        assert read_yaml("\n".join(lines)) == simple


@settings(max_examples=400)
@given(st.lists(HEAD_LINE, max_size=8), st.text(max_size=30), NOTES, st.sampled_from(["\n", "\r\n"]))
def test_odd_heads_survive_a_rewrite(lines: list[str], body: str, new: Note, newline: str) -> None:
    assume(new.name)
    assume(not any(line.rstrip() in ("---", "...") for line in lines))
    text = newline.join(["---", *lines, "---", "", ""]) + body
    old, problem = parse_note(text, file=FILE, level="project")
    document = frontmatter.split(text)
    assert document.text == text
    wanted = msgspec.structs.replace(old, pinned=not old.pinned, description=new.description)
    try:
        changed = changed_text(text, old, wanted)
    except NoteError:
        assert problem or document.head
        return
    again, _ = parse_note(changed, file=FILE, level="project")
    assert again == wanted
    assert frontmatter.split(changed).body == document.body
    before = frontmatter.read(document.head or [])[0]
    after = frontmatter.read(frontmatter.split(changed).head or [])[0]
    if not problem:
        unknown = {key: value for key, value in before.items() if key not in KEYS}
        assert {key: value for key, value in after.items() if key not in KEYS} == unknown


@given(st.text(max_size=200))
def test_any_text_is_a_note(text: str) -> None:
    note, _ = parse_note(text, file="feedback_你好.md", level="user")
    assert note.name
    assert note.level == "user"
    assert frontmatter.split(text).text == text


HAND = """\
---
# mine
name: 'Deploy day'
owner: Li Lei      # who to ask
tags:
  - ops            # first
  - "q1"

links: {wiki: https://x.y/z, other: [1, 2]}
pinned: no         # for now
type: project
---

# Title

    indented

Trailing.
"""


def test_a_rewrite_keeps_what_a_person_wrote() -> None:
    old = parsed(HAND)
    assert (old.name, old.tags, old.type, old.pinned) == (
        "Deploy day", ("ops", "q1"), "project_knowledge", False,
    )  # fmt: skip
    new = msgspec.structs.replace(old, pinned=True, aliases=("发布", "release day"), updated="2026-05-01")
    assert changed_text(HAND, old, new) == HAND.replace(
        "no         # for now", "true         # for now"
    ).replace("type: project\n", "type: project\naliases: [发布, release day]\nupdated: 2026-05-01\n")


def test_line_ends_and_mark_stay() -> None:
    text = "\ufeff" + HAND.replace("\n", "\r\n")
    old = parsed(text)
    assert old == parsed(HAND)
    changed = changed_text(text, old, msgspec.structs.replace(old, description="new", body="one\ntwo"))
    assert changed.startswith("\ufeff---\r\n# mine\r\n")
    assert "description: new\r\n" in changed
    assert changed.endswith("\r\n\r\none\r\ntwo\r\n")
    assert changed.count("\n") == changed.count("\r\n")


def test_a_file_without_a_head_gets_one_and_keeps_its_text() -> None:
    old, problem = parse_note("Just *text*.\n", file="correction_feedback_no-mocks.md", level="user")
    assert (old.name, old.type, old.body, problem) == ("no mocks", "correction_feedback", "Just *text*.", "")
    changed = changed_text("Just *text*.\n", old, msgspec.structs.replace(old, pinned=True))
    assert changed.endswith("\n---\n\nJust *text*.\n")
    assert parse_note(changed, file="x.md", level="user")[0] == msgspec.structs.replace(old, pinned=True)


@pytest.mark.parametrize(
    ("head", "name", "problem"),
    [
        ("name: a: b", "a: b", "line 2"),
        ("name: 'open", "'open", "line 2"),
        ("name: [a", "a", "line"),
        ("\tname: x", "x", "line 2"),
        ("name: &a x\ndescription: *a", "&a x", "aliases"),
        ("- x", "x", "no list of keys"),
        ("name: \x00", "x", "characters"),
        ("name: ok\n" + "[" * 3000, "ok", ""),
    ],
)
def test_a_head_that_is_no_yaml_loses_nothing(head: str, name: str, problem: str) -> None:
    text = f"---\n{head}\n---\nBody.\n"
    note, said = parse_note(text, file=FILE, level="project")
    assert said
    assert problem in said
    assert (note.name, note.body) == (name, "Body.")


def test_what_cannot_be_changed_safely_is_refused() -> None:
    text = "---\nname: x\n  continued: [\n---\nBody.\n"
    old, problem = parse_note(text, file=FILE, level="project")
    assert problem
    changed = changed_text(text, old, msgspec.structs.replace(old, pinned=True))
    assert "  continued: [\n" in changed
    flow = "---\n{name: x, mine: 1}\n---\nBody.\n"
    old = parsed(flow)
    changed = changed_text(flow, old, msgspec.structs.replace(old, pinned=True))
    assert frontmatter.read(frontmatter.split(changed).head or [])[0] == {
        "name": "x", "mine": "1", "pinned": "true",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("user", "user_preference"), ("Feedback", "correction_feedback"), ("x", None), ("", None),
        ("project-knowledge", "project_knowledge"), ("reference", "reference_material"),
        ("reference_material", "reference_material"),
    ],
)  # fmt: skip
def test_types_have_short_names(word: str, kind: str | None) -> None:
    assert type_of(word) == kind


def test_yaml_is_not_loaded_for_what_we_wrote() -> None:
    import subprocess

    code = (
        "import sys\nfrom mewcode.memory.note import *\n"
        "n = Note(name='a: b', type='project_knowledge', level='user', tags=('x, y',), body='z')\n"
        "assert parse_note(note_text(n), file='x.md', level='user')[0] == n\n"
        "sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


@given(st.text(max_size=60))
def test_a_clean_body_is_clean(text: str) -> None:
    once = clean_body(text)
    assert clean_body(once) == once
    assert "\r" not in once
    assert "\0" not in once
