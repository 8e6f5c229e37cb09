"""glob and grep, each with ripgrep and with the Python search in its place: the answers are the same."""

from __future__ import annotations

import asyncio
import os

import pytest

from mewcode.core.errors import ToolError
from mewcode.tools import ripgrep
from mewcode.tools.glob import GlobTool
from mewcode.tools.grep import GrepTool
from mewcode.tools.registry import decode_args
from mewcode.tools.ripgrep import find_ripgrep
from tests.unit.tools.file_session import answer, call, make_context, make_session, read_paths

RG = find_ripgrep()
ENGINES = [pytest.param(lambda: None, id="python")]
if RG:
    ENGINES.append(pytest.param(lambda: RG, id="ripgrep"))


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path)


@pytest.fixture(params=ENGINES)
def grep(request):
    return GrepTool(request.param)


@pytest.fixture(params=ENGINES)
def glob(request):
    return GlobTool(request.param)


def fill(root, files):
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())


def test_grep_shows_lines_under_their_file(session, grep):
    fill(session.root, {"b.py": "x = 1\ny = 2\nx = 3\n", "a/c.py": "x = 4\n", "d.txt": "nothing\n"})
    assert answer(grep, session, pattern=r"^x = \d$") == "a/c.py\n1:x = 4\n\nb.py\n1:x = 1\n3:x = 3"


def test_grep_context(session, grep):
    fill(session.root, {"f": "".join(f"{n}\n" for n in range(1, 21)), "g": "7\n"})
    said = answer(grep, session, pattern="^(3|5|15|7)$", context=1, path="f")
    assert said == "f\n2-2\n3:3\n4-4\n5:5\n6-6\n7:7\n8-8\n--\n14-14\n15:15\n16-16"
    both = answer(grep, session, pattern="^7$", context=1)
    assert both == "f\n6-6\n7:7\n8-8\n\ng\n1:7"


def test_grep_modes(session, grep):
    fill(session.root, {"a": "x\nx x\n", "b/c": "x\n"})
    assert answer(grep, session, pattern="x", output_mode="files") == "a\nb/c"
    assert answer(grep, session, pattern="x", output_mode="count") == "a: 2\nb/c: 1"


def test_grep_options(session, grep):
    fill(session.root, {"a": "One\ntwo\nThree\n"})
    assert answer(grep, session, pattern="one", ignore_case=True) == "a\n1:One"
    assert answer(grep, session, pattern="One.two", multiline=True) == "a\n1:One\n2:two"
    assert answer(grep, session, pattern="One.two").startswith("No match for One.two in ")


def test_grep_narrows_by_name(session, grep):
    fill(session.root, {"a.py": "x\n", "s/b.py": "x\n", "s/t/c.ts": "x\n", "d.md": "x\n"})
    assert answer(grep, session, pattern="x", glob="*.py", output_mode="files") == "a.py\ns/b.py"
    assert answer(grep, session, pattern="x", glob="*.{ts,md}", output_mode="files") == "d.md\ns/t/c.ts"
    assert answer(grep, session, pattern="x", glob="s/**/*.ts", output_mode="files") == "s/t/c.ts"
    assert answer(grep, session, pattern="x", path="s", glob="*.py", output_mode="files") == "s/b.py"
    for bad in ("/etc/*", "~/x", "*/../y", "../y"):
        with pytest.raises(ToolError):
            answer(grep, session, pattern="x", glob=bad)


def test_ignored_hidden_and_binary_files_are_left_out(session, grep, glob):
    fill(
        session.root,
        {
            ".gitignore": "*.log\nbuild/\n!keep.log\n",
            "a.txt": "x\n",
            "b.log": "x\n",
            "keep.log": "x\n",
            "build/c.txt": "x\n",
            ".hidden": "x\n",
            ".github/d.yml": "x\n",
            ".git/e": "x\n",
            "bin": b"\0x\n",
        },
    )
    assert answer(grep, session, pattern="x", output_mode="files") == "a.txt\nkeep.log"
    # A name pattern does not bring back what git ignores.
    assert answer(grep, session, pattern="x", glob="*.log", output_mode="files") == "keep.log"
    # What is named is searched.
    assert answer(grep, session, pattern="x", path=".github", output_mode="files") == ".github/d.yml"
    assert answer(grep, session, pattern="x", path="b.log", output_mode="files") == "b.log"
    assert answer(grep, session, pattern="x", path="build", output_mode="files") == "build/c.txt"
    assert answer(grep, session, pattern="x", glob=".github/*", output_mode="files") == ".github/d.yml"
    with pytest.raises(ToolError, match="binary"):
        answer(grep, session, pattern="x", path="bin")
    assert sorted(answer(glob, session, pattern="**").split("\n")) == ["a.txt", "bin", "keep.log"]
    assert answer(glob, session, pattern=".github/**") == ".github/d.yml"
    assert answer(glob, session, pattern="**/.hid*") == ".hidden"
    assert answer(glob, session, pattern="*.log") == "keep.log"


