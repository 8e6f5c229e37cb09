"""All results of one answer together have a bound, whatever each of them is."""

from __future__ import annotations

from mewcode.agent.offload import LIMIT, SHOWN, STEP_LIMIT
from mewcode.agent.session import Session
from mewcode.core.message import text_of
from tests.support.sample_session import hold, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer, call


def test_many_results_of_one_answer_are_kept_within_a_bound(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    line = "x" * 99 + "\n"
    (project / "a.txt").write_text(line * 450)
    calls = [call("read_file", {"path": "a.txt"}) for _ in range(10)]
    provider = ScriptedProvider(answer(*calls), answer("done"))

    async def scenario(session: Session) -> None:
        await take_turn(session)
        messages = session.agent.conversation.messages
        texts = [text_of(result.content) for message in messages for result in message.tool_results]
        assert len(texts) == 10
        assert sum(map(len, texts)) <= STEP_LIMIT + 10 * (2 * SHOWN + 1_000)
        whole = [text for text in texts if "left out" not in text]
        assert len(whole) == STEP_LIMIT // len(whole[0])
        kept = list((session.archive.folder / "tool-results").iterdir())
        assert len(kept) == 10 - len(whole)
        assert all(text.count("\n") < 450 for text in texts if "left out" in text)

    hold(tmp_path, provider, scenario)


def test_a_page_of_its_own_stands_whole(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text(("y" * 99 + "\n") * 1_000)
    provider = ScriptedProvider(answer(call("read_file", {"path": "a.txt"})), answer("done"))

    async def scenario(session: Session) -> None:
        await take_turn(session)
        [result] = [
            found for message in session.agent.conversation.messages for found in message.tool_results
        ]
        assert len(text_of(result.content)) > LIMIT
        assert not (session.archive.folder / "tool-results").exists()

    hold(tmp_path, provider, scenario)
