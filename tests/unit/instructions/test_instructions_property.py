"""Any tree of files: loading ends, stays inside, and accounts for each include once."""

from __future__ import annotations

import contextlib
import shutil

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.infra.paths import Places
from mewcode.instructions.directive import Directive
from mewcode.instructions.load import Loader
from mewcode.instructions.markdown_scan import scan

CANARY = "CANARY-7f3a"
NAMES = [
    "MEWCODE.md",
    "a.md",
    "b c.md",
    "规则.md",
    "sub/d.md",
    "sub/MEWCODE.md",
    ".mewcode/MEWCODE.md",
    "e\u0301.md",
]
TARGETS = [
    *NAMES,
    "../out/canary.md",
    "link.md",
    "linked/canary.md",
    "missing.md",
    "sub",
    "..",
    "/etc/hostname",
    "~/x.md",
    "x" * 300 + ".md",
]
FORMS = [
    '@include "{}"',
    "@include {}",
    "@{}",
    "```\n@include {}\n```",
    "`@include {}`",
    "    @include {}",
    "text",
]
lines = st.tuples(st.sampled_from(FORMS), st.sampled_from(TARGETS)).map(lambda pair: pair[0].format(pair[1]))
files = st.dictionaries(st.sampled_from(NAMES), st.lists(lines, max_size=6).map("\n".join), min_size=1)


def build(top, contents):
    root = top / "root"
    shutil.rmtree(top, ignore_errors=True)
    (root / "sub").mkdir(parents=True)
    (root / ".mewcode").mkdir()
    (top / "out").mkdir()
    (top / "out" / "canary.md").write_text(CANARY)
    (top / "out" / "x.md").write_text(CANARY)
    (root / "link.md").symlink_to(top / "out" / "canary.md")
    (root / "linked").symlink_to(top / "out")
    for name, text in contents.items():
        with contextlib.suppress(OSError):
            (root / name).write_text(text)
    return Places(root / "sub", root, top / "home" / ".mewcode", root / ".mewcode")


def accounted(node):
    found = {}
    for include in node.includes():
        found.setdefault(node.path, []).append((include.written, include.line))
        assert (include.outcome == "loaded") == (include.node is not None)
        assert include.outcome == "loaded" or include.reason
        if include.node is not None:
            for path, asked in accounted(include.node).items():
                assert path not in found, "a file was read twice"
                found[path] = asked
    found.setdefault(node.path, [])
    return found


@settings(max_examples=80)
@given(files)
def test_any_tree_of_files(tmp_path_factory, contents):
    top = tmp_path_factory.getbasetemp() / "tree"
    places = build(top, contents)
    one = Loader(places, home=top / "out").load()
    two = Loader(places, home=top / "out").load()
    assert one.text() == two.text()
    assert CANARY not in one.text()
    read = set()
    for document in one.documents:
        for path, asked in accounted(document.node).items():
            assert path not in read, "a file was read twice"
            read.add(path)
            assert path.is_relative_to(places.root)
            pieces = scan(path.read_text()).pieces
            assert asked == [(piece.path, piece.line) for piece in pieces if isinstance(piece, Directive)]
