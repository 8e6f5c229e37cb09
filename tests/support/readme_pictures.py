"""The pictures of the README: the real program, its model scripted; see `scripts/pictures`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mewcode.infra.paths import find_places
from mewcode.memory.changes import Create
from mewcode.memory.note import Note
from mewcode.memory.paths import user_shelf
from mewcode.memory.store import NoteStore
from mewcode.note_source import project_shelf

from .fake_llm import FakeLLM, Reply, Usage
from .picture import ThemeName, svg
from .program import PROGRAM, ROOT, environment
from .terminal import Terminal

PICTURES = ROOT / "docs" / "pictures"
THEMES: tuple[ThemeName, ...] = ("dark", "light")

_MODEL = "claude-opus-5-5"
_OFFERED = (_MODEL, "claude-sonnet-5-5", "claude-haiku-5-5")
_PROMPT = "The total ignores the discount. Find out why and fix it."
_ASKED = "MewCode shows an edit as a diff and asks whether it may be made"
_DONE = "A whole turn: the edit, the tests run, the answer"
_MODELS = "The list of /model: each model with its window and price"
_NOTES = "The notes of /memory, with tabs for inbox, instructions and history"
_STATUS = "What /status shows: session, model, workspace, terminal"
# Wide enough for the code, high enough for the whole turn.
_COLUMNS, _ROWS = 92, 46

_CODE = '''\
def total(prices, discount=0):
    """The sum of the prices, with a discount in per cent taken off."""
    subtotal = sum(prices)
    return subtotal
'''
_TEST = """\
import unittest

from cart import total


class CartTest(unittest.TestCase):
    def test_discount(self):
        self.assertEqual(total([40, 60], discount=10), 90)
