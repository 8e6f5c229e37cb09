"""The Python search gives the same answers as ripgrep, on trees made up for it."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.core.errors import ToolError
from mewcode.tools.glob import GlobTool
from mewcode.tools.grep import GrepTool
from mewcode.tools.ripgrep import find_ripgrep
from tests.unit.tools.file_session import answer, make_session

RG = find_ripgrep()
NAMES = ["a", "b.py", "c.log", ".h", "build", "Z", "é"]
RULES = [
    "*.log",
    "build/",
    "!c.log",
    "/a",
    "a/",
    "a/*",
    "!a/b.py",
    "**/Z",
    "b.*",
    "*",
    "!*/",
    "!*.py",
    "# x",
    "",
]
TEXTS = [b"one two\n", b"two\r\nthree", b"\n\none\n", b"", "zwö\ntwo\n".encode(), b"\0two\n"]


def outcome_of(tool, session, **args):
    """The answer, or the error as text."""
    try:
        return answer(tool, session, **args)
    except ToolError as error:
        return error.message


def grow(root, seed):
    """A tree from a seed, with rules of its own here and there."""
    chance = random.Random(seed)
    folders = [root]
    for _ in range(chance.randint(3, 12)):
        folder = chance.choice(folders)
        path = folder / chance.choice(NAMES)
        if path.exists():
            continue
        if chance.random() < 0.35:
            path.mkdir()
            folders.append(path)
        else:
            path.write_bytes(chance.choice(TEXTS))
    for folder in folders:
        if chance.random() < 0.5:
            rules = chance.sample(RULES, chance.randint(1, 4))
            (folder / ".gitignore").write_text("\n".join(rules))
    if chance.random() < 0.5:
        (chance.choice(folders) / ".git").mkdir()
    return chance


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_both_engines_give_the_same_answers(tmp_path_factory, seed):
    session = make_session(tmp_path_factory.mktemp("tree"))
    chance = grow(session.root, seed)
    asked = {
        "pattern": chance.choice(["two", "^one", "o$", "t.o", "[a-z]+"]),
        "context": chance.choice([0, 0, 1, 2]),
        "output_mode": chance.choice(["content", "content", "files", "count"]),
        "glob": chance.choice(["", "", "*.py", "**/a/**", ".h*"]),
        "multiline": chance.random() < 0.2 and "o" not in chance.choice(["o", "x"]),
    }
    with_rg, without = (outcome_of(GrepTool(find), session, **asked) for find in (lambda: RG, lambda: None))
    assert with_rg == without, asked
    names = chance.choice(["**", "**/*.py", "*", "a/**", "**/.h"])
    files = [
        sorted(outcome_of(GlobTool(find), session, pattern=names).split("\n"))
        for find in (lambda: RG, lambda: None)
    ]
    assert files[0] == files[1], names


def test_the_python_search_is_a_program_of_its_own():
    program = "import mewcode.tools.search_process, sys; print('asyncio' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


TOO_OLD = "#!/bin/sh\necho 'error: unexpected argument' >&2\nexit 2\n"


@pytest.mark.parametrize("script", [TOO_OLD, "no program"])
def test_a_ripgrep_that_is_of_no_use_is_done_without(tmp_path, script):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a").write_text("x\n")
    program = tmp_path / "rg"
    program.write_text(script)
    program.chmod(0o755)
    session = make_session(tmp_path / "tree")
    assert answer(GrepTool(lambda: str(program)), session, pattern="x") == "a\n1:x"
