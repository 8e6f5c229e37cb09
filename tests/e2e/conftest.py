"""A project and a home for each end-to-end test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.adverse import MODEL, Start
from tests.support.fake_llm import FakeLLM, Reply
from tests.support.program import PROGRAM, environment
from tests.support.terminal import Terminal


@pytest.fixture
def fake_llm(fake_llm: FakeLLM) -> FakeLLM:
    """What the program asks beside the conversation, for a title or a brief, is refused, and uses up no
    script; a test that is about it sets another `FakeLLM.aside`."""
    fake_llm.aside = Reply.error(400, message="nothing beside the conversation")
    return fake_llm


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def start(fake_llm: FakeLLM, project: Path, home: Path) -> Iterator[Start]:
    """Starts the program in a terminal; closes it at the end of the test. ``before`` makes another command of
    the program's."""
    with ExitStack() as stack:

        def run(
            *arguments: str,
            rows: int = 24,
            columns: int = 80,
            before: Callable[[Sequence[str]], list[str]] = list,
            **env: str,
        ) -> Terminal:
            variables = environment(home, anthropic=fake_llm.url) | env
            argv = before([*PROGRAM, "--model", MODEL, *arguments])
            return stack.enter_context(Terminal(argv, cwd=project, env=variables, rows=rows, columns=columns))

        yield run
