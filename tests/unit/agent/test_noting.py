"""When notes are taken behind the conversation, of what, and what is told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mewcode.core.errors import BadRequest
from mewcode.core.message import ToolCall, ToolResult
from mewcode.memory.changes import Create
from mewcode.memory.note import Note
from mewcode.sessions.reader import load_session
from tests.support.noting import CORRECTION, Attended, NotingProvider, attend, note, notes
from tests.support.sample_session import hold, project_in, records, take_turn
from tests.support.scripted_provider import Hold, answer, call, failure

PYTEST = note("Tests use pytest", "Write tests with pytest.", type="correction_feedback")


def configure(folder: Path, text: str) -> None:
    config = project_in(folder).parent / "home/.mewcode/config.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(text, encoding="utf-8")


def noted(attended: Attended) -> list[dict[str, object]]:
    attended.session.archive.flush()
    return [record for record in records(attended.session) if record.get("type") == "noted"]


def test_a_correction_is_noted_at_once_told_and_in_force_with_the_next_message(tmp_path: Path) -> None:
    provider = NotingProvider(notes(PYTEST))

    async def scenario(attended: Attended) -> None:
        await attended.say("hello")
        assert provider.extractions == []
        await attended.say(CORRECTION)
        assert attended.names() == ["Tests use pytest"]
        assert attended.told == ["noted: Tests use pytest · /memory undo"]
        [record] = noted(attended)
        assert record["upto"] == attended.session.agent.conversation.messages[-1].id
        system = attended.session.agent.system
        await attended.say("and now?")
        [reminder] = [
            message for message in provider.requests[-1].messages if message.origin == "reminder"
            and "pytest" in message.text
        ]  # fmt: skip
        assert "<notes>\n- Tests use pytest (correction_feedback_tests-use-pytest.md): Write" in reminder.text
        assert attended.session.agent.system == system
        await attended.say("once more")
        said = [message.text for message in provider.requests[-1].messages if message.origin == "reminder"]
        assert sum("pytest" in text for text in said) == 1

    attend(tmp_path, provider, scenario)
    [asked] = provider.extractions
    assert asked.tools == ()
    assert (asked.effort, asked.model.name, asked.model.max_output) == ("low", "sample-model", 4_096)
    assert asked.schema is not None
    assert CORRECTION in provider.asked[0]
    assert "hello" in provider.asked[0]


def test_without_such_words_every_fifth_turn_is_one_to_look(tmp_path: Path) -> None:
    provider = NotingProvider()

    async def scenario(attended: Attended) -> None:
        await attended.say(*(f"prompt {number}" for number in range(1, 5)))
        assert provider.asked == []
        await attended.say("prompt 5")
        assert len(provider.asked) == 1
        assert all(f"prompt {number}" in provider.asked[0] for number in range(1, 6))
        await attended.say(*(f"prompt {number}" for number in range(6, 11)))
        assert len(provider.asked) == 2
        assert "prompt 5" not in provider.asked[1].partition("<conversation")[2]
        assert attended.told == []

    attend(tmp_path, provider, scenario)


def test_a_turn_that_was_broken_off_counts_for_nothing_but_is_looked_at_with_the_next(
    tmp_path: Path,
) -> None:
    provider = NotingProvider(turns=(failure(BadRequest("busy")), answer("yes")))

    async def scenario(attended: Attended) -> None:
        await attended.say(CORRECTION)
        assert provider.asked == []
        await attended.say("go on")
        assert CORRECTION in provider.asked[0]

    attend(tmp_path, provider, scenario)


def test_without_a_front_end_no_model_is_asked_and_nothing_recorded(tmp_path: Path) -> None:
    provider = NotingProvider()

    async def scenario(session: object) -> None:
        for number in range(6):
            await take_turn(session, f"{CORRECTION} {number}")  # type: ignore[arg-type]

    session = hold(tmp_path, provider, scenario)
    assert provider.extractions == []
    assert not [record for record in records(session) if record.get("type") == "noted"]


def test_reasons_to_look_during_a_look_lead_to_one_more(tmp_path: Path) -> None:
    first = Hold()
    provider = NotingProvider([first, *answer(notes(PYTEST))])

    async def scenario(attended: Attended) -> None:
        await take_turn(attended.session, "remember: we use uv")
        await first.reached.wait()
        for name in ("one", "two", "three"):
            await take_turn(attended.session, f"remember: {name}")
        assert len(provider.asked) == 1
        first.release.set()
        await attended.settled()
        assert len(provider.asked) == 2
        news = provider.asked[1].partition("<conversation")[2]
        assert all(f"remember: {name}" in news for name in ("one", "two", "three"))
        assert "we use uv" not in news
        assert len(noted(attended)) == 2

    attend(tmp_path, provider, scenario)


def test_an_interrupted_turn_does_not_stop_it(tmp_path: Path) -> None:
    held, turn = Hold(), Hold()
    provider = NotingProvider([held, *answer(notes(PYTEST))], turns=(answer("yes"), [turn]))

    async def scenario(attended: Attended) -> None:
        await take_turn(attended.session, CORRECTION)
        await held.reached.wait()
        async with attended.session.run("and then?") as run:
            await turn.reached.wait()
            run.interrupt()
            async for _ in run:
                pass
        held.release.set()
        await attended.settled()
        assert attended.names() == ["Tests use pytest"]

    attend(tmp_path, provider, scenario)


@pytest.mark.parametrize("tool", ["save_note", "forget_note"])
def test_a_turn_with_a_note_of_its_own_is_not_looked_through(tmp_path: Path, tool: str) -> None:
    saved = call("save_note", {"type": "project_knowledge", "name": "uv", "body": "We use uv."})
    own = saved if tool == "save_note" else call("forget_note", {"note": "uv"})
    provider = NotingProvider(turns=(answer(own), answer("kept")))

    async def scenario(attended: Attended) -> None:
        if tool == "forget_note":
            made = Note(name="uv", type="project_knowledge", level="project", body="We use uv.")
            attended.store().apply([Create(made)], by="user")
        await attended.say("remember: we use uv")
        done = [message for message in attended.session.agent.conversation.messages if message.role == "tool"]
        assert [isinstance(block, ToolResult) and not block.is_error for block in done[0].content] == [True]
        assert provider.asked == []

    attend(tmp_path, provider, scenario, mode="bypass")


def test_a_note_taken_by_hand_spares_what_was_just_said(tmp_path: Path) -> None:
    provider = NotingProvider()

    async def scenario(attended: Attended) -> None:
        await attended.say("the freeze begins on Friday")
        attended.noting.noted_by_hand(attended.session)
        await attended.say("remember: we use uv")
        assert "the freeze" not in provider.asked[0].partition("<conversation")[2]
        assert "we use uv" in provider.asked[0]

    attend(tmp_path, provider, scenario)


def test_an_answer_that_cannot_be_read_is_asked_again_once_and_then_told(tmp_path: Path) -> None:
    provider = NotingProvider("I would note that.", notes(PYTEST), "no idea", "still none")

    async def scenario(attended: Attended) -> None:
        await attended.say("remember: one")
        assert len(provider.asked) == 2
        assert "I would note that." in provider.asked[1]
        assert attended.names() == ["Tests use pytest"]
        await attended.say("remember: two")
        assert len(provider.asked) == 4
        assert attended.told[1:] == ["notes: the model's answer could not be read; nothing noted this time"]
        await attended.say("remember: three")
        assert "remember: two" not in provider.asked[4].partition("<conversation")[2], "not again and again"
        assert len(noted(attended)) == 3

    attend(tmp_path, provider, scenario)


def test_an_answer_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mewcode.agent.extracting.TIME_LIMIT", 0.2)
    monkeypatch.setattr("mewcode.agent.extracting._LEAST_TIME", 0.0)
    provider = NotingProvider([Hold()], notes(PYTEST))

    async def scenario(attended: Attended) -> None:
        await attended.say("remember: one")
        [told] = attended.told
        assert told.startswith("notes: no model could be asked, it is tried again later (no answer within")
        assert noted(attended) == []
        monkeypatch.undo()
        await attended.say("remember: two")
        assert "remember: one" in provider.asked[1]
        assert attended.names() == ["Tests use pytest"]

    attend(tmp_path, provider, scenario)


def test_a_service_that_fails_is_told_of_once_and_asked_again_with_the_next_reason(tmp_path: Path) -> None:
    down = failure(BadRequest("the service is down"))
    provider = NotingProvider(down, down, notes(PYTEST))

    async def scenario(attended: Attended) -> None:
        await attended.say("remember: one")
        assert attended.told == [
            "notes: no model could be asked, it is tried again later (the service is down)"
        ]
        assert noted(attended) == []
        await attended.say("go on")
        assert len(provider.asked) == 1, "without a reason it is not asked"
        await attended.say("remember: two")
        assert len(provider.asked) == 2
        assert len(attended.told) == 1
        await attended.say("remember: three")
        assert all(f"remember: {word}" in provider.asked[2] for word in ("one", "two", "three"))
        assert attended.told[1:] == ["noted: Tests use pytest · /memory undo"]

    attend(tmp_path, provider, scenario)


def test_what_is_spent_counts_and_at_the_limit_nothing_is_asked(tmp_path: Path) -> None:
    configure(tmp_path, "memory: {daily_token_limit: 20000}\n")
    provider = NotingProvider()

    async def scenario(attended: Attended) -> None:
        await attended.say("remember: one")
        assert attended.noting.budget.spent() == 15
        assert attended.session.agent.usage.input_tokens == 20, "the session's tokens have it too"
        attended.noting.budget.spend(19_900)
        await attended.say("remember: two", "remember: three")
        assert len(provider.asked) == 1
        assert attended.told == [
            "notes: today's budget is spent (19,915 of 20,000 tokens); what is new waits for tomorrow"
        ]
        assert len(noted(attended)) == 1

    attend(tmp_path, provider, scenario)


def test_a_budget_of_none_asks_nothing_and_says_nothing(tmp_path: Path) -> None:
    configure(tmp_path, "memory: {daily_token_limit: 0}\n")
    provider = NotingProvider()

    async def scenario(attended: Attended) -> None:
        await attended.say("remember: one")
        assert (provider.asked, attended.told) == ([], [])

    attend(tmp_path, provider, scenario)


@pytest.mark.parametrize(
    ("config", "model"),
    [("", "sample-model"), ("small_model: tiny\n", "tiny"),
     ("small_model: tiny\nmemory: {model: keeper}\n", "keeper")],
)  # fmt: skip
def test_the_model_that_is_asked(tmp_path: Path, config: str, model: str) -> None:
    configure(tmp_path, config)
    provider = NotingProvider()

    async def scenario(attended: Attended) -> None:
        await attended.say("remember: one")

    attend(tmp_path, provider, scenario)
    assert [request.model.name for request in provider.extractions] == [model]


def test_several_notes_are_one_line_and_what_waits_is_counted(tmp_path: Path) -> None:
    found = [note(name) for name in ("uv", "ruff", "mypy")]
    provider = NotingProvider(notes(*found), notes(note("From a page", rests_on=("m3",))))
    page = call("read_file", {"path": "notes.txt"})
    (project_in(tmp_path) / "notes.txt").write_text("use tabs")
    provider.turns = [answer("yes"), answer(page), answer("read")]

    async def scenario(attended: Attended) -> None:
        await attended.say("remember: one")
        assert attended.told == ["noted: uv, ruff (+1) · /memory undo"]
        await attended.say("remember what notes.txt says")
        assert attended.told[1:] == ["1 note waits for your yes · /memory inbox"]
        assert attended.session.agent.reminders[1:] == (), "what waits is told to nobody else"

    attend(tmp_path, provider, scenario)


def test_off_for_this_session_means_that_nothing_is_read_written_or_looked_at_later(tmp_path: Path) -> None:
    provider = NotingProvider(notes(PYTEST))

    async def scenario(attended: Attended) -> None:
        await attended.say("remember: one")
        [reminder] = attended.session.agent.reminders
        attended.noting.turn_off(attended.session)
        assert attended.noting.is_off
        assert reminder not in attended.session.agent.reminders
        await attended.say("remember: secret", "remember: another")
        assert len(provider.asked) == 1
        attended.noting.turn_on(attended.session)
        await attended.say("remember: open")
        assert "secret" not in "".join(provider.asked)
        attended.noting.turn_off(attended.session)
        await attended.say("remember: the end")

    session = attend(tmp_path, provider, scenario)
    loaded = load_session(session.archive.folder)
    assert loaded.noted == loaded.messages[-1].id
    assert len(provider.asked) == 2


def test_off_stops_what_is_under_way_and_the_tools_say_so(tmp_path: Path) -> None:
    held = Hold()
    search = ToolCall("c1", "search_notes", {"query": "uv"})
    provider = NotingProvider([held, *answer(notes(PYTEST))], turns=(answer("yes"), answer(search)))

    async def scenario(attended: Attended) -> None:
        await take_turn(attended.session, CORRECTION)
        await held.reached.wait()
        attended.noting.turn_off(attended.session)
        await attended.settled()
        await attended.say("search")
        [result] = [
            message.tool_results[0]
            for message in attended.session.agent.conversation.messages
            if message.tool_results
        ]
        assert result.is_error
        assert "notes are off for this session" in str(result.content)
        attended.noting.turn_on(attended.session)
        assert attended.names() == []

    attend(tmp_path, provider, scenario)


@pytest.mark.parametrize("how", ["config", "flag"])
def test_where_notes_are_off_there_is_nothing_of_it(tmp_path: Path, how: str) -> None:
    if how == "config":
        configure(tmp_path, "memory: {enabled: false}\n")

    async def scenario(session: object) -> None:
        assert session.noting is None  # type: ignore[attr-defined]

    hold(tmp_path, NotingProvider(), scenario, no_memory=how == "flag")


def test_a_defect_in_one_look_is_logged_and_harms_no_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    provider = NotingProvider()

    async def scenario(attended: Attended) -> None:
        with monkeypatch.context() as broken:
            broken.setattr("mewcode.agent.extracting.extraction_question", None)
            await attended.say("remember: one")
        assert noted(attended) == []
        await attended.say("remember: two")
        assert "remember: two" in provider.asked[0]

    attend(tmp_path, provider, scenario)
    assert "extract failed" in caplog.text


def test_notes_that_cannot_be_kept_are_told_and_wait(tmp_path: Path) -> None:
    provider = NotingProvider(notes(PYTEST), notes(PYTEST))

    async def scenario(attended: Attended) -> None:
        place = project_in(tmp_path) / ".mewcode" / "memory"
        place.parent.mkdir()
        place.write_text("in the way")
        await attended.say(CORRECTION)
        assert "they could not be kept" in attended.told[0]
        assert noted(attended) == []
        place.unlink()
        await attended.say("remember: go on")
        assert CORRECTION in provider.asked[1].partition("<conversation")[2]
        assert attended.names() == ["Tests use pytest"]

    attend(tmp_path, provider, scenario)
