"""The shape of the code: sizes, and what may stand where."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import mewcode

PACKAGE = Path(mewcode.__file__).parent
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60

# A project that the demo works on, not a part of the program.
_SAMPLES = PACKAGE / "demo" / "project"
# What talks to a person through the process's own streams.
_SPEAKING = (
    "cli.py", "app.py", "headless/", "repl/", "demo/", "onboarding/", "doctor/", "completion/",
    "session_commands/", "memory_commands/", "knowledge_commands/", "inspection/", "eval/",
    "infra/log_file.py",
)  # fmt: skip
# Programs of their own, run as children: their streams are pipes to us.
_CHILDREN = ("tools/search_process.py", "sessions/regex_process.py")

SOURCES = sorted(
    path.relative_to(PACKAGE).as_posix()
    for path in PACKAGE.rglob("*.py")
    if not path.is_relative_to(_SAMPLES) and "__pycache__" not in path.parts
)


@cache
def _tree(source: str) -> ast.Module:
    return ast.parse((PACKAGE / source).read_text(encoding="utf-8"), source)


def _calls(source: str, *names: str) -> Iterator[int]:
    """The lines that call a function or method of one of these names."""
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            if name in names:
                yield node.lineno


def _attributes(source: str, owner: str, *names: str) -> Iterator[int]:
    """The lines where ``owner.name`` is used."""
    for node in ast.walk(_tree(source)):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in names
            and isinstance(node.value, ast.Name)
            and node.value.id == owner
        ):
            yield node.lineno


def test_there_is_something_to_look_at() -> None:
    assert len(SOURCES) > 100
    assert "agent/loop.py" in SOURCES


def test_no_file_is_too_long() -> None:
    lengths = {source: len((PACKAGE / source).read_text("utf-8").splitlines()) for source in SOURCES}
    assert not {source: size for source, size in lengths.items() if size > MOST_LINES_OF_A_FILE}


def test_no_function_is_too_long() -> None:
    long = [
        f"{source}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for source in SOURCES
        for node in ast.walk(_tree(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= MOST_LINES_OF_A_FUNCTION
    ]
    assert not long


def test_only_the_front_ends_speak() -> None:
    """The loop and the tools never print: they tell events."""
    silent = [source for source in SOURCES if not source.startswith((*_SPEAKING, *_CHILDREN))]
    assert "agent/loop.py" in silent
    spoken = [
        f"{source}:{node.lineno} print"
        for source in SOURCES
        for node in ast.walk(_tree(source))
        if isinstance(node, ast.Name) and node.id == "print"
    ]
    spoken += [
        f"{source}:{line} sys.stdout or sys.stderr"
        for source in silent
        for line in _attributes(source, "sys", "stdout", "stderr", "__stdout__", "__stderr__")
    ]
    assert not spoken


def test_only_the_supervisor_starts_tasks() -> None:
    """A task without an owner may end unseen, or never."""
    started = [
        f"{source}:{line}"
        for source in SOURCES
        if source != "infra/supervisor.py"
        for line in (
            *_calls(source, "create_task", "ensure_future"),
            *_attributes(source, "asyncio", "TaskGroup", "create_task", "ensure_future"),
        )
    ]
    assert not started


def test_gather_is_given_what_cannot_be_left_behind() -> None:
    """`asyncio.gather` makes tasks of coroutines: where one fails, the others go on without an owner. It may
    only join tasks of a scope, or the clean-up at a session's end."""
    joined = {source for source in SOURCES for _ in _calls(source, "gather")}
    assert joined <= {"agent/tool_runner.py", "agent/session.py"}


def test_each_tool_has_its_description_beside_it() -> None:
    from mewcode.tools.base import Tool
    from mewcode.tools.registry import builtin_tools

    described = []
    for source in SOURCES:
        if not source.startswith("tools/"):
            continue
        module = importlib.import_module("mewcode." + source.removesuffix(".py").replace("/", "."))
        for value in vars(module).values():
            if (
                isinstance(value, type)
                and issubclass(value, Tool)
                and value is not Tool
                and value.__module__ == module.__name__
            ):
                prose = (PACKAGE / source).with_suffix(".md")
                assert prose.is_file(), f"{source} has a tool and no {prose.name}"
                assert prose.read_text("utf-8").strip(), f"{prose.name} is empty"
                assert prose.stem == value.name
                described.append(value.name)
    assert sorted(described) == sorted(tool.name for tool in builtin_tools())
    lone = {path.stem for path in (PACKAGE / "tools").glob("*.md")} - set(described)
    assert not lone, "a description without a tool"


@pytest.mark.parametrize(
    "names",
    [("utils", "helpers", "manager", "misc", "common"), ("util", "helper", "managers", "stuff")],
)
def test_names_say_what_a_thing_is(names: tuple[str, ...]) -> None:
    assert not [source for source in SOURCES if Path(source).stem in names]


def test_every_module_says_what_it_is() -> None:
    silent = [
        source for source in SOURCES if not ast.get_docstring(_tree(source)) and source != "_version.py"
    ]
    assert not silent


def test_nothing_is_left_undone() -> None:
    marks = ("TO" + "DO:", "TO" + "DO(", "FIX" + "ME", "XX" + "X ")
    left = [
        f"{source}:{number}"
        for source in SOURCES
        for number, line in enumerate((PACKAGE / source).read_text("utf-8").splitlines(), 1)
        if any(mark in line for mark in marks)
    ]
    assert not left