"""
_EDIT: dict[str, object] = {
    "path": "cart.py",
    "edits": [
        {"old_text": "    return subtotal\n", "new_text": "    return subtotal * (1 - discount / 100)\n"}
    ],
}
_TESTS = "python3 -m unittest -q"
_NOTED = (
    Note(
        name="Deploy",
        type="correction_feedback",
        level="project",
        description="deploy with make ship, never with deploy.sh",
        body="Deploy with `make ship`.\n\n**Why**: deploy.sh skips the checks.",
    ),
    Note(
        name="Code freeze",
        type="project_knowledge",
        level="project",
        description="nothing large after 2027-03-12",
        body="Release 4 is frozen on 2027-03-12.",
    ),
    Note(
        name="Test runner",
        type="user_preference",
        level="user",
        description="pytest with plain functions, never unittest classes",
        body="Prefers pytest.",
    ),
    Note(
        name="提交信息",
        type="user_preference",
        level="user",
        description="用中文，前面加方括号的模块名",
        body="如 [网关] 修复超时。",
    ),
)


def _answers() -> list[Reply]:
    def usage(size: int) -> Usage:
        return Usage(input=900, output=90, cache_read=size, cache_write=700)

    return [
        Reply.calls(
            ("read_file", {"path": "cart.py"}),
            ("read_file", {"path": "test_cart.py"}),
            say="I look at the code and its test first.",
            usage=usage(9_400),
        ),
        Reply.calls(
            ("edit_file", _EDIT),
            say="`total` takes a `discount` and never uses it.",
            usage=usage(31_000),
        ),
        Reply.calls(("bash", {"command": _TESTS}), say="Now the tests.", usage=usage(32_000)),
        Reply.text(
            "`total` in `cart.py` now takes the discount off:\n\n"
            "- 10 % off 100 gives **90**, as the test expects\n"
            "- without a discount nothing changes\n",
            usage=usage(33_000),
        ),
    ]


def take_pictures(folder: Path) -> list[Path]:
    """Writes the pictures into ``folder``: the question before an edit, the whole turn, the list of models,
    the status, the notes; each in each theme."""
    return [path for theme in THEMES for path in (*_pictures_of(theme, folder), _notes(theme, folder))]


def _pictures_of(theme: ThemeName, folder: Path) -> list[Path]:
    with tempfile.TemporaryDirectory() as top, FakeLLM(_answers(), models=_OFFERED) as server:
        server.aside = Reply.text("The discount in the cart")  # what the session is called
        home = Path(top).resolve()
        project = _make_project(home / "shop")
        background = {"dark": "15;0", "light": "0;15"}[theme]
        variables = environment(home, anthropic=server.url, COLORFGBG=background)
        argv = [*PROGRAM, "--model", _MODEL, "--allow", f"bash({_TESTS})", _PROMPT]
        with Terminal(argv, cwd=project, env=variables, rows=_ROWS, columns=_COLUMNS) as terminal:
            terminal.wait_for_screen("esc cancels")
            asked = _save(terminal, folder / f"approval-{theme}.svg", theme, _ASKED)
            terminal.send("1")
            terminal.wait_for_screen("without a discount")
            terminal.wait_gone("esc to stop")
            done = _save(terminal, folder / f"turn-{theme}.svg", theme, _DONE)
            models, status = _after_the_turn(terminal, theme, folder)
            terminal.send("\x04")
            terminal.wait_exit()
        server.assert_clean()
    return [asked, done, models, status]


def _after_the_turn(terminal: Terminal, theme: ThemeName, folder: Path) -> tuple[Path, Path]:
    """The pictures of the commands, each from the line in which it is typed."""
    terminal.send("/model\r")
    terminal.wait_for_screen("choose a model")
    terminal.send("\x1b[B")
    terminal.wait_for_screen("❯ 2.")
    models = _save(terminal, folder / f"model-{theme}.svg", theme, _MODELS, "❯ /model")
    terminal.send("\x1b")
    terminal.wait_gone("choose a model")
    terminal.send("/status\r")
    terminal.wait_for_screen("columns by")
    terminal.wait_for_screen("❯ /status")
    status = _save(terminal, folder / f"status-{theme}.svg", theme, _STATUS, "❯ /status")
    return models, status


def _notes(theme: ThemeName, folder: Path) -> Path:
    with tempfile.TemporaryDirectory() as top, FakeLLM(models=_OFFERED) as server:
        home = Path(top).resolve()
        project = _make_project(home / "shop")
        variables = environment(
            home, anthropic=server.url, COLORFGBG={"dark": "15;0", "light": "0;15"}[theme]
        )
        places = find_places(project, variables)
        days = iter((1, 3, 12, 40))
        for note in _NOTED:
            then = time.time() - next(days) * 86_400
            shelves = [project_shelf(places), user_shelf(places, variables)]
            NoteStore(shelves, clock=lambda then=then: then).apply([Create(note)], by="user")  # type: ignore[misc]  # bound now
        argv = [*PROGRAM, "--model", _MODEL]
        with Terminal(argv, cwd=project, env=variables, rows=16, columns=_COLUMNS) as terminal:
            terminal.wait_for_screen(_MODEL)
            terminal.send("/memory\r")
            terminal.wait_for_screen("^D forgets")
            terminal.send("\x1b[B")
            terminal.wait_for_screen("updated 3 days ago")
            path = _save(terminal, folder / f"memory-{theme}.svg", theme, _NOTES)
            terminal.send("\x1b")
            terminal.wait_gone("^D forgets")
            terminal.send("\x04")
            terminal.wait_exit()
        server.assert_clean()
    return path


def _make_project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "cart.py").write_text(_CODE, encoding="utf-8")
    (folder / "test_cart.py").write_text(_TEST, encoding="utf-8")
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    return folder


def _save(terminal: Terminal, path: Path, theme: ThemeName, title: str, begin: str = "") -> Path:
    """``begin``: what the first line of the picture begins with; without it all of the screen is taken."""
    top = next((row for row, line in enumerate(terminal.lines()) if begin and line.startswith(begin)), 0)
    path.write_text(svg(terminal.screen, theme, title, top), encoding="utf-8")
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the pictures and names them; the exit code is 0."""
    parser = argparse.ArgumentParser(prog="scripts/pictures", description="Makes the README's pictures.")
    parser.add_argument("--to", type=Path, default=PICTURES, metavar="DIR", help="default: docs/pictures")
    folder = parser.parse_args(arguments).to
    folder.mkdir(parents=True, exist_ok=True)
    for path in take_pictures(folder):
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
