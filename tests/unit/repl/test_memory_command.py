"""`/memory` and its words, over a session as the composition root joins it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mewcode.agent.session import Session
from mewcode.core.errors import MewCodeError
from mewcode.memory.changes import Create
from mewcode.memory.note import Note
from mewcode.repl.commands import BrowseNotes, Desk, Later, Outcome, Pick, Say, Shown, builtin_commands
from mewcode.repl.commands.builtin import MEMORY_WORDS
from mewcode.repl.commands.note_names import NoteNames
from tests.support.notes import add, note, one
from tests.support.sample_session import hold, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer, call

Scenario = Callable[[Session], Awaitable[None]]


def within(tmp_path: Path, scenario: Scenario, *answers: Any, **options: Any) -> ScriptedProvider:
    provider = ScriptedProvider(*answers)
    hold(tmp_path, provider, scenario, **options)
    return provider


async def give(session: Session, line: str, **desk: Any) -> Outcome:
    outcome = await builtin_commands().run(Desk(session, **desk), line)
    while isinstance(outcome, Later):
        outcome = await outcome.work()
    return outcome


async def lines(session: Session, line: str) -> list[str]:
    """What a command says, its hint last; where it fails, the error's words, as a front end shows them."""
    try:
        outcome = await give(session, line)
    except MewCodeError as error:
        return [error.message, error.hint]
    if isinstance(outcome, Shown):
        view: Any = outcome.view
        return [*view.summary.split("\n"), *filter(None, view.body.split("\n"))]
    assert isinstance(outcome, Say), outcome
    return [text for text in (outcome.text, outcome.hint) if text]


def store_of(session: Session) -> Any:
    assert session.notes is not None
    return session.notes.store()


def told(provider: ScriptedProvider, number: int) -> str:
    """The reminders of a request, and what the user said."""
    return "\n".join(message.text for message in provider.requests[number].messages)


