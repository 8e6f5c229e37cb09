"""Instructions found, expanded and cut, and what is said of each include."""

from __future__ import annotations

import os

import pytest

from mewcode.infra.paths import Places
from mewcode.instructions.limits import FILE_BYTES, TOTAL_BYTES
from mewcode.instructions.load import Loader
from mewcode.instructions.tree import Node


@pytest.fixture
def places(tmp_path):
    root = tmp_path / "srv" / "proj"
    home = tmp_path / "home"
    root.mkdir(parents=True)
    (home / ".mewcode").mkdir(parents=True)
    return Places(root, root, home / ".mewcode", root / ".mewcode")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(places, **options):
    return Loader(places, home=places.user.parent, **options).load()


def all_includes(node: Node):
    for include in node.includes():
        yield include
        if include.node is not None:
            yield from all_includes(include.node)


def outcomes(instructions):
    return [
        (include.written, include.outcome, include.reason)
        for document in instructions.documents
        for include in all_includes(document.node)
    ]


def test_no_instructions_give_no_module(places):
    assert load(places).text() == ""


def test_the_order_is_nearest_first_and_the_users_last(places):
    cwd = places.root / "a" / "b"
    cwd.mkdir(parents=True)
    for number, path in enumerate(
        [
            cwd / "MEWCODE.md",
            cwd / ".mewcode" / "MEWCODE.md",
            places.root / "a" / "MEWCODE.md",
            places.root / "MEWCODE.md",
            places.root / ".mewcode" / "MEWCODE.md",
            places.root / ".mewcode" / "MEWCODE.local.md",
            places.user / "MEWCODE.md",
        ]
    ):
        write(path, f"text {number}")
    text = load(Places(cwd, places.root, places.user, places.project)).text()
    found = [text.index(f"text {number}") for number in range(7)]
    assert found == sorted(found)
    assert "Source: a/b/MEWCODE.md (instructions of the project)\n\ntext 0\n\nSource: " in text
    assert "Source: .mewcode/MEWCODE.local.md (the user's own instructions for this project)" in text
    assert "Source: ~/.mewcode/MEWCODE.md (the user's own instructions for all projects)" in text
    assert "the earlier, more specific one holds" in text


def test_names_of_others_are_read_where_none_of_ours_stands(places):
    write(places.root / "AGENTS.md", "agents")
    write(places.root / "CLAUDE.md", "claude")
    assert [document.node.shown for document in load(places).documents] == ["AGENTS.md"]
    (places.root / "AGENTS.md").unlink()
    assert [document.node.shown for document in load(places).documents] == ["CLAUDE.md"]
    write(places.root / ".mewcode" / "MEWCODE.md", "ours")
    assert [document.node.shown for document in load(places).documents] == [".mewcode/MEWCODE.md"]


def test_a_folder_whose_name_begins_alike_is_outside(places):
    write(places.root.parent / "proj-evil" / "x.md", "CANARY")
    write(places.root / "MEWCODE.md", "@include ../proj-evil/x.md\nrest")
    instructions = load(places)
    assert "CANARY" not in instructions.text()
    reason = "outside the folder that may be included from"
    assert f"<!-- @include skipped ({reason}): ../proj-evil/x.md -->\nrest" in instructions.text()
    (include,) = instructions.documents[0].node.includes()
    assert include.outside == places.root.parent / "proj-evil" / "x.md"


def test_a_link_that_points_outside_is_outside(places):
    write(places.root.parent / "secret.md", "CANARY")
    (places.root / "in.md").symlink_to(places.root.parent / "secret.md")
    (places.root / "folder").symlink_to(places.root.parent)
    write(places.root / "MEWCODE.md", "@include in.md\n@include folder/secret.md")
    instructions = load(places)
    assert "CANARY" not in instructions.text()
    assert [outcome for _, outcome, _ in outcomes(instructions)] == ["skipped", "skipped"]


def test_a_top_level_link_to_outside_is_named(places):
    (places.root / "MEWCODE.md").symlink_to(write(places.root.parent / "secret.md", "CANARY"))
    instructions = load(places)
    assert "CANARY" not in instructions.text()
    assert instructions.skipped[0].reason.startswith("outside the folder")
    assert "<!-- instructions skipped (outside the folder" in instructions.text()


