"""What a reader of the instructions would stumble over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.infra.paths import Places
from mewcode.instructions.lint import lint
from mewcode.instructions.load import Loader
from mewcode.instructions.report import as_data, as_lines, left_out, nodes_of


@pytest.fixture
def places(tmp_path):
    root = tmp_path / "proj"
    root.mkdir()
    return Places(root, root, tmp_path / "home" / ".mewcode", root / ".mewcode")


def load(places):
    return Loader(places, home=places.user.parent).load()


def findings(places, commands=("make",)):
    return [
        (finding.kind, finding.text, [(place.shown, place.line) for place in finding.places])
        for finding in lint(nodes_of(load(places)), places.root, lambda name: name in commands)
    ]


def test_what_stands_in_two_places(places):
    (places.root / "MEWCODE.md").write_text("- Always run the tests first.\n@include a.md\nshort\nshort")
    (places.root / "a.md").write_text("<!-- for\nyou -->\n* Always run the tests first.")
    assert findings(places) == [
        ("duplicate", "Always run the tests first.", [("MEWCODE.md", 1), ("a.md", 3)])
    ]


def test_one_heading_with_two_texts(places):
    (places.root / "MEWCODE.md").write_text("# Style\ntabs\n# Other\nsame\n@include a.md")
    (places.root / "a.md").write_text("## style ##\nspaces\n## Other\nsame")
    assert findings(places) == [("contradiction", "# Style", [("MEWCODE.md", 1), ("a.md", 1)])]


def test_long_lines(places):
    (places.root / "MEWCODE.md").write_text("x" * 1_001)
    assert findings(places) == [("long line", "1,001 characters", [("MEWCODE.md", 1)])]


def test_what_does_not_exist(places):
    (places.root / "src").mkdir()
    (places.root / "src" / "a.py").write_text("")
    (places.root / "MEWCODE.md").write_text(
        "See `src/a.py`, `src/b.py`, `README.md`, `x.y()` and `and/or`.\n"
        "[a](src/a.py#L1) [b](gone.md) [c](https://example.com/x.md) [d](#here)\n"
        "```bash\n$ make test\nnosuch --flag\nFOO=1 other\ncd x\n./gone.sh\n# note\n```\n"
        "```python\nnosuch2\n```"
    )
    assert [(kind, text) for kind, text, _ in findings(places)] == [
        ("missing file", "src/b.py"),
        ("missing file", "README.md"),
        ("missing file", "and/or"),
        ("missing link", "gone.md"),
        ("missing command", "nosuch"),
        ("missing command", "other"),
        ("missing command", "./gone.sh"),
    ]


def test_the_report_names_each_file_and_what_was_left_out(places):
    (places.root / "MEWCODE.md").write_text("@a.md\n@a.md\n@gone.md")
    (places.root / "a.md").write_text("x" * 40)
    (places.root / ".mewcode").mkdir()
    (places.root / ".mewcode" / "MEWCODE.md").write_bytes(b"a\0")
    loaded = load(places)
    assert left_out(loaded) == 2
    assert list(as_lines(loaded, [])) == [
        "MEWCODE.md  project, 20 bytes, about 0 tokens",
        "  a.md  project, 40 bytes, about 10 tokens",
        "  a.md  (line 2) already included above, in MEWCODE.md",
        "  ! gone.md  (line 3) skipped: not found",
        ".mewcode/MEWCODE.md  skipped: binary",
        "2 files, 60 bytes, about 10 tokens",
    ]
    data = as_data(loaded, [])
    assert [item["outcome"] for item in data["files"][0]["includes"]] == ["loaded", "duplicate", "skipped"]
    assert data["skipped"] == [{"path": ".mewcode/MEWCODE.md", "level": "project", "reason": "binary"}]


def test_a_line_that_stands_everywhere_is_named_some_times(places):
    (places.root / "MEWCODE.md").write_text("Always run the tests first.\n" * 1_000)
    loaded = load(places)
    found = lint(nodes_of(loaded), places.root, lambda name: False)
    assert list(as_lines(loaded, found))[-1] == (
        "duplicate: Always run the tests first.  (MEWCODE.md:1, MEWCODE.md:2, MEWCODE.md:3, MEWCODE.md:4, "
        "MEWCODE.md:5 and 995 more)"
    )
    assert len(as_data(loaded, found)["findings"][0]["places"]) == 1_000


def test_no_instructions_say_what_to_do(places):
    (line,) = as_lines(load(places), [])
    assert "/init" in line


@given(st.text(alphabet="#`~ab\n[](./) $", max_size=120))
def test_any_text_can_be_looked_at(tmp_path_factory, text):
    root = tmp_path_factory.getbasetemp() / "lint"
    root.mkdir(exist_ok=True)
    (root / "MEWCODE.md").write_text(text)
    places = Places(root, root, root / "user", root / ".mewcode")
    loaded = load(places)
    for finding in lint(nodes_of(loaded), root, lambda name: False):
        assert finding.places
    assert list(as_lines(loaded, []))
