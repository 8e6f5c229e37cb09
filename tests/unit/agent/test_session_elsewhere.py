"""A project folder that a repository brings as a link: sessions do not follow it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mewcode.agent.session import Session
from tests.support.sample_session import hold, project_in, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer


@pytest.mark.parametrize("name", [".mewcode", ".mewcode/sessions"])
@pytest.mark.parametrize("trust", [False, True])
def test_sessions_follow_a_link_only_where_the_folder_is_trusted(
    tmp_path: Path, name: str, trust: bool
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = project_in(tmp_path) / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere)

    async def scenario(session: Session) -> None:
        await take_turn(session, "secret words")
        assert len(session.agent.conversation.messages) == 2
        if trust:
            assert session.archive.failing is None
        else:
            assert f"{name} is a link" in (session.archive.failing or "")
            assert session.archive.keep_result("call", "text") is None
            assert (session.settings.prune, session.settings.briefs) == (False, False)

    hold(tmp_path, ScriptedProvider(answer("hi")), scenario, trust=trust)
    assert bool(list(elsewhere.rglob("conversation.jsonl"))) is trust
    assert trust or not list(elsewhere.iterdir())


def test_a_user_folder_that_is_a_link_is_the_users_own(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    home = tmp_path / "home"
    (tmp_path / "project").symlink_to(home)  # the start is in HOME
    home.mkdir()
    (home / ".mewcode").symlink_to(elsewhere)

    async def scenario(session: Session) -> None:
        await take_turn(session, "hello")
        assert session.archive.failing is None

    hold(tmp_path, ScriptedProvider(answer("hi")), scenario)
    assert list((elsewhere / "home-project" / "sessions").rglob("conversation.jsonl"))
