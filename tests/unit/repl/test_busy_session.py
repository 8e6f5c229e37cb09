"""A session that another window holds: what the user is asked, and what comes of each answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mewcode.core.errors import SessionBusy, SessionError, SessionForeign
from mewcode.repl import busy_session
from mewcode.repl.busy_session import Waiting, holder_words, open_or_ask
from mewcode.repl.panel import Option

FOLDER = Path("/nowhere/20260101-100000-aaaa")
BUSY = SessionBusy("in use", "", 4242, 1_000_000.0, FOLDER)


class User:
    """Answers from a list; says what was shown."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.seen: list[Path] = []
        self.waiting = Waiting(lambda: None)

    async def choose(self, title: str, options: tuple[Option, ...], selected: int = 0) -> str | None:
        self.asked.append((title, tuple(option.value for option in options)))
        return self.answers.pop(0)

    async def read(self, folder: Path) -> None:
        self.seen.append(folder)

    async def wait(self, words: str, open_: Callable[[], Awaitable[str]]) -> str | None:
        return await self.waiting.wait(words, open_)


class Door:
    """A session that is held for so many tries; a copy is always to be had."""

    def __init__(self, held: int, busy: SessionBusy = BUSY) -> None:
        self.held = held
        self.busy = busy
        self.tries: list[bool] = []

    async def open(self, fork: bool) -> str:
        self.tries.append(fork)
        if fork:
            return "copy"
        if self.held:
            self.held -= 1
            raise self.busy
        return "itself"


def opened(door: Door, user: User) -> str | None:
    return asyncio.run(open_or_ask(door.open, user, lambda: 1_000_000.0))


def test_nobody_is_asked_where_it_is_free() -> None:
    user = User()
    assert opened(Door(0), user) == "itself"
    assert user.asked == []


def test_it_is_read_and_then_the_question_comes_back() -> None:
    user = User("view", "view", "fork")
    assert opened(Door(9), user) == "copy"
    assert user.seen == [FOLDER, FOLDER]
    title, options = user.asked[0]
    assert "open in another window (process 4242, since " in title
    assert options == ("view", "fork", "wait", "cancel")


@pytest.mark.parametrize("answer", ["cancel", None])
def test_who_leaves_it_gets_nothing(answer: str | None) -> None:
    door = Door(9)
    assert opened(door, User(answer)) is None
    assert door.tries == [False]


def test_a_copy_that_is_held_too_leads_back_to_the_question() -> None:
    door = Door(2)

    async def never_a_copy(fork: bool) -> str:
        return await door.open(False if fork else fork)

    assert asyncio.run(open_or_ask(never_a_copy, User("fork", "wait"))) == "itself"


def test_who_waits_gets_it_once_it_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy_session, "_POLL", 0.0)
    door = Door(5)
    user = User("wait")
    assert opened(door, user) == "itself"
    assert len(door.tries) == 6
    assert user.waiting.words == ""


def test_waiting_can_be_stopped_and_leads_back_to_the_question() -> None:
    async def scenario() -> None:
        door = Door(10**9)
        user = User("wait", "cancel")
        shown: list[str] = []

        def changed() -> None:
            shown.append(user.waiting.words)
            if user.waiting.words:
                asyncio.get_running_loop().call_soon(user.waiting.stop)

        user.waiting = Waiting(changed)
        assert await open_or_ask(door.open, user, lambda: 1_000_000.0) is None
        assert shown[0].startswith("waiting for process 4242, since")
        assert shown[1:] == [""]
        assert len(user.asked) == 2
        assert not user.waiting.stop()

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_what_else_goes_wrong_is_raised_while_waiting() -> None:
    async def gone() -> str:
        raise SessionError("deleted")

    async def scenario() -> None:
        waiting = Waiting(lambda: None)
        with pytest.raises(SessionError, match="deleted"):
            await waiting.wait("waiting", gone)
        assert waiting.words == ""

    asyncio.run(scenario())


def test_without_its_folder_it_cannot_be_read() -> None:
    user = User("cancel")
    opened(Door(1, SessionBusy("in use")), user)
    assert user.asked == [("open in another window (another process)", ("fork", "wait", "cancel"))]


def test_the_day_is_told_where_it_is_another() -> None:
    noon = time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1))
    assert holder_words(SessionBusy("", "", 7, noon - 60), noon) == "process 7, since 11:59"
    assert holder_words(SessionBusy("", "", 7, noon - 86_400), noon) == "process 7, since 2026-03-03 12:00"
    assert holder_words(SessionBusy("", "", 7, noon + 86_400 * 30), noon).endswith("2026-04-03 12:00")
    assert holder_words(SessionBusy("", "", 0, noon - 60), noon) == "another process, since 11:59"
    assert holder_words(SessionBusy("", "", 0, 0.0), noon) == "another process"


# A session that came with a folder.


class Gate:
    """Opens once its folder is trusted; ``sticks``: whether that can be remembered."""

    def __init__(self, *, sticks: bool = True) -> None:
        self.sticks = sticks
        self.trusted: list[Path] = []
        self.tries = 0

    async def open(self, fork: bool) -> str:
        self.tries += 1
        if not self.trusted or not self.sticks:
            brings = tuple(f"config.yaml:{line}: hooks" for line in range(1, 11))
            raise SessionForeign("not made by you", "--trust", Path("/srv/x\x1b[2J\nSafe."), brings)
        return "itself"


def asked(gate: Gate, user: User, *, trusts: bool = True) -> str | None:
    trust = gate.trusted.append if trusts else None
    return asyncio.run(open_or_ask(gate.open, user, trust=trust))


def test_a_yes_is_remembered_and_the_session_opened() -> None:
    gate, user = Gate(), User("yes")
    assert asked(gate, user) == "itself"
    assert gate.trusted == [Path("/srv/x\x1b[2J\nSafe.")]
    [(title, options)] = user.asked
    assert options == ("no", "yes")  # what Enter takes is a no
    assert "not made by you: the folder brought it" in title
    assert "- config.yaml:8: hooks\n- and 2 more" in title
    assert "\x1b" not in title
    assert "\nSafe." not in title


@pytest.mark.parametrize("answer", ["no", None])
def test_all_else_is_a_no(answer: str | None) -> None:
    gate = Gate()
    with pytest.raises(SessionForeign, match="--trust"):
        asked(gate, User(answer))
    assert (gate.trusted, gate.tries) == ([], 1)


def test_nobody_is_asked_twice_or_where_nobody_can_be() -> None:
    gate = Gate(sticks=False)
    with pytest.raises(SessionForeign):
        asked(gate, User("yes"))
    assert gate.tries == 2
    user = User()
    with pytest.raises(SessionForeign):
        asked(Gate(), user, trusts=False)
    assert user.asked == []
