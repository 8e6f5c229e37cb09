"""The notes that bear on a turn go along with its requests: what is told, and what nobody waits for."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import msgspec
import pytest

from mewcode.agent.recall_told import MOST_BYTES
from mewcode.agent.recalled_note import size_of
from mewcode.agent.recalling import RecallWaits
from mewcode.agent.rewind import points, rewind
from mewcode.agent.session import Session
from mewcode.core.errors import BadRequest
from mewcode.memory.changes import Archive, Create, Ref, Update
from mewcode.memory.dates import time_text
from tests.support.notes import note as sample_note
from tests.support.recall import (
    ASKED,
    LIMIT,
    PATIENT,
    PORT,
    ChoosingProvider,
    MeaningIndex,
    SlowIndex,
    recall_in,
    recalled,
    recalling_of,
    remember,
    settled,
)
from tests.support.sample_session import project_in, take_turn
from tests.support.scripted_provider import Hold, ScriptedProvider, answer, call, failure

NOW = 1_780_000_000.0
ROUND = answer(call("todo", {"items": []}))
BODY = "It listens on port 5433"


def says(*prompts: str):
    async def scenario(session: Session) -> None:
        for prompt in prompts:
            await take_turn(session, prompt)

    return scenario


def told(provider: ScriptedProvider, number: int = 0) -> list[str]:
    return recalled(provider.requests[number].messages)


# --- what is told -------------------------------------------------------------------------------------------


def test_a_note_that_answers_goes_along_with_the_very_request(tmp_path: Path) -> None:
    remember(tmp_path, PORT)
    provider = ChoosingProvider()
    recall_in(tmp_path, provider, says(ASKED))
    [text] = told(provider)
    assert BODY in text
    assert ".mewcode/memory/project_knowledge_test-database-port.md" in text
    assert [message.origin for message in provider.requests[0].messages] == ["user", "recall"]
    assert BODY not in provider.requests[0].system[-1]


def test_a_chinese_question_finds_a_chinese_note(tmp_path: Path) -> None:
    body = "测试数据库在 5433 端口监听。"
    remember(tmp_path, sample_note("测试数据库的端口", body), sample_note("部署", "部署用 make ship。"))
    provider = ChoosingProvider()
    recall_in(tmp_path, provider, says("测试数据库用哪个端口？"))
    [text] = told(provider)
    assert body in text


def test_what_answers_nothing_is_not_told(tmp_path: Path) -> None:
    remember(tmp_path, PORT)
    provider = ChoosingProvider()
    recall_in(tmp_path, provider, says("write a poem about autumn leaves"))
    assert told(provider) == []


@pytest.mark.parametrize("said", ["ok", "继续", "api", "say hi"])
def test_words_that_say_nothing_load_nothing(said: str, tmp_path: Path) -> None:
    remember(tmp_path, PORT)
    provider = ChoosingProvider()

    async def scenario(session: Session) -> None:
        index = recalling_of(session)._index = SlowIndex(recalling_of(session)._index)
        await take_turn(session, said)
        assert not index.asked.is_set()

    recall_in(tmp_path, provider, scenario)
    assert told(provider) == []


def test_where_there_are_no_notes_nothing_is_loaded(tmp_path: Path) -> None:
    provider = ChoosingProvider()

    async def scenario(session: Session) -> None:
        await take_turn(session, ASKED)
        assert session.work.recalling is None

    recall_in(tmp_path, provider, scenario)


@pytest.mark.parametrize("how", ["--no-memory", "config", "/memory off"])
def test_where_notes_are_off_none_is_told(how: str, tmp_path: Path) -> None:
    remember(tmp_path, PORT)
    if how == "config":
        (tmp_path / "home/.mewcode/config.yaml").write_text("memory: {enabled: false}\n")
    provider = ChoosingProvider()

    async def scenario(session: Session) -> None:
        if how == "/memory off":
            assert session.noting is not None
            session.noting.turn_off(session)
        await take_turn(session, ASKED)

    recall_in(tmp_path, provider, scenario, no_memory=how == "--no-memory")
    assert told(provider) == []


def test_at_most_five_at_once_and_none_twice(tmp_path: Path) -> None:
    remember(
        tmp_path, *(sample_note(f"Test database {number}", f"Database {number}.") for number in range(9))
    )
    provider = ChoosingProvider()
    recall_in(tmp_path, provider, says("the test database", "the test database", "the test database"))
    first, second, third = (told(provider, number) for number in range(3))
    assert (len(first), len(second), len(third)) == (5, 9, 9)
    assert len(set(third)) == 9


def test_one_that_changed_is_told_again(tmp_path: Path) -> None:
    store = remember(tmp_path, PORT)
    provider = ChoosingProvider()

    async def scenario(session: Session) -> None:
        await take_turn(session, ASKED)
        await take_turn(session, ASKED)
        [entry] = store.live()
        store.apply([Update(Ref(entry.level, entry.file), {"body": "It moved to port 6000."})], by="user")
        await take_turn(session, ASKED)

    recall_in(tmp_path, provider, scenario)
    assert [len(told(provider, number)) for number in range(3)] == [1, 1, 2]
    assert "6000" in told(provider, 2)[1]


def test_a_note_is_told_within_four_kilobytes_and_a_session_within_sixty(tmp_path: Path) -> None:
    words = "The test database is described here at great length. " * 200
    remember(tmp_path, *(sample_note(f"Test database {number}", words) for number in range(25)))
    provider = ChoosingProvider()
    recall_in(tmp_path, provider, says(*(["the test database"] * 7)))
    messages = [message for message in provider.requests[-1].messages if message.origin == "recall"]
    sizes = [size_of(message) for message in messages]
    assert all(len(text.encode()) <= 4_096 for text in recalled(messages))
    assert MOST_BYTES - 4_096 <= sum(sizes) <= MOST_BYTES


def test_once_the_room_of_a_session_is_spent_nothing_is_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(tmp_path, PORT)
    monkeypatch.setattr("mewcode.agent.recall_told.MOST_BYTES", 0)
    provider = ChoosingProvider()

    async def scenario(session: Session) -> None:
        index = recalling_of(session)._index = SlowIndex(recalling_of(session)._index)
        await take_turn(session, ASKED)
        assert not index.asked.is_set()

    recall_in(tmp_path, provider, scenario)
    assert told(provider) == []


def test_a_small_window_is_not_filled_with_notes(tmp_path: Path) -> None:
    words = "The test database is described here at great length. " * 200
    remember(tmp_path, *(sample_note(f"Test database {number}", words) for number in range(5)))
    provider = ChoosingProvider()

    async def scenario(session: Session) -> None:
        session.agent.model = msgspec.structs.replace(session.agent.model, context_window=40_000)
        await take_turn(session, "the test database")

    recall_in(tmp_path, provider, scenario)
    assert len(told(provider)) == 2


def test_what_stands_whole_in_the_prompt_is_not_told(tmp_path: Path) -> None:
    remember(tmp_path, msgspec.structs.replace(PORT, pinned=True))
    provider = ChoosingProvider()
    recall_in(tmp_path, provider, says(ASKED))
    assert BODY in provider.requests[0].system[-1]
    assert told(provider) == []


@pytest.mark.parametrize("origin", ["tool", "web"])
def test_what_a_tool_or_a_page_said_is_not_told(origin: str, tmp_path: Path) -> None:
    store = remember(tmp_path)
    store.apply([Create(msgspec.structs.replace(PORT, origin=origin))], by="agent")
    provider = ChoosingProvider()
    recall_in(tmp_path, provider, says(ASKED))
    assert told(provider) == []


def test_what_is_not_in_force_is_not_told(tmp_path: Path) -> None:
    store = remember(tmp_path, PORT)
    [entry] = store.live()
    store.apply([Archive(Ref(entry.level, entry.file, entry.digest))], by="user")
    provider = ChoosingProvider()
    recall_in(tmp_path, provider, says(ASKED))
    assert told(provider) == []


def test_one_that_the_model_has_read_is_not_told_again(tmp_path: Path) -> None:
    remember(tmp_path, PORT)
    read = answer(call("read_note", {"note": PORT.name}))
    provider = ChoosingProvider(read, answer("Read."))
    recall_in(tmp_path, provider, says("hi", ASKED))
    assert all(told(provider, number) == [] for number in range(3))


@pytest.mark.parametrize("is_in_time", [True, False])
def test_an_old_note_carries_its_age_and_what_is_gone(
    is_in_time: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mewcode.memory.liveness.TIME_LIMIT", LIMIT if is_in_time else -1.0)
    old = time_text(NOW - 12 * 86_400)
    body = "The port is set in `config/ports.toml`, which `frobnicate_ports()` reads. See `src/there.py`."
    remember(tmp_path, msgspec.structs.replace(PORT, body=body, created=old, updated=old))
    (project_in(tmp_path) / "src").mkdir()
    (project_in(tmp_path) / "src/there.py").write_text("there = 1\n")
    provider = ChoosingProvider()
    recall_in(tmp_path, provider, says(ASKED), clock=lambda: NOW)
    [text] = told(provider)
    assert "This note is 12 days old" in text
    assert ("was not looked at" in text) is not is_in_time
    if is_in_time:
        assert "no longer there: config/ports.toml (path), frobnicate_ports (symbol)" in text
        assert "there.py (" not in text


def test_a_use_is_counted(tmp_path: Path) -> None:
    store = remember(tmp_path, PORT)

    async def scenario(session: Session) -> None:
        await take_turn(session, ASKED)
        await settled(session)

    recall_in(tmp_path, ChoosingProvider(), scenario)
    [use] = store.uses().values()
    assert use.count == 1


# --- what nothing waits for ---------------------------------------------------------------------------------


def test_what_comes_too_late_is_left_out_and_comes_with_a_later_request(tmp_path: Path) -> None:
    remember(tmp_path, PORT)
    held = Hold()
    provider = ChoosingProvider([held, *ROUND], answer("Done."))

    async def scenario(session: Session) -> None:
        recalling = recalling_of(session)
        index = recalling._index = SlowIndex(recalling._index)
        async with session.run(ASKED) as run:
            await held.reached.wait()
            index.gate.set()
            await settled(session)
            held.release.set()
            async for _ in run:
                pass
        assert run.result.text == "Done."

    recall_in(tmp_path, provider, scenario, waits=RecallWaits(request=0.0, start=LIMIT * 9, turn=LIMIT * 9))
    assert told(provider, 0) == []
    [text] = told(provider, 1)
    assert BODY in text


def test_what_was_found_for_a_conversation_that_was_left_is_not_told_in_the_next(tmp_path: Path) -> None:
    remember(tmp_path, PORT)
    provider = ChoosingProvider()

    async def scenario(session: Session) -> None:
        recalling = recalling_of(session)
        index = recalling._index = SlowIndex(recalling._index)
        await take_turn(session, ASKED)
        session.clear()
        index.gate.set()
        await settled(session)
        await take_turn(session, "ok")

    recall_in(tmp_path, provider, scenario, waits=RecallWaits(request=0.0, start=LIMIT * 9, turn=LIMIT * 9))
    assert (told(provider, 0), told(provider, 1)) == ([], [])


def test_an_index_that_cannot_be_kept_costs_the_turn_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(tmp_path, PORT)
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setattr("mewcode.recall_source.index_path", lambda *_: blocked / "index.sqlite")
    provider = ChoosingProvider()
    with caplog.at_level(logging.INFO, "mewcode.recall"):
        recall_in(tmp_path, provider, says(ASKED))
    assert told(provider) == []
    assert len(provider.requests) == 1
    assert any("index" in record.message for record in caplog.records)
    assert not any("5433" in record.message for record in caplog.records)


def test_of_very_many_notes_the_index_is_made_behind_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(tmp_path, PORT)
    monkeypatch.setattr("mewcode.agent.recall_lookup._FEW", 0)
    provider = ChoosingProvider()

    async def scenario(session: Session) -> None:
        await take_turn(session, ASKED)
        await settled(session)
        await take_turn(session, ASKED)

    recall_in(tmp_path, provider, scenario)
    assert told(provider, 0) == []
    assert BODY in told(provider, 1)[0]


def test_what_the_first_look_left_out_goes_along_with_a_later_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(tmp_path, PORT)
    monkeypatch.setattr("mewcode.agent.recall_lookup._ALWAYS", 0)
    provider = ChoosingProvider()

    async def scenario(session: Session) -> None:
        await take_turn(session, ASKED)
        await settled(session)
        await take_turn(session, "ok")

    waits = RecallWaits(request=0.0, rest=0.0, start=LIMIT * 9, turn=LIMIT * 9)
    recall_in(tmp_path, provider, scenario, waits=waits)
    assert told(provider, 0) == []
    assert BODY in told(provider, 1)[0]


def test_what_there_was_no_time_to_compare_by_meaning_goes_along_with_a_later_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(tmp_path, PORT)
    monkeypatch.setattr("mewcode.agent.recall_lookup.clears", lambda hit: hit.likeness > 0)
    provider = ChoosingProvider()

    async def scenario(session: Session) -> None:
        recalling = recalling_of(session)
        recalling._index = index = MeaningIndex(recalling._index, tmp_path / "meaning.sqlite")
        index.refresh_notes(index.store().live(), lambda: False)
        index.refresh_notes(index.store().live(), lambda: False)  # the second look starts the thread
        await take_turn(session, ASKED)
        await settled(session)
        await take_turn(session, "ok")

    recall_in(tmp_path, provider, scenario, waits=msgspec.structs.replace(PATIENT, request=0.0))
    assert told(provider, 0) == []
    assert BODY in told(provider, 1)[0]


# --- what a step brings up ----------------------------------------------------------------------------------


def test_a_note_on_a_file_comes_when_the_file_is_opened(tmp_path: Path) -> None:
    body = "Never reorder the keys in web/settings.py: the loader counts them."
    remember(tmp_path, sample_note("Order of keys", body), sample_note("Web settings", "They are reviewed."))
    (project_in(tmp_path) / "web").mkdir()
    (project_in(tmp_path) / "web/settings.py").write_text("x = 1\n")
    read = call("read_file", {"path": "web/settings.py"})
    provider = ChoosingProvider(answer(read), answer(call("read_file", {"path": "web/settings.py"})))
    recall_in(tmp_path, provider, says("hi"))
    assert told(provider, 0) == []
    [text] = told(provider, 1)
    assert body in text
    assert told(provider, 2) == [text]
    assert [message.origin for message in provider.requests[1].messages][-2:] == ["tool", "recall"]


def test_a_note_on_an_error_comes_when_the_error_is_seen(tmp_path: Path) -> None:
    body = "The error 'could not bind to the reserved socket' goes away after `make unbind`."
    remember(tmp_path, sample_note("could not bind to the reserved socket", body))
    failing = call("bash", {"command": "echo 'error: could not bind to the reserved socket'; exit 1"})
    provider = ChoosingProvider(answer(failing))
    recall_in(tmp_path, provider, says("hi"), mode="bypass")
    [text] = told(provider, 1)
    assert body in text


def test_what_the_user_says_meanwhile_is_looked_up(tmp_path: Path) -> None:
    remember(tmp_path, PORT)
    provider = ChoosingProvider(ROUND)

    async def scenario(session: Session) -> None:
        session.agent.interjections.put(ASKED)
        await take_turn(session, "hi")

    recall_in(tmp_path, provider, scenario)
    assert told(provider, 0) == []
    assert BODY in told(provider, 1)[0]


# --- what a model chooses -----------------------------------------------------------------------------------

QUIET = sample_note("Ledger rounding", "Half to even, as the auditors want it.", description="How we round")
CHOSEN = '{"selected_memories": ["project_knowledge_ledger-rounding.md"]}'
UNLIKE = "write the invoice module"


def small_model(folder: Path, more: str = "") -> None:
    home = project_in(folder).parent / "home/.mewcode"
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(f"small_model: small\nmodels: {{small: {{max_output: 2000}}}}\n{more}")


class Choosing:
    """A turn with a tool round, in which the choice is there by the second request."""

    def __init__(self, folder: Path, *choices: str, prompt: str = UNLIKE) -> None:
        held, chosen = Hold(), Hold()
        script = [[chosen, *answer(choice)] for choice in choices]
        self.provider = ChoosingProvider([held, *ROUND], answer("Done."), choices=script)

        async def scenario(session: Session) -> None:
            async with session.run(prompt) as run:
                await held.reached.wait()
                chosen.release.set()
                await settled(session)
                held.release.set()
                async for _ in run:
                    pass

        self.session = recall_in(folder, self.provider, scenario)


def test_what_a_model_chose_comes_with_a_later_request(tmp_path: Path) -> None:
    remember(tmp_path, QUIET, PORT)
    small_model(tmp_path)
    choosing = Choosing(tmp_path, CHOSEN)
    [asked] = choosing.provider.selections
    assert (asked.model.name, asked.tools, asked.temperature) == ("small", (), 0.0)
    assert asked.model.max_output == 256
    assert UNLIKE in asked.messages[0].text
    assert "Ledger rounding" in asked.messages[0].text
    assert "Half to even" not in asked.messages[0].text
    assert told(choosing.provider, 0) == []
    [text] = told(choosing.provider, 1)
    assert "Half to even" in text


def test_a_choice_that_comes_too_late_counts_for_the_next_turn(tmp_path: Path) -> None:
    remember(tmp_path, QUIET)
    small_model(tmp_path)
    chosen = Hold()
    provider = ChoosingProvider(choices=[[chosen, *answer(CHOSEN)]])

    async def scenario(session: Session) -> None:
        await take_turn(session, UNLIKE)
        chosen.release.set()
        await settled(session)
        await take_turn(session, "ok")

    recall_in(tmp_path, provider, scenario)
    assert told(provider, 0) == []
    assert "Half to even" in told(provider, 1)[0]


@pytest.mark.parametrize("said", ["I choose none of them.", '{"selected_memories": ["other.md"]}', "[]", "{"])
def test_an_answer_that_chooses_nothing_tells_nothing(said: str, tmp_path: Path) -> None:
    remember(tmp_path, QUIET)
    small_model(tmp_path)
    choosing = Choosing(tmp_path, said)
    assert len(choosing.provider.selections) == 1
    assert told(choosing.provider, 1) == []


def test_a_model_that_fails_is_for_the_log_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    remember(tmp_path, QUIET)
    small_model(tmp_path)
    provider = ChoosingProvider(choices=[failure(BadRequest("no such model"))])

    async def scenario(session: Session) -> None:
        _, result = await take_turn(session, UNLIKE)
        assert result.text == "Answer 1."
        await settled(session)

    with caplog.at_level(logging.INFO, "mewcode.recall"):
        recall_in(tmp_path, provider, scenario)
    assert "no model chooses notes: no such model" in [record.message for record in caplog.records]


def test_a_choice_that_takes_too_long_is_given_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(tmp_path, QUIET)
    small_model(tmp_path)
    monkeypatch.setattr("mewcode.agent.recall_choice.TIME_LIMIT", 0.01)
    provider = ChoosingProvider(choices=[[Hold(), *answer(CHOSEN)]])

    async def scenario(session: Session) -> None:
        await take_turn(session, UNLIKE)
        await settled(session)
        await take_turn(session, "ok")

    with caplog.at_level(logging.INFO, "mewcode.recall"):
        recall_in(tmp_path, provider, scenario)
    assert "no model chooses notes: no answer within 0.01 s" in [record.message for record in caplog.records]
    assert told(provider, 1) == []


def test_what_is_told_already_is_not_among_what_a_model_chooses_from(tmp_path: Path) -> None:
    remember(tmp_path, QUIET, PORT)
    small_model(tmp_path)
    choosing = Choosing(tmp_path, CHOSEN, prompt=ASKED)
    [asked] = choosing.provider.selections
    assert "Ledger rounding" in asked.messages[0].text
    assert "Test database port" not in asked.messages[0].text
    assert len(told(choosing.provider, 1)) == 2


@pytest.mark.parametrize(
    ("config", "asks"),
    [
        ("memory: {selector: local}\n", False),
        ("memory: {selector: model}\n", True),
        ("memory: {daily_token_limit: 10}\n", False),
        ("", True),
    ],
)
def test_whether_a_model_is_asked(config: str, asks: bool, tmp_path: Path) -> None:
    remember(tmp_path, QUIET)
    small_model(tmp_path, config)
    assert bool(Choosing(tmp_path).provider.selections) is asks


def test_without_a_small_model_none_is_asked_unless_the_user_wants_it(tmp_path: Path) -> None:
    remember(tmp_path, QUIET)
    assert Choosing(tmp_path).provider.selections == []
    (tmp_path / "home/.mewcode/config.yaml").write_text("memory: {selector: model}\n")
    [asked] = Choosing(tmp_path, prompt="write another invoice").provider.selections
    assert asked.model.name == "sample-model"


def test_a_choice_counts_against_the_days_budget(tmp_path: Path) -> None:
    remember(tmp_path, QUIET)
    small_model(tmp_path)
    session = Choosing(tmp_path, CHOSEN).session
    assert session.notes is not None
    assert session.notes.budget().spent() == 15


def test_a_session_that_ends_does_not_wait_for_a_choice(tmp_path: Path) -> None:
    remember(tmp_path, QUIET)
    small_model(tmp_path)
    held = Hold()
    provider = ChoosingProvider(choices=[[held]])

    async def scenario(session: Session) -> None:
        await take_turn(session, UNLIKE)
        async with asyncio.timeout(LIMIT):
            await held.reached.wait()

    recall_in(tmp_path, provider, scenario)
    assert told(provider) == []


# --- across sessions and ways back --------------------------------------------------------------------------


def test_a_continued_session_is_not_told_what_it_holds(tmp_path: Path) -> None:
    remember(tmp_path, PORT)
    recall_in(tmp_path, ChoosingProvider(), says(ASKED))
    provider = ChoosingProvider()
    recall_in(tmp_path, provider, says(ASKED), continue_newest=True)
    assert len(told(provider)) == 1


def test_after_a_way_back_it_is_told_again(tmp_path: Path) -> None:
    remember(tmp_path, PORT)
    provider = ChoosingProvider()

    async def scenario(session: Session) -> None:
        await take_turn(session, "hello there")
        await take_turn(session, ASKED)
        last = (await points(session))[-1]
        await rewind(session, last.id, conversation=True, files=False)
        await take_turn(session, ASKED)

    recall_in(tmp_path, provider, scenario)
    assert [len(told(provider, number)) for number in range(3)] == [0, 1, 1]


def test_the_index_is_brought_up_to_date_behind_the_conversation(tmp_path: Path) -> None:
    remember(tmp_path, PORT)

    async def scenario(session: Session) -> None:
        await take_turn(session, "the walrus sings")
        engine = recalling_of(session)._index.engine()
        await recalling_of(session)._brought_up_to_date(session)
        assert [hit.number for hit in engine.search("walrus", ("exchanges",))] == [1]

    recall_in(tmp_path, ChoosingProvider(), scenario)
