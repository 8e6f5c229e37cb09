"""What notes and instructions forbid or demand is asked about before it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from mewcode.agent.conversation import Conversation
from mewcode.agent.guarding import Guard, Texts, instruction_texts
from mewcode.core.access import Access, CommandAccess, Mode, Verdict, WriteAccess
from mewcode.core.errors import NoteError
from mewcode.core.events import AgentEvent, ApprovalAnswer, ApprovalRequested
from mewcode.core.message import text_of
from mewcode.core.outcome import ToolOutcome
from tests.support.sample_agent import MemoryArchive, SamplePerson, SamplePolicy, sample_agent, sample_tool
from tests.support.scripted_provider import ScriptedProvider, call

RULE = "never push to main"
NOTE = [("the note Branches", RULE)]
ROOT = Path("/srv/app")
ALLOWED = Verdict("allow")


def command(text: str) -> tuple[Access, ...]:
    return (CommandAccess(text, str(ROOT)),)


PUSH = command("git push origin main")


class Reads(SamplePolicy):
    """Commands that begin with ``cat`` only read."""

    trusted_folder = True

    def only_reads(self, accesses: Sequence[Access]) -> bool:
        return all(isinstance(a, CommandAccess) and a.command.startswith("cat") for a in accesses)


def guard(texts: Texts = lambda: NOTE, mode: Mode = "default") -> Guard:
    return Guard(texts, Reads(mode=mode), ROOT, lambda: "feature")


def weighed(guard: Guard, accesses: Sequence[Access], verdict: Verdict = ALLOWED) -> Verdict:
    async def work() -> Verdict:
        guard.begin_turn()
        return await guard.weigh(verdict, accesses)

    return asyncio.run(work())


def test_what_a_note_forbids_is_asked_about_in_its_words() -> None:
    assert weighed(guard(), PUSH) == Verdict("ask", f"the note Branches says: {RULE}")


def test_the_policys_own_question_stays() -> None:
    asked = weighed(guard(), PUSH, Verdict("ask", "it runs a command", "bash(git push *)"))
    assert asked == Verdict("ask", f"the note Branches says: {RULE}; it runs a command", "bash(git push *)")


def test_a_denial_stays_one() -> None:
    assert weighed(guard(), PUSH, Verdict("deny", "no")) == Verdict("deny", "no")


def test_what_only_reads_is_let_be() -> None:
    assert weighed(guard(), command("cat push main")).decision == "allow"


def test_where_nobody_is_asked_it_is_denied_or_let_be() -> None:
    assert weighed(guard(mode="dont-ask"), PUSH).decision == "deny"
    assert weighed(guard(mode="bypass"), PUSH).decision == "allow"


def test_a_yes_holds_for_this_call_and_no_other() -> None:
    one = guard()
    assert weighed(one, PUSH).decision == "ask"
    one.waive(PUSH)
    assert weighed(one, PUSH).decision == "allow"
    assert weighed(one, command("git push other main")).decision == "ask"


def test_what_was_run_counts_until_a_file_is_changed() -> None:
    one = guard(lambda: [("MEWCODE.md", "Run make fmt before you commit.")])
    commit = command("git commit -m x")
    assert weighed(one, commit).decision == "ask"
    one.ran(command("make fmt"))
    assert weighed(one, commit).decision == "allow"
    one.ran((WriteAccess("/srv/app/a.py"),))
    assert weighed(one, commit).decision == "ask"


def test_files_are_judged_by_their_path_in_the_work_tree() -> None:
    one = guard(lambda: [("the note DB", "Never edit db/migrations by hand")])
    assert weighed(one, (WriteAccess("/srv/app/db/migrations/1.sql"),)).decision == "ask"
    assert weighed(one, (WriteAccess("/srv/other/x.sql"),)).decision == "allow"


def test_rules_are_read_anew_with_each_turn() -> None:
    texts: list[tuple[str, str]] = []
    one = guard(lambda: list(texts))
    assert weighed(one, PUSH).decision == "allow"
    texts += NOTE
    assert weighed(one, PUSH).decision == "ask"


def test_notes_that_cannot_be_read_guard_nothing_and_stop_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def unreadable() -> list[tuple[str, str]]:
        raise NoteError("the disk says no")

    assert weighed(guard(unreadable), PUSH).decision == "allow"
    assert "the disk says no" in caplog.text


def test_the_instructions_of_the_prompt_are_told_apart_by_file() -> None:
    section = "# Instructions\n\nSource: MEWCODE.md (project)\n\nA\n\nSource: rules/b.md (user)\n\nB (x)\n"
    found = [(source, text.strip()) for source, text in instruction_texts(section)]
    assert found == [("MEWCODE.md", "A"), ("rules/b.md", "B (x)")]


class Runs:
    """A turn's calls of a tool that would push."""

    def __init__(self, person: SamplePerson | None) -> None:
        async def push(args: object, context: object) -> ToolOutcome:
            return ToolOutcome.text("pushed")

        tool = sample_tool("push", push)
        tool.accesses = lambda args, session: PUSH  # type: ignore[method-assign]
        agent = sample_agent(ScriptedProvider(), tool, policy=Reads(), person=person)
        agent.tools.guard = guard()
        self.runner, self.archive = agent.tools, MemoryArchive()
        self.events: list[AgentEvent] = []

    def run(self) -> str:
        async def work() -> None:
            assert self.runner.guard is not None
            self.runner.guard.begin_turn()
            await self.runner.run(
                [call("push", {"value": "x"})], Conversation(self.archive), self.events.append
            )

        asyncio.run(work())
        return text_of(self.archive.messages[-1].tool_results[0].content)


def test_with_nobody_there_the_model_reads_the_note() -> None:
    assert Runs(None).run() == (f"permission denied: the note Branches says: {RULE}; no user is here to ask")


def test_the_user_decides_once_for_the_same_call() -> None:
    runs = Runs(SamplePerson(ApprovalAnswer("once")))
    assert runs.run() == "pushed"
    assert runs.run() == "pushed"
    [asked] = [event for event in runs.events if isinstance(event, ApprovalRequested)]
    assert asked.request.reason == f"the note Branches says: {RULE}"
