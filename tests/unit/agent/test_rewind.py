"""Going back to an earlier message: the conversation, the files, or both; and back again."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mewcode.agent.conversation import new_message
from mewcode.agent.rewind import RewindReport, points, preview, preview_undo, rewind, undo_rewind
from mewcode.agent.session import Session
from mewcode.core.errors import SessionError
from mewcode.core.message import Text, ToolCall
from mewcode.core.outcome import TodoItem
from mewcode.sessions.record import Totals
from tests.support.sample_session import hold, project_in, records, take_turn
from tests.support.scripted_provider import Answer, Hold, ScriptedProvider, answer, call

Scenario = Callable[[Session], Awaitable[None]]


def write(path: str, content: str) -> ToolCall:
    return call("write_file", {"path": path, "content": content})


def edit(path: str, old: str, new: str) -> ToolCall:
    return call("edit_file", {"path": path, "edits": [{"old_text": old, "new_text": new}]})


def turns(*calls: ToolCall) -> list[Answer]:
    """The answers of one turn for each call: the call, and a last word."""
    answers: list[Answer] = []
    for made in calls:
        answers += [answer(made), answer("done")]
    return answers


def play(tmp_path: Path, answers: list[Answer], scenario: Scenario, **options: Any) -> Session:
    provider = ScriptedProvider(*answers)
    return hold(tmp_path, provider, scenario, **{"mode": "bypass", **options})


async def say(session: Session, *prompts: str) -> None:
    for prompt in prompts:
        await take_turn(session, prompt)


async def back(session: Session, text: str, **how: Any) -> RewindReport:
    """Rewinds to the message of this text."""
    point = next(point for point in await points(session) if point.text == text)
    return await rewind(session, point.id, **{"conversation": True, "files": True, **how})


def texts(session: Session) -> list[str]:
    return [message.text for message in session.agent.conversation.messages if message.role == "user"]


def names(changes: Any) -> list[str]:
    return [change.shown for change in changes]


def test_conversation_and_files_go_back_and_forth(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    new, old = project / "neu/新.txt", project / "old.txt"
    old.write_text("eins\nzwei\n", encoding="utf-8")
    calls = [
        write("neu/新.txt", "a\nb\n"),
        call("read_file", {"path": "old.txt"}),
        edit("old.txt", "zwei", "2"),
    ]

    async def scenario(session: Session) -> None:
        await say(session, "第一\nmore", "read", "change")
        found = await points(session)
        assert [(point.turn, point.text, point.files) for point in found] == [
            (1, "第一", 2),
            (2, "read", 1),
            (3, "change", 1),
        ]
        assert all(point.restorable for point in found)
        changes = await preview(session, found[0].id)
        assert [(change.shown, change.action, change.added, change.removed) for change in changes] == [
            ("neu/新.txt", "delete", 0, 2),
            ("old.txt", "rewrite", 1, 1),
        ]
        before = list(session.agent.conversation.messages)

        report = await back(session, "第一")
        assert (report.text, report.conversation, report.messages) == ("第一\nmore", True, len(before))
        assert names(report.restored) == ["neu/新.txt", "old.txt"]
        assert not new.parent.exists()
        assert old.read_text("utf-8") == "eins\nzwei\n"
        assert session.agent.conversation.messages == []
        assert session.archive.head is None
        assert old not in session.tools.session.reads

        again = await undo_rewind(session)
        assert (again.text, again.messages) == ("", -len(before))
        assert session.agent.conversation.messages == before
        assert session.archive.head == before[-1].id
        assert (new.read_text("utf-8"), old.read_text("utf-8")) == ("a\nb\n", "eins\n2\n")

        await undo_rewind(session)
        assert session.agent.conversation.messages == []
        assert not new.exists()

    play(tmp_path, turns(*calls), scenario)


def test_the_conversation_alone(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        await say(session, "one", "two")
        report = await back(session, "two", files=False)
        assert (names(report.restored), report.text, texts(session)) == ([], "two", ["one"])
        assert (tmp_path / "project/b").exists()
        await say(session, "three")
        assert texts(session) == ["one", "three"]
        # "two" is on no branch any more, but its file belongs to what came after "one".
        assert [(point.text, point.files) for point in await points(session)] == [("one", 3), ("three", 1)]
        await back(session, "one")
        assert sorted(os.listdir(tmp_path / "project")) == [".mewcode"]

    play(tmp_path, turns(write("a", "1"), write("b", "2"), write("c", "3")), scenario)


def test_the_files_alone(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        await say(session, "one", "two")
        report = await back(session, "two", conversation=False)
        assert (report.text, report.conversation, report.messages) == ("", False, 0)
        assert texts(session) == ["one", "two"]
        assert not (tmp_path / "project/b").exists()
        assert (tmp_path / "project/a").exists()
        await undo_rewind(session)
        assert (tmp_path / "project/b").read_text() == "2"

    play(tmp_path, turns(write("a", "1"), write("b", "2")), scenario)


def test_what_someone_else_changed_is_named_and_kept(tmp_path: Path) -> None:
    path = project_in(tmp_path) / "a"

    async def scenario(session: Session) -> None:
        await say(session, "one")
        path.write_text("the user's own")
        report = await back(session, "one", conversation=False)
        assert (names(report.restored), names(report.conflicts)) == ([], ["a"])
        assert "someone else" in report.conflicts[0].conflict
        assert path.read_text() == "the user's own"
        forced = await back(session, "one", conversation=False, force=True)
        assert names(forced.restored) == ["a"]
        assert not path.exists()
        await undo_rewind(session)
        assert path.read_text() == "the user's own"

    play(tmp_path, turns(write("a", "1")), scenario)


def test_an_edit_of_the_users_between_two_of_the_models_is_a_conflict(tmp_path: Path) -> None:
    path = project_in(tmp_path) / "a"
    calls = [write("a", "1"), call("read_file", {"path": "a"}), write("a", "2")]

    async def scenario(session: Session) -> None:
        await say(session, "one")
        path.write_text("the user's own")
        await say(session, "two", "three")
        assert names((await back(session, "one")).conflicts) == ["a"]
        assert path.read_text() == "2"
        await undo_rewind(session)
        # Since the user's edit only the model has changed it.
        assert names((await back(session, "three")).restored) == ["a"]
        assert path.read_text() == "the user's own"

    play(tmp_path, turns(*calls), scenario)


def test_an_undo_says_before_what_it_would_leave_and_can_be_forced(tmp_path: Path) -> None:
    path = project_in(tmp_path) / "a"
    calls = [call("write_file", {"path": "a", "content": "1"})]

    async def scenario(session: Session) -> None:
        await say(session, "one")
        await back(session, "one")
        assert [change.conflict for change in await preview_undo(session)] == [""]
        path.write_text("the user's own")
        assert [change.path for change in await preview_undo(session) if change.conflict] == [str(path)]
        assert names((await undo_rewind(session, force=True)).restored) == ["a"]
        assert path.read_text() == "1"

    play(tmp_path, turns(*calls), scenario)


def test_no_rewind_while_a_turn_runs_and_no_turn_while_one_rewinds(tmp_path: Path) -> None:
    waiting = Hold()

    async def scenario(session: Session) -> None:
        await say(session, "one")
        point = (await points(session))[0].id
        async with session.run("two") as run:
            await waiting.reached.wait()
            with pytest.raises(SessionError, match="a turn is running"):
                await rewind(session, point, conversation=True, files=True)
            with pytest.raises(SessionError, match="a turn is running"):
                await undo_rewind(session)
            waiting.release.set()
            async for _ in run:
                pass
        with pytest.raises(SessionError, match="no rewind"):
            await preview_undo(session)
        with pytest.raises(SessionError, match="no rewind"):
            await undo_rewind(session)
        with pytest.raises(SessionError, match="not in this conversation"):
            await rewind(session, "nowhere", conversation=True, files=True)

    play(tmp_path, [answer("done"), [waiting, *answer("done")]], scenario)


def test_the_next_request_begins_as_an_earlier_one(tmp_path: Path) -> None:
    provider = ScriptedProvider(*(answer(f"answer {n}") for n in range(4)))

    async def scenario(session: Session) -> None:
        await say(session, "one", "two", "three")
        await back(session, "two")
        await say(session, "other")

    session = hold(tmp_path, provider, scenario)
    earlier, latest = provider.requests[1].messages, provider.requests[3].messages
    assert latest[:2] == earlier[:2]
    assert [message.text for message in latest] == ["one", "answer 0", "other"]
    assert [record["type"] for record in records(session) if "type" in record].count("rewind") == 1
    assert session.usage_by_model["sample-model"].output_tokens == 4 * 5  # what was used was used


def test_todos_modes_and_reminders_go_with_it(tmp_path: Path) -> None:
    def todo(*items: str) -> ToolCall:
        return call("todo", {"items": [{"text": item} for item in items]})

    provider = ScriptedProvider(*turns(todo("plan"), todo("plan", "more")), answer("done"))

    async def scenario(session: Session) -> None:
        await say(session, "one")
        session.use_mode("plan")
        await say(session, "two")
        session.use_mode("default")
        await back(session, "two")
        assert session.tools.session.todos == [TodoItem("plan")]
        await say(session, "three")

    hold(tmp_path, provider, scenario)
    said = " ".join(message.text for message in provider.requests[-1].messages)
    assert "Plan mode" not in said  # it was never told of it on this way


def test_what_was_said_of_a_mode_is_said_anew_where_it_does_not_hold(tmp_path: Path) -> None:
    provider = ScriptedProvider(*(answer(str(number)) for number in range(5)))

    async def scenario(session: Session) -> None:
        session.use_mode("plan")
        await say(session, "one", "two")
        await back(session, "two")
        await say(session, "still")  # it knows
        session.use_mode("default")
        await say(session, "off")
        await back(session, "off")
        await say(session, "again")

    hold(tmp_path, provider, scenario)
    said = [message.text for message in provider.requests[-1].messages if message.origin == "reminder"]
    assert ["Plan mode is on" in text for text in said] == [True, False]
    assert "Plan mode is off" in said[1]


def test_a_resumed_session_reaches_back_and_can_still_undo(tmp_path: Path) -> None:
    project = project_in(tmp_path)

    async def first(session: Session) -> None:
        await say(session, "one", "two")
        await back(session, "two")

    play(tmp_path, turns(write("a", "1"), write("b", "2")), first)
    assert not (project / "b").exists()

    async def second(session: Session) -> None:
        assert texts(session) == ["one"]
        await preview_undo(session)
        await undo_rewind(session)
        assert texts(session) == ["one", "two"]
        assert (project / "b").read_text() == "2"
        report = await back(session, "one")
        assert names(report.restored) == ["a", "b"]
        assert not (project / "a").exists()
        await say(session, "anew")

    play(tmp_path, [answer("hello")], second, continue_newest=True)

    async def third(session: Session) -> None:
        assert texts(session) == ["anew"]

    play(tmp_path, [], third, continue_newest=True)


def test_a_fork_has_the_checkpoints_of_what_it_continues(tmp_path: Path) -> None:
    project = project_in(tmp_path)

    async def scenario(session: Session) -> None:
        await say(session, "one")
        old = session.archive.folder
        await session.fork()
        await say(session, "two")
        report = await back(session, "one")
        assert names(report.restored) == ["a", "b"]
        assert not (project / "a").exists()
        index = (old / "checkpoints/index.jsonl").read_text().splitlines()
        assert [json.loads(line)["type"] for line in index] == ["before", "after"]

    play(tmp_path, turns(write("a", "1"), write("b", "2")), scenario)


def test_nothing_is_on_disk_before_the_first_change(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        await say(session, "one", "two")
        assert [point.files for point in await points(session)] == [0, 0]
        assert not (session.archive.folder / "checkpoints").exists()

    play(tmp_path, turns(call("read_file", {"path": "none"}), call("bash", {"command": "echo hi"})), scenario)


def test_a_new_file_stays_where_it_cannot_be_kept(tmp_path: Path) -> None:
    path = project_in(tmp_path) / "a"

    async def scenario(session: Session) -> None:
        await say(session, "one")
        (session.archive.folder / "checkpoints").write_text("a file in the way")
        await say(session, "write")
        report = await back(session, "write")
        assert (names(report.failed), path.read_text()) == (["a"], "new")
        assert report.failed[0].impossible.startswith("what stands there cannot be kept: ")
        assert "it could not be kept" not in report.failed[0].impossible

    play(tmp_path, turns(call("list_dir", {"path": "."}), write("a", "new")), scenario)


def test_a_write_does_not_fail_where_no_checkpoint_can_be_taken(tmp_path: Path) -> None:
    path = project_in(tmp_path) / "a"
    path.write_text("old")

    async def scenario(session: Session) -> None:
        await say(session, "read")
        (session.archive.folder / "checkpoints").write_text("a file in the way")
        await say(session, "write")
        assert path.read_text() == "new"
        point = (await points(session))[-1]
        assert (point.files, point.restorable) == (1, False)
        report = await back(session, "write")
        assert (names(report.failed), path.read_text()) == (["a"], "new")
        assert "could not be kept" in report.failed[0].impossible
        assert any("can be undone only while" in note for note in report.notes)

    play(tmp_path, turns(call("read_file", {"path": "a"}), write("a", "new")), scenario)


def test_behind_a_compaction(tmp_path: Path) -> None:
    """A compaction begins the conversation anew; what stood before it can still be gone back to."""
    project = project_in(tmp_path)

    async def first(session: Session) -> None:
        await say(session, "one", "two", "three")
        conversation = session.agent.conversation
        summary = new_message("user", (Text("all before"),), "compaction")
        kept = (summary, *conversation.messages[-4:])
        conversation.begin_anew(session.archive.compact(kept, turns=3, totals=Totals()))
        await say(session, "four")
        assert [point.text for point in await points(session)] == ["one", "two", "three", "four"]
        await back(session, "four")
        assert texts(session) == ["all before", "three"]
        report = await back(session, "two")
        assert (names(report.restored), texts(session)) == (["b", "c"], ["one"])
        assert sorted(os.listdir(project)) == [".mewcode", "a"]
        await undo_rewind(session)
        assert texts(session) == ["all before", "three"]
        await back(session, "two", conversation=True)
        await say(session, "five")

    play(
        tmp_path,
        [*turns(write("a", "1"), write("b", "2"), write("c", "3"), write("d", "4")), answer("ok")],
        first,
    )

    async def second(session: Session) -> None:
        assert texts(session) == ["one", "five"]

    play(tmp_path, [], second, continue_newest=True)


def test_what_was_said_meanwhile_is_a_point_too(tmp_path: Path) -> None:
    def interject(session: Session) -> None:
        session.agent.interjections.put("meanwhile")

    provider = ScriptedProvider(
        answer(write("a", "1")), answer(write("b", "2")), answer("done"), answer("ok")
    )

    async def scenario(session: Session) -> None:
        interject(session)
        await say(session, "one")
        assert [(point.text, point.files) for point in await points(session)] == [
            ("one", 2),
            ("meanwhile", 1),
        ]
        await back(session, "meanwhile")
        assert (tmp_path / "project/a").exists()
        assert not (tmp_path / "project/b").exists()
        await say(session, "two")

    hold(tmp_path, provider, scenario, mode="bypass")
    roles = [message.role for message in provider.requests[-1].messages]
    assert roles == ["user", "assistant", "tool", "user"]