def test_a_repository_within_a_repository_and_rules_above(session, grep):
    fill(
        session.root,
        {
            ".git/HEAD": "",
            ".gitignore": "*.tmp\n/only-here\n",
            "sub/.gitignore": "!b.tmp\n",
            "sub/a.tmp": "x",
            "sub/b.tmp": "x",
            "sub/only-here": "x",
            "inner/.git/HEAD": "",
            "inner/c.tmp": "x",
            ".git/info/exclude": "private\n",
            "private": "x",
        },
    )
    assert answer(grep, session, pattern="x", output_mode="files") == "inner/c.tmp\nsub/b.tmp\nsub/only-here"
    assert answer(grep, session, pattern="x", path="sub", output_mode="files") == "sub/b.tmp\nsub/only-here"


def test_rules_above_a_folder_that_is_no_repository_do_not_count(session, grep):
    fill(session.root, {".gitignore": "*\n", "work/.gitignore": "*.tmp\n", "work/a": "x", "work/b.tmp": "x"})
    assert answer(grep, session, pattern="x", path="work", output_mode="files") == "work/a"


def test_symlinks_are_not_followed(session, grep, glob, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    fill(outside, {"secret": "x\n"})
    (session.root / "door").symlink_to(outside)
    (session.root / "file").symlink_to(outside / "secret")
    assert answer(grep, session, pattern="x").startswith("No match")
    assert answer(glob, session, pattern="**/*").startswith("No file")


def test_a_pattern_that_looks_like_an_option(session, grep):
    fill(session.root, {"a": "--files\n-x\n"})
    assert answer(grep, session, pattern="--files") == "a\n1:--files"
    assert answer(grep, session, pattern="-x") == "a\n2:-x"
    fill(session.root, {"-n": "odd\n"})
    assert answer(grep, session, pattern="odd", path="-n") == "-n\n1:odd"


def test_a_pattern_that_is_no_regular_expression(session, grep):
    with pytest.raises(ToolError, match="no valid regular expression"):
        answer(grep, session, pattern="f(")


def test_output_is_bounded_and_counted(session, grep):
    fill(session.root, {"a": "x\n" * 400, "b": "x\n", "long": "x" * 3000 + "\n"})
    said = answer(grep, session, pattern="x")
    assert said.count("\n") == 251
    assert said.endswith(
        "[152 more matching lines; 402 matches in 3 files; narrow the pattern, path or glob]"
    )
    assert answer(grep, session, pattern="x", limit=1, output_mode="files").startswith(
        "a\n[2 more files; 3 files;"
    )
    assert answer(grep, session, pattern="x", path="long") == "long\n1:" + "x" * 500 + "… [line cut]"
    wide = {f"w/{n:03}": "y" * 490 + "\n" for n in range(200)}
    fill(session.root, wide)
    assert len(answer(grep, session, pattern="y", path="w")) < 52_000


def test_other_encodings_line_ends_and_odd_bytes(session, grep):
    fill(
        session.root,
        {
            "crlf": b"find me\r\nother\r\n",
            "latin": b"find m\xe9\n",
            "mark": b"\xef\xbb\xbffind me\n",
            "utf16": "\ufefffind 中\r\n".encode("utf-16-le"),
        },
    )
    assert answer(grep, session, pattern="me$", output_mode="files") == "crlf\nmark"
    said = answer(grep, session, pattern="^find")
    assert said == "crlf\n1:find me\n\nlatin\n1:find m\ufffd\n\nmark\n1:find me\n\nutf16\n1:find 中"


def test_missing_and_odd_places(session, grep, glob):
    os.mkfifo(session.root / "pipe")
    (session.root / "source").mkdir()
    (session.root / "f").touch()
    for tool in (grep, glob):
        with pytest.raises(ToolError, match="Similar names there: source"):
            answer(tool, session, pattern="x", path="sorce")
    with pytest.raises(ToolError, match="named pipe"):
        answer(grep, session, pattern="x", path="pipe")
    with pytest.raises(ToolError, match="is a file, not a folder"):
        answer(glob, session, pattern="x", path="f")
    with pytest.raises(ToolError, match="first wildcard"):
        answer(glob, session, pattern="*/../x")


def test_glob_is_newest_first_and_bounded(session, glob):
    names = [f"d/{n:03}.txt" for n in range(230)]
    fill(session.root, dict.fromkeys(names, ""))
    for at, name in enumerate(names):
        os.utime(session.root / name, (1000 + at, 1000 + at))
    lines = answer(glob, session, pattern="**/*.txt").split("\n")
    assert lines[:2] == ["d/229.txt", "d/228.txt"]
    assert lines[200] == "[200 newest of 230 files; narrow the pattern to see others]"


def test_glob_patterns_relative_absolute_and_upwards(session, glob):
    fill(session.root, {"a.py": "", "s/b.py": "", "s/t/c.py": ""})
    root = session.root
    sub = make_session(root, cwd=root / "s")
    assert answer(glob, session, pattern="*.py") == "a.py"
    assert answer(glob, session, pattern="s/*.py") == "s/b.py"
    assert answer(glob, session, pattern="*.py", path="s/t") == "s/t/c.py"
    assert answer(glob, session, pattern=f"{root}/s/*.py", path="nowhere") == "s/b.py"
    assert answer(glob, sub, pattern="../*.py") == f"{root}/a.py"
    assert "use **/*.ts" in answer(glob, session, pattern="*.ts")
    assert "use s/** for" in answer(glob, session, pattern="s")


def test_accesses_are_resolved(session, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside").resolve()
    (session.root / "door").symlink_to(outside)
    root, up = str(session.root), str(session.root.parent)
    glob, grep = GlobTool(), GrepTool()
    assert read_paths(glob, session, pattern="**/*.py") == [root]
    assert read_paths(glob, session, pattern="../*.py") == [up]
    assert read_paths(glob, session, pattern="door/x/*.py") == [str(outside / "x")]
    assert read_paths(glob, session, pattern="/etc/*") == ["/etc"]
    assert read_paths(glob, session, pattern="*", path="door") == [str(outside)]
    assert read_paths(grep, session, pattern="x") == [root]
    assert read_paths(grep, session, pattern="x", path="door") == [str(outside)]
    assert read_paths(grep, session, pattern="x", glob="../*.py") == [root, up]
    assert read_paths(grep, session, pattern="x", glob="/etc/*") == [root, "/etc"]


def test_summaries(session):
    assert GrepTool().summary(decode_args(GrepTool(), {"pattern": "a\x1b[1mb"}), session) == "ab"
    args = decode_args(GrepTool(), {"pattern": "a", "path": "s", "glob": "*.py"})
    assert GrepTool().summary(args, session) == "a in s *.py"
    assert GlobTool().summary(decode_args(GlobTool(), {"pattern": "*", "path": "s"}), session) == "* in s"


def test_the_view_is_safe_to_show(session, grep):
    fill(session.root, {"a": "x \x1b]0;title\x07 y\n"})
    outcome = call(grep, session, pattern="x")
    assert "\x1b" in outcome.content[0].text
    assert "\x1b" not in outcome.view.body
    assert outcome.view.summary == "1 match in 1 file"


def test_a_search_that_takes_too_long_ends(session, monkeypatch):
    """Python's regular expressions go on for ever on this; the process is ended all the same."""
    fill(session.root, {"a": "a" * 64 + "b\n"})
    monkeypatch.setattr(ripgrep, "TIME_LIMIT", 0.3)
    with pytest.raises(ToolError, match="took longer"):
        answer(GrepTool(lambda: None), session, pattern="(a+)+$")


def test_a_cancelled_search_leaves_no_process(session, monkeypatch):
    fill(session.root, {"a": "a" * 64 + "b\n"})
    started, running = [], asyncio.Event()
    real = asyncio.create_subprocess_exec

    async def start(*args, **more):
        started.append(await real(*args, **more))
        running.set()
        return started[0]

    monkeypatch.setattr(ripgrep.asyncio, "create_subprocess_exec", start)
    tool = GrepTool(lambda: None)

    async def scenario():
        args = decode_args(tool, {"pattern": "(a+)+$"})
        task = asyncio.ensure_future(tool.run(args, make_context(session)))
        await asyncio.wait_for(running.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert started[0].returncode is not None


def test_ripgrep_is_found_but_never_in_the_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ripgrep.sys, "executable", str(tmp_path / "bin" / "python"))
    fill(tmp_path, {"rg": "", "bin/rg": "", "other/rg": "", "dull/rg": ""})
    for name in ("rg", "bin/rg", "other/rg"):
        (tmp_path / name).chmod(0o755)
    assert find_ripgrep({"PATH": f":.:{tmp_path}/dull:{tmp_path}/other"}) == f"{tmp_path}/bin/rg"
    (tmp_path / "bin/rg").unlink()
    assert find_ripgrep({"PATH": f":.:{tmp_path}/dull:{tmp_path}/other"}) == f"{tmp_path}/other/rg"
    assert find_ripgrep({}) is None


@pytest.mark.parametrize("mode", ["content", "files", "count"])
def test_what_must_not_be_read_is_left_out_of_a_search(session, grep, mode):
    fill(session.root, {"secrets/key": "token=abc\n", "a.txt": "token here\n"})
    asked = []

    def may_read(path):
        asked.append(path)
        return path.parent.name != "secrets"

    session.may_read = may_read
    found = answer(grep, session, pattern="token", output_mode=mode)
    assert "secrets" not in found
    assert "abc" not in found
    assert "a.txt" in found
    assert found.endswith("[1 more matching files must not be read]")
    assert sorted(asked) == [session.root / "a.txt", session.root / "secrets/key"]
    nothing = answer(grep, session, pattern="abc", output_mode=mode)
    assert nothing.startswith("No match for abc")
    assert nothing.endswith("[1 more matching files must not be read]")
