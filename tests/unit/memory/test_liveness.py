"""What a note names against the work tree: what counts as a name, and what counts as gone."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode.agent.work_tree import WorkTree
from mewcode.memory.liveness import MARKS, Dead, Liveness, check_note, check_notes, check_text, dead_words
from mewcode.memory.references import MOST, references
from mewcode.tools.ripgrep import find_ripgrep
from tests.support.notes import note

NO_RIPGREP = {"ripgrep": find_ripgrep, "python": lambda: None}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for name, text in {
        "src/app.py": "class NoteStore:\n    def apply_all(self): ...\n",
        "packages/web/src/main.ts": "export function fetchUser() {}\n",
        "docs/guide.md": "# Guide\n",
        "文档/部署.md": "部署\n",
        "scripts/release": "#!/bin/sh\n",
        "Makefile": ".PHONY: deploy\ndeploy check:\n\techo go\n",
        "package.json": '{"scripts": {"build": "x"}}',
        "ignored/secret.py": "hidden_symbol = 1\n",
        ".gitignore": "ignored/\n",
        ".github/workflows/ci.yml": "run: ci_step_name\n",
        ".mewcode/memory/project_knowledge_x.md": "`only_in_a_note()`\n",
    }.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (project / ".git").mkdir()
    return project


def tree(root: Path, search: str = "ripgrep", path: str = "/usr/bin:/bin") -> WorkTree:
    return WorkTree(root, path, NO_RIPGREP[search])


def dead(root: Path, text: str, search: str = "ripgrep") -> list[tuple[str, str]]:
    """What is gone of what the text names."""
    return [(item.kind, item.text) for item in check_text(text, tree(root, search)).dead]


@pytest.mark.parametrize("search", NO_RIPGREP)
@pytest.mark.parametrize(
    ("text", "kind", "named"),
    [
        ("It is in `src/old.py`.", "path", "src/old.py"),
        ("It is in src/old.py.", "path", "src/old.py"),
        ("See src/gone/ first", "path", "src/gone/"),
        ("run ./scripts/x now", "path", "./scripts/x"),
        ("`scripts/deploy`", "path", "scripts/deploy"),
        ("`old_module.py`", "path", "old_module.py"),
        ("请看src/旧.py吧,还有src/old.py吧", "path", "src/old.py"),
        ("`文档/没有.md`", "path", "文档/没有.md"),
        ("`src/old.py:42`", "path", "src/old.py"),
        ("`frobnicate()`", "symbol", "frobnicate"),
        ("`frobnicate_all`", "symbol", "frobnicate_all"),
        ("`FrobStore`", "symbol", "FrobStore"),
        ("`oldmod.apply_all`", "symbol", "oldmod.apply_all"),
        ("`hidden_symbol`", "symbol", "hidden_symbol"),
        ("`only_in_a_note()`", "symbol", "only_in_a_note"),
        ("`src/app.py::test_gone`", "symbol", "test_gone"),
        ("$ ./scripts/gone --now", "command", "./scripts/gone"),
        ("```sh\n$ nonesuch-tool\n```", "command", "nonesuch-tool"),
        ("use `nonesuch-tool --fast`", "command", "nonesuch-tool"),
        ("[guide](docs/old.md#top)", "link", "docs/old.md#top"),
        ("[部署](文档/%E6%97%A7.md)", "link", "文档/%E6%97%A7.md"),
    ],
)
def test_what_is_gone_is_named(root: Path, search: str, text: str, kind: str, named: str) -> None:
    found = [item for item in dead(root, text, search) if item != ("path", "src/")]
    assert found == [(kind, named)]


@pytest.mark.parametrize("search", NO_RIPGREP)
@pytest.mark.parametrize(
    "text",
    [
        "`src/app.py`, src/app.py, ./src/app.py:12 and src/", "`src/main.ts` in a package", "`main.ts`",
        "[guide](docs/guide.md) [部署](文档/部署.md) [web](https://example.com/gone.md) [top](#top)",
        "`NoteStore.apply_all`, `NoteStore`, `apply_all()`, `app.apply_all`, `fetchUser`, `ci_step_name`",
        "$ ./scripts/release --now", "$ scripts/release", "$ ls -l", "`ls -l src`",
        "看src/app.py吧,在docs/下面",
    ],
)  # fmt: skip
def test_what_is_there_is_not_named(root: Path, search: str, text: str) -> None:
    found = check_text(text, tree(root, search))
    assert found.dead == ()
    assert found.checked


@pytest.mark.parametrize(
    "text",
    [
        "and/or, TCP/IP, 24/7, n/a, he/she", "branch `feature/login`, origin/main", "`application/json`",
        "`psf/requests`, `@scope/pkg`, github.com/psf/requests/x.py, me@example.com", "`os.path.join`",
        "https://example.com/a/b.py", "`src/*.py`, src/**/x.py, src/{a,b}.py, $HOME/x.py, ~/x/y.py",
        "`True`, `pytest`, `DATABASE_URL`, `print()`, `self`, `main`", "`import os`, `return x_y`, `x = 3`",
        "`SELECT * FROM old_table`", "../elsewhere/x.py", "/etc/nonesuch/x.py", "path/to/file.py",
        "e.g. 1.2/3.4",
        "`GET /api/users/x`", "Node.js and `Node.js`", "$ cd src", "[other](project_knowledge_gone.md)",
        "[mail](mailto:a@b.c) [pkg](//host/x.md)", "", "``", "`/`", "[]()", "$ ",
        "```\nsrc/in_a_fence.py\n```",
    ],
)  # fmt: skip
def test_what_names_nothing_of_the_project_is_left_alone(root: Path, text: str) -> None:
    assert dead(root, text) == []


def test_what_make_and_npm_run_is_looked_for_where_it_is_defined(root: Path) -> None:
    bin_dir = root / "node_modules" / ".bin"
    bin_dir.mkdir(parents=True)
    for name in ("make", "npm"):
        (bin_dir / name).touch()
    text = "`make deploy` `make check` `make undeploy` `npm run build` `npm run gone` `make -j4 x`"
    assert dead(root, text) == [("command", "make undeploy"), ("command", "npm run gone")]
    (root / "Makefile").write_text("include more.mk\ndeploy:\n", "utf-8")
    assert dead(root, "`make undeploy`") == [], "it may stand in what is included"


def test_a_file_that_went_elsewhere_is_told_with_its_place(root: Path) -> None:
    found = check_text("`lib/app.py` and lib/nonesuch.py", tree(root))
    assert found == Liveness(
        (Dead("path", "lib/app.py", "src/app.py"), Dead("path", "lib/nonesuch.py")), checked=2
    )
    words = "no longer there: lib/app.py (path, now src/app.py), lib/nonesuch.py (path)"
    assert dead_words(found) == words
    assert dead_words(Liveness()) == ""


def test_of_many_the_first_are_named_and_nothing_reaches_the_terminal(root: Path) -> None:
    text = " ".join(f"`src/gone{number}.py`" for number in range(9)) + " [x](src/\x1b]0;t\x07.py)"
    words = dead_words(check_text(text, tree(root)))
    assert words.endswith("src/gone3.py (path) and 5 more")
    assert "\x1b" not in words


def test_links_are_not_followed_out_of_the_work_tree(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.py").write_text("outside_symbol = 1\n", "utf-8")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "linked.py").symlink_to(tmp_path / "outside" / "x.py")
    (root / "inside").symlink_to("src")
    (root / "round").symlink_to("round")
    os.mkfifo(root / "pipe.py")
    text = "`out/x.py` `out/nonesuch.py` `inside/app.py` `inside/gone.py` `round/x.py` `linked.py` `pipe.py`"
    found = check_text(text, tree(root))
    assert [item.text for item in found.dead] == ["inside/gone.py"]
    assert found.checked == 4, "of what lies behind a link out nothing is said"
    for search in NO_RIPGREP:
        assert dead(root, "`outside_symbol`", search) == [("symbol", "outside_symbol")]


def test_of_the_users_notes_only_absolute_paths_within_the_tree_count(root: Path) -> None:
    body = f"`src/old.py` `{root}/src/gone.py` {root}/src/app.py `/nonesuch/x.py` [x](file://{root}/no.md)"
    found = check_note(note("n", body, level="user"), tree(root))
    assert [(item.kind, item.text) for item in found.dead] == [
        ("link", f"file://{root}/no.md"), ("path", f"{root}/src/gone.py"),
    ]  # fmt: skip
    assert found.checked == 3


class SlowTree:
    """A work tree that is never looked through in time."""

    search_path = ""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked = 0

    def files(self, until: float) -> Collection[str] | None:
        self.asked += 1
        return None

    def words(self, wanted: frozenset[str], until: float) -> frozenset[str] | None:
        return None


class CountingTree(WorkTree):
    searches = 0

    def _search(self, wanted: frozenset[str], until: float) -> set[str] | None:
        self.searches += 1
        return super()._search(wanted, until)


def test_many_notes_are_looked_at_in_one_search_until_time_is_up(root: Path) -> None:
    tree = CountingTree(root)
    many = [note(f"n{number}", f"`apply_all()` and `gone_{number}()`") for number in range(50)]
    found = check_notes([*many, note("user", "`gone_x()`", level="user")], tree, 30)
    assert [len(each.dead) for each in found] == [1] * 50 + [0]
    assert tree.searches == 1
    assert check_notes(many, CountingTree(root), -1) == [Liveness()] * 50
    assert check_notes(many, CountingTree(root), 30, lambda: True) == [Liveness()] * 50


def test_what_cannot_be_judged_in_time_counts_as_there(root: Path) -> None:
    slow = SlowTree(root)
    assert check_text("`src/old.py` `frobnicate()` `src/app.py`", slow) == Liveness((), checked=1)
    assert slow.asked == 1


@pytest.mark.parametrize("search", NO_RIPGREP)
def test_time_that_is_up_is_said(root: Path, search: str) -> None:
    late = tree(root, search)
    assert late.files(time.monotonic() - 1) is None or search == "ripgrep"
    assert tree(root, "python").words(frozenset({"x"}), time.monotonic() - 1) is None
    assert "src/app.py" in (tree(root, search).files(time.monotonic() + 30) or ())


def test_a_look_at_the_tree_serves_the_next_notes_too(root: Path) -> None:
    now = [100.0]
    kept = WorkTree(root, "", lambda: None, lambda: now[0])
    assert "docs/guide.md" in (kept.files(1e9) or ())
    (root / "docs" / "new.md").touch()
    now[0] += 3
    assert "docs/new.md" not in (kept.files(1e9) or ())
    now[0] += 3
    assert "docs/new.md" in (kept.files(1e9) or ())


def test_secrets_in_a_note_are_not_shown(root: Path) -> None:
    key = "sk-" + "a1b2c3d4" * 5
    assert key not in dead_words(check_text(f"see src/{key}.py and [x](docs/{key}.md)", tree(root)))


EVIL = {
    "brackets": "[[" * 32_000, "ticks": "`" * 64_000, "colons": "a:" * 32_000, "slashes": "a/" * 32_000,
    "open link": "[](" + "a" * 64_000, "links": "[](aaaa " * 8_000, "commands": "\n$ a" * 16_000,
    "fences": "```\n" * 16_000, "spans": ("`" + "a" * 290 + "` ") * 200, "urls": "file://" * 9_000,
    "dots": "$ ./" + "a." * 30_000 + "!", "blanks": " \t" * 32_000,
}  # fmt: skip


@pytest.mark.parametrize("name", EVIL)
def test_texts_made_to_take_long_are_read_to_their_end(name: str) -> None:
    """The slowest takes 40 ms; were it not in proportion to the length, this would not end."""
    found = references(EVIL[name] * 40 + "\n`src/behind.py`")
    assert len(found) <= MOST
    assert "src/behind.py" not in [item.target for item in found], "only the beginning is looked at"


def test_a_note_of_ten_megabytes_is_looked_at_in_its_beginning(root: Path) -> None:
    body = "`src/old.py` " + "x" * 10_000_000 + " `src/older.py`"
    assert dead(root, body) == [("path", "src/old.py")]


PIECES = [
    "`",
    "``",
    "src/app.py",
    "[a](",
    ")",
    "$ ",
    "\n",
    "```",
    "~~~",
    "./",
    "文档/",
    "é",
    "..",
    "::",
    " ",
    "\0",
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5))).map("".join))
def test_any_text_is_read(text: str) -> None:
    for item in references(text):
        assert item.target
        assert item.text


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5))).map("".join))
def test_only_a_text_with_certain_marks_names_anything(text: str) -> None:
    assert references("".join(char for char in text if char not in MARKS)) == ()


@given(text=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5))).map("".join))
def test_any_text_is_judged(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    slow = SlowTree(tmp_path_factory.getbasetemp())
    assert check_text(text, slow).checked >= 0
    assert "\n" not in dead_words(check_text(text, slow))