def test_a_diamond_brings_its_end_once_and_is_no_cycle(places):
    write(places.root / "MEWCODE.md", "@include b.md\n@include c.md")
    write(places.root / "b.md", "B\n@include d.md")
    write(places.root / "c.md", "C\n@include d.md")
    write(places.root / "d.md", "D-TEXT")
    instructions = load(places)
    assert instructions.text().count("D-TEXT") == 1
    assert outcomes(instructions)[-1] == ("d.md", "duplicate", "already included above, in b.md")
    assert "<!-- @include: already included above, in b.md: d.md -->" in instructions.text()


def test_a_cycle_is_named_with_its_chain(places):
    write(places.root / "MEWCODE.md", "@include a.md")
    write(places.root / "a.md", "@include b.md")
    write(places.root / "b.md", "@include a.md")
    assert outcomes(load(places))[-1] == ("a.md", "skipped", "a cycle: a.md → b.md → a.md")


def test_a_file_that_includes_itself(places):
    write(places.root / "MEWCODE.md", "@include MEWCODE.md\nx")
    assert outcomes(load(places)) == [("MEWCODE.md", "skipped", "a cycle: MEWCODE.md → MEWCODE.md")]


def test_includes_of_a_parent_folder_resolve_against_it(places):
    write(places.root / "MEWCODE.md", "@include docs/a.md")
    write(places.root / "docs" / "a.md", "@include b.md")
    write(places.root / "docs" / "b.md", "B-TEXT")
    cwd = places.root / "sub"
    cwd.mkdir()
    assert "B-TEXT" in load(Places(cwd, places.root, places.user, places.project)).text()


def test_depth_ends_at_five(places):
    write(places.root / "MEWCODE.md", "@include 1.md")
    for number in range(1, 8):
        write(places.root / f"{number}.md", f"level {number}\n@include {number + 1}.md")
    instructions = load(places)
    assert "level 5" in instructions.text()
    assert "level 6" not in instructions.text()
    assert outcomes(instructions)[-1] == ("6.md", "skipped", "nested deeper than 5")


@pytest.mark.parametrize("name", ["MEWCODE.md", "inner.md"])
def test_what_is_no_text_is_named_at_any_level(places, name):
    if name != "MEWCODE.md":
        write(places.root / "MEWCODE.md", f"@include {name}")
    write(places.root / name, b"text\0more")
    instructions = load(places)
    reasons = [skipped.reason for skipped in instructions.skipped]
    assert reasons + [reason for _, _, reason in outcomes(instructions)] == ["binary"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbf@include a.md\r\nB\r\n", "A-TEXT\nB"),
        ("规则 one".encode("utf-16"), "规则 one"),
        ("规则".encode("utf-16-be").join([b"\xfe\xff", b""]), "规则"),
        ("中文说明，请遵守。项目里的所有代码都要写测试。".encode("gb18030"), None),
        (b"caf\xe9 au lait, d\xe9j\xe0 vu, na\xefve r\xe9sum\xe9", None),
    ],
)
def test_encodings(places, data, text):
    write(places.root / "a.md", "A-TEXT")
    write(places.root / "MEWCODE.md", data)
    (document,) = load(places).documents
    if text is None:
        assert document.text
        assert document.node.warnings[0].startswith("not valid UTF-8")
    else:
        assert document.text.strip() == text
        assert document.node.warnings == []


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "missing", "unreadable", "nul"])
def test_what_is_no_regular_file_ends_in_a_reason(places, kind):
    target = places.root / "x.md"
    if kind == "fifo":
        os.mkfifo(target)
    elif kind == "device":
        target.symlink_to("/dev/zero")
    elif kind == "folder":
        target.mkdir()
    elif kind == "unreadable":
        write(target, "x").chmod(0)
    written = "x\0.md" if kind == "nul" else "x.md"
    write(places.root / "MEWCODE.md", f"{' ' * 600}\n@include {written}\nrest")
    instructions = load(places)
    ((_, outcome, reason),) = outcomes(instructions)
    if kind == "unreadable" and os.geteuid() == 0:
        assert outcome == "loaded"
        return
    assert outcome == "skipped"
    assert (
        reason
        == {
            "fifo": "not a regular file",
            "device": "outside the folder that may be included from",
            "folder": "a folder",
            "missing": "not found",
            "unreadable": "not readable",
            "nul": "not a file name",
        }[kind]
    )
    assert instructions.text().endswith("rest")