def test_each_word_is_known_and_explained(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        for word, about in MEMORY_WORDS:
            assert about
            if word not in ("tidy", "off", "on"):
                assert "knows no word" not in (await lines(session, f"/memory {word}"))[0], word
        assert await lines(session, "/memory nonsense") == [
            "/memory knows no word nonsense", "/help memory lists them.",
        ]  # fmt: skip
        for word in ("show", "forget", "pin", "unpin"):
            assert (await lines(session, f"/memory {word}"))[0] == f"/memory {word} needs a note"
        assert (await lines(session, "/memory move x"))[1] == "Such as: /memory move NAME user"

    within(tmp_path, scenario)


def test_without_a_word_it_opens_the_browser_at_any_time(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        assert await give(session, "/memory", in_turn=True) == BrowseNotes()
        assert builtin_commands().is_anytime("/memory list")

    within(tmp_path, scenario)


def test_a_note_is_added_shown_pinned_moved_and_forgotten(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        assert await lines(session, "/memory add user 我喜欢简短的回答") == [
            "noted: 我喜欢简短的回答 · /memory undo takes it back"
        ]
        assert isinstance(await give(session, "/memory add blue"), Pick), "as # TEXT, it asks where unclear"
        assert await lines(session, "/memory list") == [
            "[user_preference] 我喜欢简短的回答 — 我喜欢简短的回答  (user)"
        ]
        assert (await lines(session, "/memory show 我喜欢"))[-1] == "我喜欢简短的回答"
        assert await lines(session, "/memory pin 我喜欢简短的回答") == ["pinned: 我喜欢简短的回答"]
        first = store_of(session).history()[0][1].id
        assert (await lines(session, f"/memory undo {first}"))[0].startswith("changed since")
        assert await lines(session, f"/memory undo {first} --force") == ["undone: created 我喜欢简短的回答"]
        assert await lines(session, "/memory restore 我喜欢") == ["restored: 我喜欢简短的回答"]
        assert await lines(session, "/memory move 我喜欢 project") == ["moved: 我喜欢简短的回答"]
        assert await lines(session, "/memory forget 我喜欢简短的回答") == ["forgotten: 我喜欢简短的回答"]
        assert await lines(session, "/memory restore") == [
            "project/user_preference_我喜欢简短的回答.md  deleted"
        ]
        assert await lines(session, "/memory undo") == ["undone: forgotten 我喜欢简短的回答"]
        assert len(await lines(session, "/memory history")) == 7
        await take_turn(session, "hi")

    provider = within(tmp_path, scenario, answer("ok"))
    words = told(provider, 0)
    assert "The user changed notes of theirs" in words
    assert "<notes>\nforgotten: 我喜欢简短的回答\n</notes>" in words
    assert "<notes>\nundone: created 我喜欢简短的回答\n</notes>" in words


def test_what_waits_is_approved_and_refused(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        for name in ("new API", "old API"):
            made = Note(name=name, type="reference_material", level="project", body="v3", origin="web")
            store_of(session).apply([Create(made)], by="agent")
        assert (await lines(session, "/memory inbox"))[-1] == "/memory inbox approve 1, or refuse 1"
        assert await lines(session, "/memory inbox approve new API") == ["approved: new API"]
        assert await lines(session, "/memory inbox refuse 1") == ["refused: old API"]
        assert await lines(session, "/memory inbox") == ["nothing waits for your yes"]
        assert [entry.name for entry in store_of(session).live()] == ["new API"]
        await take_turn(session, "hi")

    assert "approved: new API" in told(within(tmp_path, scenario, answer("ok")), 0)


def test_names_are_completed_behind_the_words_that_take_one(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        add(store_of(session), note("Deploy day"), note("部署日", kind="user_preference", level="user"))
        names = NoteNames()
        assert names(session, "show de") == (("show Deploy day", "project_knowledge, project"),)
        assert [value for value, _ in names(session, "pin ")] == ["pin Deploy day", "pin 部署日"]
        assert names(session, "show") == names(session, "list d") == names(session, "show x") == ()
        session.notes.is_off = True  # type: ignore[union-attr]  # notes are on
        assert NoteNames()(session, "show ") == ()

    within(tmp_path, scenario)


def test_off_means_that_nothing_is_read_or_written_and_the_prompt_goes_without(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        add(store_of(session), note("CANARY 金丝雀"))
        await take_turn(session, "one")
        busy = await give(session, "/memory off", in_turn=True)
        assert isinstance(busy, Say)
        assert busy.text == "a turn is running"
        assert (await lines(session, "/memory off"))[0].startswith("notes are off for this session")
        assert await lines(session, "/memory off") == ["notes are off already"]
        for line in ("/memory list", "/memory show CANARY", "/memory why", "/memory undo", "/memory inbox"):
            assert (await lines(session, line))[0] == "notes are off for this session", line
        assert (await lines(session, "/memory add user x"))[0].startswith("notes are off")
        await take_turn(session, "two")
        assert (await lines(session, "/memory on"))[0] == "notes are on again"
        await take_turn(session, "three")
        assert [entry.name for entry in store_of(session).live()] == ["CANARY 金丝雀"]
        assert store_of(session).uses() == {}

    saved = call("save_note", {"type": "project_knowledge", "name": "x", "body": "y"})
    provider = within(
        tmp_path, scenario, answer("ok"), answer(saved, call("search_notes", {"query": "CANARY"})),
        answer("ok"), answer("ok"),
    )  # fmt: skip
    holds = ["CANARY" in json.dumps(request.system, ensure_ascii=False) for request in provider.requests]
    assert holds == [True, False, False, True]
    results = [text for message in provider.requests[2].messages for text in message.tool_results]
    assert [result.is_error for result in results] == [True, True]
    assert all("notes are off for this session" in str(result.content) for result in results)


def test_where_the_config_says_no_notes_the_command_says_so(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        for line in ("/memory", "/memory list", "/memory on", "/memory why"):
            assert (await lines(session, line))[0] == "notes are off"

    within(tmp_path, scenario, no_memory=True)


def test_why_names_the_notes_before_the_last_answer_and_the_lines_they_rest_on(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        assert (await lines(session, "/memory why"))[0] == "there is no answer yet"
        assert (await lines(session, "/memory show nothing"))[0] == "there is no note nothing"
        add(store_of(session), note("提交", "先跑测试", "correction_feedback", level="user"), note("unused"))
        await take_turn(session, "记住：每周五部署")
        await take_turn(session, "when do we deploy?")
        found = await lines(session, "/memory why")
        assert found[0] == f"3 notes stood before the last answer of session {session.id}"
        line = next(number for number, text in enumerate(records_of(session), 1) if "save_note" in text)
        assert found[1] == "[project_knowledge] 部署日  (project; read)"
        assert found[2].startswith(f'    session {session.id}, line {line}: [save_note {{"')
        assert found[3:] == [
            "[correction_feedback] 提交  (user; core rule, index)",
            "    rests on no session: from user",
            "[project_knowledge] unused  (project; index)",
            "    rests on no session: from user",
        ]

    saved = call("save_note", {"type": "project_knowledge", "name": "部署日", "body": "每周五"})
    read = call("read_note", {"note": "部署日"})
    within(tmp_path, scenario, answer(saved), answer("noted"), answer(read), answer("Fridays"))


def records_of(session: Session) -> list[str]:
    return (session.archive.folder / "conversation.jsonl").read_text("utf-8").splitlines()


def test_forget_that_leads_to_the_note_that_was_noted_last(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        await take_turn(session, "note it")
        await take_turn(session, "forget that")
        assert store_of(session).entries() == []
        again = Note(name="部署日", type="project_knowledge", level="project", body="每周五", origin="agent")
        assert store_of(session).apply([Create(again)], by="agent").outcomes[0].kind == "withheld"
        await take_turn(session, "thanks")
        with pytest.raises(ValueError, match="unpack"):
            one(store_of(session), "部署日")

    saved = call("save_note", {"type": "project_knowledge", "name": "部署日", "body": "每周五"})
    forget = call("forget_note", {"note": "project_knowledge_部署日.md"})
    provider = within(
        tmp_path, scenario, answer(saved), answer("ok"), answer(forget), answer("gone"), answer("ok"),
        allow=("forget_note",),
    )  # fmt: skip
    words = provider.requests[2].messages[-1].text
    assert "- project_knowledge_部署日.md 部署日 (noted in this conversation)" in words
    assert "forgotten" not in provider.requests[4].messages[-1].text


def test_tidy_shows_a_diff_and_can_be_undone(tmp_path: Path) -> None:
    async def scenario(session: Session) -> None:
        assert (await lines(session, "/memory tidy"))[0] == "nothing was changed: there are no notes yet"
        add(store_of(session), note("部署日", "每周五部署。"))
        found = await lines(session, "/memory tidy")
        assert found[0] == "tidied notes: 1 easier to find · /memory undo"
        assert any(line.startswith("+aliases:") and "发布日" in line for line in found)
        assert (await lines(session, "/memory undo"))[0].startswith("undone: ")
        assert one(store_of(session), "部署日").aliases == ()

    change = {"do": "aliases", "notes": ["n1"], "aliases": ["发布日", "release day"]}
    within(tmp_path, scenario, answer(json.dumps({"changes": [change]}, ensure_ascii=False)))
