"""The numbered list of sessions: titles that the catalogue knows, and what a look tells of the others."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from mewcode.repl.session_list import session_options
from mewcode.sessions.browse import open_catalog
from mewcode.sessions.workspaces import Workspace
from tests.support.archive import head, make_session, said

OLD, NEW, FORK = "20260101-100000-aaaa", "20260102-100000-bbbb", "20260103-100000-cccc"
LONG = "the first of many words " * 130_000


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "sessions"
    make_session(folder, OLD, head(OLD), said("u", LONG, 2), mtime=1_000.0)
    make_session(folder, NEW, head(NEW), said("u", "解析器 \x1b[2J fix", 2), mtime=2_000.0)
    make_session(folder, FORK, head(FORK, parent_session=OLD), mtime=3_000.0)
    return folder


def titles(sessions: Path) -> dict[str, str]:
    options = session_options(sessions, 3_060.0)
    assert [option.value for option in options] == [FORK, NEW, OLD]
    assert options[0].description == "1 min 0 s ago"
    return {option.value: option.label for option in options}


def test_what_the_catalogue_knows_is_what_the_picker_shows(sessions: Path) -> None:
    with closing(open_catalog(Workspace(sessions.parent, sessions))) as catalog:
        catalog.refresh()
    found = titles(sessions)
    assert found[OLD].startswith("the first of many words the first")
    assert len(found[OLD]) <= 200
    assert found[FORK] == found[OLD]
    assert found[NEW] == "解析器 fix"


def test_without_it_a_look_at_the_file_tells(sessions: Path) -> None:
    assert titles(sessions) == {FORK: f"(fork of {OLD})", NEW: "解析器 fix", OLD: OLD}
    assert session_options(sessions.parent / "none", 0.0) == ()