def test_a_long_file_is_cut_at_a_line_and_marked(places):
    with write(places.root / "MEWCODE.md", "").open("wb") as stream:
        stream.write(b"line of text\n" * 10_000)
        stream.truncate(50 << 20)
    (document,) = load(places).documents
    assert len(document.text.encode()) < FILE_BYTES + 200
    assert document.text.endswith("<!-- cut here (the file is longer than 40,000 bytes): MEWCODE.md -->")
    assert document.text.split("\n")[-2] == "line of text"


def test_the_most_specific_is_the_last_to_be_cut(places):
    cwd = places.root / "sub"
    for path in (cwd / "MEWCODE.md", places.root / "MEWCODE.md", places.user / "MEWCODE.md"):
        write(path, "@include a.md\n@include b.md")
        write(path.parent / "a.md", "ten bytes\n" * 3_500)
        write(path.parent / "b.md", "ten bytes\n" * 3_500)
    instructions = load(Places(cwd, places.root, places.user, places.project))
    assert [bool(document.cut) for document in instructions.documents] == [False, True, True]
    total = sum(len(document.text.encode()) for document in instructions.documents)
    assert total < TOTAL_BYTES + 500
    assert "cut here (all instructions together are longer than 120,000 bytes)" in instructions.text()


def test_ten_thousand_includes_end(places):
    write(places.root / "a.md", "".join(f"@x{number}.md\n" for number in range(3_000)))
    write(places.root / "b.md", "".join(f"@y{number}.md\n" for number in range(3_000)))
    write(places.root / "MEWCODE.md", "@a.md\n@b.md\n" + "@include z.md\n" * 2_000)
    found = outcomes(load(places))
    assert len(found) == 5_002
    assert sum(reason == "more than 1,000 includes" for _, _, reason in found) == 4_002


def test_words_of_a_path_cannot_end_the_comment(places):
    write(places.root / "MEWCODE.md", '@include "a --> b.md"')
    text = load(places).text()
    assert text.count("-->") == 1
    assert text.endswith("-->")


def test_rules_without_paths_hold_from_the_start_others_wait(places):
    rules = places.project / "rules"
    write(rules / "a.md", "---\ntitle: x\n---\nALWAYS")
    write(rules / "b.md", '---\npaths: ["src/**/*.py"]\n---\nPYTHON')
    write(rules / "c.md", "---\npaths: [\n---\nBROKEN HEAD")
    instructions = load(places)
    assert "ALWAYS" in instructions.text()
    assert "title: x" not in instructions.text()
    assert "PYTHON" not in instructions.text()
    assert "BROKEN HEAD" in instructions.text()
    assert instructions.documents[-1].node.warnings == ["its head is not valid YAML"]
    (waiting,) = instructions.waiting
    assert waiting.rule.holds_for("src/a/b.py")
    assert waiting.rule.holds_for("src/b.py")
    assert not waiting.rule.holds_for("test/b.py")


def test_a_started_in_home_folder_reads_the_users_file_once(places):
    home = places.user.parent
    write(places.user / "MEWCODE.md", "MINE")
    text = load(Places(home, home, places.user, places.user / "home-project")).text()
    assert text.count("MINE") == 1
    assert "for all projects" in text


def test_more_roots_may_be_opened(places):
    write(places.root.parent / "common" / "x.md", "SHARED")
    write(places.root / "MEWCODE.md", "@include ../common/x.md")
    assert "SHARED" in load(places, include_roots=[places.root.parent / "common"]).text()


class _Approved:
    def __init__(self, found):
        self.found = found

    def digest(self, path):
        return self.found.get(path)


def test_what_was_approved_is_read_until_it_changes(places):
    from mewcode.instructions.expand import content_digest
    from mewcode.instructions.instruction_file import read_instruction_file

    outside = write(places.root.parent / "x.md", "OUTSIDE")
    write(places.root / "MEWCODE.md", "@include ../x.md")
    approvals = _Approved({outside: content_digest(read_instruction_file(outside))})
    assert "OUTSIDE" in load(places, approvals=approvals).text()
    write(outside, "CANARY")
    instructions = load(places, approvals=approvals)
    assert "CANARY" not in instructions.text()
    assert "changed since it was approved" in instructions.text()
