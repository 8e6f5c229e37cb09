"""Any tree of files: loading ends, stays inside, and accounts for each include once."""

from __future__ import annotations

import contextlib
import os
import shutil

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.infra.paths import Places
from mewcode.instructions.cache import InstructionCache
from mewcode.instructions.directive import Directive
from mewcode.instructions.discover import candidates
from mewcode.instructions.gate import InstructionGate
from mewcode.instructions.live import LiveInstructions
from mewcode.instructions.load import Loader
from mewcode.instructions.markdown_scan import scan
from mewcode.instructions.trace import Trace
from tests.support.file_times import await_new_time

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


def write(root, name, text):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def relink(root, name, target):
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to(target)


PLACES = [
    *NAMES,
    "AGENTS.md",
    "link.md",
    "linked/x.md",
    "missing.md",
    ".mewcode/rules/r.md",
    "sub/.mewcode/MEWCODE.local.md",
    "sub/more",
]
ENDS = ["a.md", "sub/d.md", "missing.md", "sub", "sub/more", ".", "..", "link.md", "../out/x.md"]
HEADS = ["", '---\npaths: ["*.py"]\n---\n']
INSIDE = [*NAMES, "link.md", "linked/d.md", "linked/x.md", "missing.md", "sub", ".."]
BASE = {
    "MEWCODE.md": "@include a.md\n@link.md\n@include linked/d.md\n@missing.md\n@include sub/more/x.md",
    "a.md": "A",
    "sub/d.md": "D",
}
names = st.sampled_from(PLACES)
targets = st.sampled_from([*INSIDE, *INSIDE, "../out/x.md"])
asks = st.tuples(st.sampled_from(FORMS), targets).map(lambda pair: pair[0].format(pair[1]))
texts = st.tuples(st.sampled_from(HEADS), st.lists(asks, max_size=4)).map(
    lambda pair: pair[0] + "\n".join(pair[1])
)
trees = st.dictionaries(st.sampled_from(NAMES), texts, max_size=4).map(lambda found: {**BASE, **found})
changes = st.lists(
    st.one_of(
        st.tuples(st.just(write), names, texts),
        st.tuples(st.just(lambda root, name, _: (root / name).unlink()), names, st.none()),
        st.tuples(
            st.just(lambda root, name, other: (root / name).rename(root / other)),
            st.sampled_from([*PLACES, "sub", "linked", "sub/more/x.md"]),
            st.sampled_from([*PLACES, "away", "linked"]),
        ),
        st.tuples(st.just(relink), st.sampled_from(["link.md", "linked", "a.md"]), st.sampled_from(ENDS)),
        st.tuples(st.just(lambda root, name, _: (root / name).mkdir()), names, st.none()),
    ),
    max_size=4,
)


def make(top, done):
    for change, name, more in done:
        with contextlib.suppress(OSError):
            change(top / "root", name, more)
    await_new_time(top)


def told_of(loaded):
    outside = [(node.shown, include.written, include.outside) for node, include in loaded.outside()]
    return loaded.told(), outside


@settings(max_examples=60)
@given(trees, changes, changes)
def test_a_start_with_a_cache_tells_what_one_without_tells(tmp_path_factory, contents, before, after):
    top = tmp_path_factory.getbasetemp() / "kept"
    places = build(top, contents)
    relink(places.root, "link.md", "a.md")
    relink(places.root, "linked", "sub")
    (places.root / "sub" / "more").mkdir()
    write(places.root, "sub/more/x.md", "X")
    await_new_time(top)
    cache = InstructionCache(places, top / "cache", home=top / "out")

    def load():
        return Loader(places, home=top / "out")

    first = load()
    loaded = first.load()
    first.traces[0].began += 60 * 10**9  # as though all had been written long before
    if not loaded.outside():
        cache.keep(loaded.told(), first.traces[0])
    make(top, before)
    with_cache, without = InstructionGate(places, load, lambda: cache), LiveInstructions(load)
    assert with_cache.build() == without.build()
    now = load().load()
    if (kept := cache.find(list(candidates(places)))) is not None:
        assert told_of(now) == (kept.told, [])
        assert with_cache.loaded is None
    else:
        assert told_of(with_cache.loaded) == told_of(now) if with_cache.loaded else not now.text()
    make(top, after)
    assert sorted(with_cache.stale()) == sorted(without.stale())
    assert with_cache.change() == without.change()
    touched = [places.cwd / "x.py"]
    assert with_cache.touch(touched) == without.touch(touched)
    assert with_cache.change() == without.change() == ""


parts = st.sampled_from(["a", "b", "to-b", "to-none", "up", "away", "none", "..", ".", "", "x.md"])


@given(st.lists(parts, max_size=7).map("/".join))
def test_a_path_leads_where_the_system_says(tmp_path_factory, path):
    root = tmp_path_factory.getbasetemp() / "paths"
    if not root.exists():
        (root / "a" / "b").mkdir(parents=True)
        (root / "a" / "x.md").write_text("")
        for name, end in [("to-b", "a/b"), ("to-none", "none/x"), ("a/up", ".."), ("a/b/away", "/usr")]:
            (root / name).symlink_to(end)
    trace = Trace(0)
    for meant in (os.path.join(root, path), f"{root}//{path}/", f"/{path}", f"//{path}"):
        assert trace.resolve(meant) == os.path.realpath(meant)
        assert trace.resolve(meant) == os.path.realpath(meant)
    assert trace.holds()
