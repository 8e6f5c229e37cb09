"""What the model hears of instructions in a conversation that goes on, goes back, is left and continued."""

from __future__ import annotations

from pathlib import Path

import pytest

from mewcode.agent.rewind import points, rewind
from mewcode.agent.session import Session
from mewcode.instructions import gate
from tests.support.sample_session import hold, project_in, take_turn
from tests.support.scripted_provider import Answer, ScriptedProvider, answer, call

LIB = "Instructions that hold for what was just touched:"


def reads(count: int) -> list[Answer]:
    """Turns that each read ``lib/x.py``."""
    return [
        part for _ in range(count) for part in (answer(call("read_file", {"path": "lib/x.py"})), answer("ok"))
    ]


def project_with_lib(tmp_path: Path) -> Path:
    project = project_in(tmp_path)
    (project / "lib").mkdir()
    (project / "lib/x.py").write_text("x = 1\n")
    (project / "lib/MEWCODE.md").write_text("LIB 规则\n")
    (project / "MEWCODE.md").write_text("Ours.\n")
    return project


def told(session: Session, words: str) -> int:
    messages = session.agent.conversation.messages
    return sum(words in message.text for message in messages if message.origin == "reminder")


def test_a_folder_is_told_of_once_and_again_after_going_back(tmp_path: Path) -> None:
    project = project_with_lib(tmp_path)

    async def scenario(session: Session) -> None:
        await take_turn(session, "one")
        await take_turn(session, "two")
        assert told(session, LIB) == 1
        assert told(session, "LIB 规则") == 1
        [first, _] = await points(session)
        await rewind(session, first.id, conversation=True, files=False)
        assert told(session, LIB) == 0
        await take_turn(session, "three")
        assert told(session, LIB) == 1
        assert (project / "lib/x.py").exists()

    hold(tmp_path, ScriptedProvider(*reads(3)), scenario)


def test_a_change_since_the_session_was_warmed_up_goes_along_with_the_first_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "_MOMENT", 0.0)  # as though the user had taken their time
    project = project_with_lib(tmp_path)

    async def scenario(session: Session) -> None:
        await session.warm()
        (project / "MEWCODE.md").write_text("Theirs.\n")
        await take_turn(session, "one")
        assert told(session, "+Theirs.") == 1

    hold(tmp_path, ScriptedProvider(answer("ok")), scenario)


def test_what_changes_a_moment_after_the_prompt_was_built_goes_along_with_a_later_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "_MOMENT", 1_000.0)
    project = project_with_lib(tmp_path)

    async def scenario(session: Session) -> None:
        await session.prepare()
        (project / "MEWCODE.md").write_text("Theirs.\n")
        await take_turn(session, "one")
        assert told(session, "+Theirs.") == 0
        await take_turn(session, "two")
        assert told(session, "+Theirs.") == 1

    hold(tmp_path, ScriptedProvider(answer("ok"), answer("ok")), scenario)


def test_a_prompt_made_anew_leaves_what_tools_came_upon_to_be_told(tmp_path: Path) -> None:
    project = project_with_lib(tmp_path)

    async def scenario(session: Session) -> None:
        await take_turn(session, "one")
        (project / "MEWCODE.md").write_text("Theirs.\n")
        (project / "lib/MEWCODE.md").write_text("LIB 新\n")
        assert await session.reload() == ("MEWCODE.md", "lib/MEWCODE.md")
        await take_turn(session, "two")
        assert told(session, "+Theirs.") == 0
        assert told(session, "+LIB 新") == 1

    hold(tmp_path, ScriptedProvider(*reads(2)), scenario)


def test_a_change_that_was_rewound_is_told_again(tmp_path: Path) -> None:
    project = project_with_lib(tmp_path)

    async def scenario(session: Session) -> None:
        await take_turn(session, "one")
        (project / "MEWCODE.md").write_text("Theirs.\n")
        await take_turn(session, "two")
        await take_turn(session, "three")
        assert told(session, "+Theirs.") == 1
        [_, second, third] = await points(session)
        await rewind(session, third.id, conversation=True, files=False)
        await take_turn(session, "still known")
        assert told(session, "+Theirs.") == 1
        await rewind(session, second.id, conversation=True, files=False)
        assert told(session, "+Theirs.") == 0
        await take_turn(session, "told again")
        assert told(session, "+Theirs.") == 1

    hold(tmp_path, ScriptedProvider(*(answer("ok") for _ in range(5))), scenario)


def test_a_continued_session_hears_of_a_folder_only_what_is_new(tmp_path: Path) -> None:
    project = project_with_lib(tmp_path)

    async def first(session: Session) -> None:
        await take_turn(session, "one")

    async def second(session: Session) -> None:
        await take_turn(session, "two")
        assert told(session, LIB) == 1

    async def third(session: Session) -> None:
        await take_turn(session, "three")
        assert told(session, LIB) == 2
        assert told(session, "REWRITTEN") == 1

    hold(tmp_path, ScriptedProvider(*reads(1)), first)
    hold(tmp_path, ScriptedProvider(*reads(1)), second, continue_newest=True)
    (project / "lib/MEWCODE.md").write_text("REWRITTEN\n")
    hold(tmp_path, ScriptedProvider(*reads(1)), third, continue_newest=True)


def test_a_cleared_conversation_is_told_anew(tmp_path: Path) -> None:
    project_with_lib(tmp_path)

    async def scenario(session: Session) -> None:
        await take_turn(session, "one")
        session.clear()
        await take_turn(session, "two")
        assert told(session, LIB) == 1

    hold(tmp_path, ScriptedProvider(*reads(2)), scenario)


def test_a_reload_of_what_no_prompt_holds_is_told(tmp_path: Path) -> None:
    project = project_with_lib(tmp_path)

    async def scenario(session: Session) -> None:
        await take_turn(session, "one")
        (project / "lib/MEWCODE.md").write_text("REWRITTEN\n")
        assert await session.reload() == ("lib/MEWCODE.md",)
        await take_turn(session, "two")
        assert told(session, "+REWRITTEN") == 1
        assert "Ours." in "".join(session.agent.system)

    hold(tmp_path, ScriptedProvider(*reads(1), answer("ok")), scenario)
