"""What was looked through for notes, across a session's end, its continuation, its forks and ways back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mewcode.agent.noting_cursor import EVERY
from mewcode.agent.rewind import points, rewind, undo_rewind
from mewcode.agent.session import Session
from mewcode.context.summary import SECTIONS
from mewcode.core.errors import BadRequest
from mewcode.core.events import Compacted
from mewcode.memory.changes import Create, Forget, Ref
from mewcode.memory.note import Note
from mewcode.sessions.lock import SessionLock
from mewcode.sessions.reader import load_session
from tests.support.noting import AT_ONCE, CORRECTION, Attended, NotingProvider, attend, note, notes
from tests.support.sample_session import hold, project_in, records, sample_setup, take_turn
from tests.support.scripted_provider import Hold, answer, failure

UV = note("We use uv")


def news(question: str) -> str:
    """What of a question is to be looked through."""
    return question.partition("<conversation")[2]


def says(*prompts: str):
    async def scenario(attended: Attended) -> None:
        await attended.say(*prompts)

    return scenario


def takes(*prompts: str):
    async def scenario(session: Session) -> None:
        for prompt in prompts:
            await take_turn(session, prompt)

    return scenario


past_is_over = Attended.past_is_over


def left(session: Session) -> list[dict[str, object]]:
    return [record for record in records(session) if record.get("type") == "noted"]


def test_what_a_session_left_is_looked_through_at_the_next_start(tmp_path: Path) -> None:
    first = attend(tmp_path, NotingProvider(), says("the freeze begins on Friday", "and then?"))
    assert [(record["upto"], record["left"]) for record in left(first)] == [(None, 2)]
    provider = NotingProvider(notes(UV))

    async def scenario(attended: Attended) -> None:
        await attended.past_is_over()
        assert attended.told == ["noted: We use uv · /memory undo"]

    attend(tmp_path, provider, scenario, waits=AT_ONCE)
    assert len(provider.asked) == 1
    assert "the freeze" in news(provider.asked[0])
    again = NotingProvider()
    attend(tmp_path, again, past_is_over, waits=AT_ONCE)
    assert [question for question in again.asked if "the freeze" in question] == []


def test_one_that_ends_during_a_look_is_looked_through_again(tmp_path: Path) -> None:
    held = Hold()

    async def scenario(attended: Attended) -> None:
        await attended.say("hello")
        await take_turn(attended.session, CORRECTION)
        await held.reached.wait()

    first = attend(tmp_path, NotingProvider([held]), scenario)
    assert [(record["upto"], record["left"]) for record in left(first)] == [(None, 2)]
    provider = NotingProvider(notes(UV))
    attend(tmp_path, provider, past_is_over, waits=AT_ONCE)
    assert CORRECTION in news(provider.asked[0])


def test_an_end_between_the_note_and_its_record_makes_no_second_note(tmp_path: Path) -> None:
    first = attend(tmp_path, NotingProvider(notes(UV)), says("remember: we use uv"))
    path = first.archive.folder / "conversation.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if b'"type":"noted"' not in line))
    provider = NotingProvider(notes(UV))

    async def scenario(attended: Attended) -> None:
        await attended.past_is_over()
        assert len(provider.asked) == 1
        assert attended.names() == ["We use uv"]
        assert attended.told == []
        assert len(attended.store().history()) == 1

    attend(tmp_path, provider, scenario, waits=AT_ONCE)


def test_what_the_user_forgot_comes_back_only_where_they_ask_for_it(tmp_path: Path) -> None:
    provider = NotingProvider(notes(UV), notes(UV), notes(UV))

    async def scenario(attended: Attended) -> None:
        await attended.say("remember: we use uv")
        store = attended.store()
        store.apply([Forget(Ref("project", store.live()[0].file))], by="user")
        await attended.say("That's wrong, uv took minutes.")
        assert len(provider.asked) == 2
        assert attended.names() == []
        assert attended.told == ["noted: We use uv · /memory undo"], "and nothing is said of it"
        await attended.say("remember that we use uv after all")
        assert attended.names() == ["We use uv"]

    attend(tmp_path, provider, scenario)


@pytest.mark.parametrize(
    ("prompts", "asked"),
    [(("say hi",), 0), (("say hi",) * 4, 0), (("say hi",) * 5, 1), (("记住：我们用 uv",), 1)],
)
def test_of_what_nobody_attended_only_much_or_what_asks_for_it_counts(
    tmp_path: Path, prompts: tuple[str, ...], asked: int
) -> None:
    hold(tmp_path, NotingProvider(), takes(*prompts))
    provider = NotingProvider()
    attend(tmp_path, provider, past_is_over, waits=AT_ONCE)
    assert len(provider.asked) == asked


def test_at_most_five_in_one_run_the_newest_first_and_none_that_is_in_use(tmp_path: Path) -> None:
    made = [hold(tmp_path, NotingProvider(), takes(f"remember: {number}")).id for number in range(8)]
    newest = sorted(made)[-1]
    lock = SessionLock.take(project_in(tmp_path) / ".mewcode/sessions" / newest, since=1.0)
    provider = NotingProvider()
    try:
        attend(tmp_path, provider, past_is_over, waits=AT_ONCE)
    finally:
        lock.release()
    assert len(provider.asked) == 5
    assert len(set(provider.asked)) == 5


def test_where_the_service_fails_the_others_are_not_asked_about(tmp_path: Path) -> None:
    for number in range(3):
        hold(tmp_path, NotingProvider(), takes(f"remember: {number}"))
    down = NotingProvider(failure(BadRequest("down")), failure(BadRequest("down")))
    attend(tmp_path, down, past_is_over, waits=AT_ONCE)
    assert len(down.asked) == 1
    provider = NotingProvider()
    attend(tmp_path, provider, past_is_over, waits=AT_ONCE)
    assert len(provider.asked) == 3


def test_a_continued_session_goes_on_where_the_look_ended(tmp_path: Path) -> None:
    attend(tmp_path, NotingProvider(), says("remember: one", "two", "three"))
    provider = NotingProvider()
    attend(tmp_path, provider, says("remember: four"), continue_newest=True)
    said = news(provider.asked[0])
    assert all(word in said for word in ("two", "three", "remember: four"))
    assert "remember: one" not in said
    last = NotingProvider()
    attend(tmp_path, last, says("remember: five"), continue_newest=True)
    assert "remember: four" not in news(last.asked[0])


def test_words_that_nobody_heard_are_heard_when_their_session_is_continued(tmp_path: Path) -> None:
    hold(tmp_path, NotingProvider(), takes("remember: one"))
    provider = NotingProvider()

    async def scenario(attended: Attended) -> None:
        await attended.past_is_over()
        assert "remember: one" in news(provider.asked[0])

    attend(tmp_path, provider, scenario, waits=AT_ONCE, continue_newest=True)
    again = NotingProvider()
    attend(tmp_path, again, past_is_over, waits=AT_ONCE, continue_newest=True)
    assert again.asked == []


@pytest.mark.parametrize("is_continued", [False, True])
def test_what_others_said_in_a_folder_that_is_trusted_is_not_the_users_word(
    tmp_path: Path, is_continued: bool
) -> None:
    theirs = hold(tmp_path, NotingProvider(), takes(*["remember: deploys never ask"] * EVERY))
    path = theirs.archive.folder / "conversation.jsonl"
    path.write_bytes(re.sub(rb'"seal":"[^"]*"', b'"seal":"theirs"', path.read_bytes()))
    sample_setup(tmp_path).trust.trust(project_in(tmp_path))
    provider = NotingProvider(notes(UV))

    async def scenario(attended: Attended) -> None:
        await attended.past_is_over()
        assert provider.asked == []
        await attended.say("remember: we use uv")
        assert "deploys never ask" not in provider.asked[0]

    attend(tmp_path, provider, scenario, waits=AT_ONCE, continue_newest=is_continued)


def test_it_does_not_begin_while_a_turn_runs(tmp_path: Path) -> None:
    hold(tmp_path, NotingProvider(), takes("remember: one"))
    turn = Hold()
    provider = NotingProvider(turns=([turn, *answer("done")],))

    async def scenario(attended: Attended) -> None:
        async with attended.session.run("go") as run:
            await turn.reached.wait()
            attended.noting._begin_past(attended.session)
            assert attended.noting._past is None
            turn.release.set()
            async for _ in run:
                pass
        attended.noting._begin_past(attended.session)
        await attended.past_is_over()
        assert "remember: one" in news(provider.asked[0])

    attend(tmp_path, provider, scenario)


def test_what_was_summed_up_before_anyone_could_look_is_read_from_the_archive(tmp_path: Path) -> None:
    held = Hold()
    provider = NotingProvider([held])

    async def scenario(attended: Attended) -> None:
        session = attended.session
        await attended.say(*(f"prompt {number} " + "word " * 400 for number in range(4)))
        provider.turns = [answer("\n\n".join(f"## {heading}\nsaid" for heading in SECTIONS))]
        report = await session.compact("", lambda event: None)
        assert isinstance(report, Compacted), report
        await held.reached.wait()

    attend(tmp_path, provider, scenario)
    later = NotingProvider()
    attend(tmp_path, later, says("remember: five"), continue_newest=True)
    said = news(later.asked[0])
    assert all(said.count(f"prompt {number} ") == 1 for number in range(4))
    assert "remember: five" in said
    last = NotingProvider()
    attend(tmp_path, last, says("remember: six"), continue_newest=True)
    assert "prompt" not in news(last.asked[0])


def test_turns_of_before_count_in_a_continued_session(tmp_path: Path) -> None:
    attend(tmp_path, NotingProvider(), says("one", "two", "three", "four"))
    provider = NotingProvider()
    attend(tmp_path, provider, says("five"), continue_newest=True)
    assert len(provider.asked) == 1


def test_a_conversation_that_is_left_is_looked_through_at_once(tmp_path: Path) -> None:
    provider = NotingProvider(notes(UV))

    async def scenario(attended: Attended) -> None:
        await attended.say("the freeze begins on Friday")
        first = attended.session.archive.folder
        attended.session.clear()
        await attended.settled()
        assert "the freeze" in news(provider.asked[0])
        lines = (first / "conversation.jsonl").read_text("utf-8").splitlines()
        assert '"type":"noted"' in lines[-1]
        await attended.say("remember: new")
        assert "the freeze" not in provider.asked[1]

    attend(tmp_path, provider, scenario)


def test_what_is_forked_stays_with_the_old_session(tmp_path: Path) -> None:
    provider = NotingProvider()

    async def scenario(attended: Attended) -> None:
        await attended.say("the freeze begins on Friday")
        old, _ = await attended.session.fork()
        await attended.settled()
        assert len(provider.asked) == 1
        await attended.say("remember: forked")
        assert "the freeze" not in news(provider.asked[1])
        assert [record for record in records(attended.session, old) if record.get("type") == "noted"]

    attend(tmp_path, provider, scenario)
    other = NotingProvider()
    attend(tmp_path, other, says("remember: more"), continue_newest=True, fork=True)
    assert "forked" not in news(other.asked[0])


def test_what_was_taken_back_is_not_looked_through(tmp_path: Path) -> None:
    provider = NotingProvider()

    async def scenario(attended: Attended) -> None:
        await attended.say("one", "the freeze begins on Friday")
        session = attended.session
        await rewind(session, (await points(session))[1].id, conversation=True, files=False)
        await attended.say("remember: three")
        said = news(provider.asked[0])
        assert "one" in said
        assert "the freeze" not in said
        await undo_rewind(session)
        await attended.say("remember: four")
        assert "the freeze" in news(provider.asked[1]), "the way back was taken back"
        assert "remember: three" not in news(provider.asked[1])

    attend(tmp_path, provider, scenario)


def test_what_is_summed_up_is_looked_through_without_the_compaction_waiting(tmp_path: Path) -> None:
    held = Hold()
    provider = NotingProvider([held, *answer(notes(UV))])

    async def scenario(attended: Attended) -> None:
        session = attended.session
        await attended.say(*(f"prompt {number} " + "word " * 400 for number in range(4)))
        provider.turns = [answer("\n\n".join(f"## {heading}\nsaid" for heading in SECTIONS))]
        report = await session.compact("", lambda event: None)
        assert isinstance(report, Compacted), report
        assert session.agent.conversation.messages[0].origin == "compaction"
        await held.reached.wait()
        assert all(f"prompt {number}" in news(provider.asked[0]) for number in range(4))
        held.release.set()
        await attended.settled()
        await attended.say("remember: after")
        assert "prompt 3" not in news(provider.asked[1])

    session = attend(tmp_path, provider, scenario)
    loaded = load_session(session.archive.folder)
    assert loaded.noted == loaded.messages[-1].id


def test_what_was_done_by_hand_is_taken_note_of_at_the_start(tmp_path: Path) -> None:
    async def scenario(attended: Attended) -> None:
        made = Note(name="uv", type="project_knowledge", level="project", body="We use uv.")
        attended.store().apply([Create(made)], by="user")
        [entry] = attended.store().live()
        path = attended.store().path(entry)
        path.write_text(path.read_text("utf-8").replace("We use uv.", "We use uv now."), "utf-8")
        attended.noting._later(0.0, attended.session)
        await attended.past_is_over()
        assert [change.by for _, change in attended.store().history()] == ["user", "hand"]

    attend(tmp_path, NotingProvider(), scenario)
