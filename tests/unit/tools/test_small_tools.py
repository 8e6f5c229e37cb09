"""list_dir, todo, ask_user, and work in a thread."""

from __future__ import annotations

import asyncio
import os
import socket
import threading

import pytest

from mewcode.core.errors import ToolError
from mewcode.core.events import Question
from mewcode.core.outcome import TodoItem, TodoView
from mewcode.tools.ask_user import AskUserTool
from mewcode.tools.in_thread import Stopped, in_thread
from mewcode.tools.list_dir import ListDirTool
from mewcode.tools.registry import decode_args
from mewcode.tools.todo import TodoTool
from tests.unit.tools.file_session import answer, call, make_context, make_session, read_paths

LIST, TODO, ASK = ListDirTool(), TodoTool(), AskUserTool()


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path)


def test_list_dir_marks_what_is_what(session):
    root = session.root
    (root / "src").mkdir()
    (root / ".git").mkdir()
    (root / "Read.me").write_bytes(b"x" * 1500)
    (root / "a.txt").write_bytes(b"x")
    (root / "link").symlink_to("a.txt")
    os.mkfifo(root / "pipe")
    assert answer(LIST, session).split("\n") == [
        ".git/",
        "src/",
        "a.txt  1 B",
        "link@ -> a.txt",
        "pipe  (pipe)",
        "Read.me  1.5 KB",
    ]


def test_list_dir_is_bounded(session):
    for number in range(520):
        (session.root / f"{number:03}").touch()
    lines = answer(LIST, session).split("\n")
    assert lines[499:] == ["499  0 B", "[20 more entries; narrow it with glob]"]


def test_list_dir_of_other_places(session):
    (session.root / "empty").mkdir()
    (session.root / "file").touch()
    assert answer(LIST, session, path="empty") == "empty is empty."
    with pytest.raises(ToolError, match="is a file, not a folder"):
        answer(LIST, session, path="file")
    with pytest.raises(ToolError, match="Similar names there: empty"):
        answer(LIST, session, path="emty")


def test_list_dir_shows_sockets_and_safe_names(session, monkeypatch):
    monkeypatch.chdir(session.root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        (session.root / "evil\x1b[2J\nname").touch()
        outcome = call(LIST, session)
    assert outcome.content[0].text == "evil\x1b[2J\\nname  0 B\ns  (socket)"
    assert "\x1b" not in outcome.view.body
    assert outcome.view.summary == "2 entries"


def test_list_dir_accesses(session, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside").resolve()
    (session.root / "door").symlink_to(outside)
    assert read_paths(LIST, session) == [str(session.root)]
    assert read_paths(LIST, session, path="door") == [str(outside)]
    assert read_paths(LIST, session, path="..") == [str(session.root.parent)]


def test_todo_replaces_the_list(session):
    first = session.todos
    outcome = call(TODO, session, items=[{"text": "one", "status": "done"}, {"text": "two"}])
    assert outcome.content[0].text == "The list is updated: 1 done, 0 in progress, 1 pending."
    assert outcome.view == TodoView((TodoItem("one", "done"), TodoItem("two", "pending")))
    assert session.todos == [TodoItem("one", "done"), TodoItem("two", "pending")]
    assert answer(TODO, session, items=[]) == "The list is empty."
    assert session.todos is first
    assert session.todos == []


def test_todo_takes_three_states(session):
    with pytest.raises(ToolError, match="expected one of done, in_progress, pending"):
        call(TODO, session, items=[{"text": "x", "status": "open"}])
    args = decode_args(TODO, {"items": '[{"text": "x", "status": "done"}]'})
    assert TODO.summary(args, session) == ""


CHOICES = [{"label": "Yes", "description": "Do it."}, {"label": "No\x1b[0m"}]


def ask(session, ask_user, **args):
    decoded = decode_args(ASK, {"question": "Which?", "choices": CHOICES, **args})
    return asyncio.run(ASK.run(decoded, make_context(session, ask_user))).content[0].text


def test_ask_user_hands_on_the_question(session):
    asked = []

    async def user(question):
        asked.append(question)
        return "No"

    assert ask(session, user) == "The user answered: No"
    assert asked == [Question("Which?", (("Yes", "Do it."), ("No", "")))]


def test_ask_user_without_an_answer(session):
    async def user(question):
        return None

    assert ask(session, user).startswith("The user declined")
    assert "state the assumption" in ask(session, None)


@pytest.mark.parametrize("count", [1, 5])
def test_ask_user_takes_two_to_four_choices(session, count):
    with pytest.raises(ToolError, match="choices:"):
        ask(session, None, choices=[{"label": str(number)} for number in range(count)])


def test_work_in_a_thread_ends_with_its_call():
    inside, ended = threading.Event(), threading.Event()

    def work(stop):
        inside.set()
        try:
            while True:
                stop.check()
        except Stopped:
            ended.set()
            raise

    async def scenario():
        task = asyncio.ensure_future(in_thread(work))
        await asyncio.get_running_loop().run_in_executor(None, inside.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(scenario())


def test_errors_of_the_work_come_back():
    def work(stop):
        assert stop.wanted
        raise ToolError("no")

    with pytest.raises(ToolError, match="no"):
        asyncio.run(in_thread(work))
