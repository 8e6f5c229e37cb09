"""A session with a result too long for its conversation: shown in part, kept, and read without a question."""

from __future__ import annotations

import pytest

from mewcode.agent.session import Session
from mewcode.core.message import text_of
from tests.support.sample_session import hold, take_turn
from tests.support.scripted_provider import ScriptedProvider, answer, call


def results(session: Session) -> list[str]:
    """The texts of all results, in the order of their calls."""
    messages = session.agent.conversation.messages
    found = {result.call_id: text_of(result.content) for each in messages for result in each.tool_results}
    return [found[call.id] for each in messages for call in each.tool_calls]


@pytest.mark.parametrize("is_home", [False, True])
def test_the_model_pages_through_what_it_was_shown_in_part(tmp_path, is_home):
    """Also where the project folder lies outside of the workspace, in a folder that nobody trusts."""
    project = tmp_path / "project"
    project.mkdir()
    whole = "".join(f"line {number} 中文\n" for number in range(40_000))
    (project / "big.txt").write_text(whole, encoding="utf-8")
    environ = {"MEWCODE_HOME": str(project / ".mewcode")} if is_home else {}
    provider = ScriptedProvider(answer(call("bash", {"command": "cat big.txt"})), answer("done"))

    async def scenario(session: Session) -> None:
        await take_turn(session)
        (file,) = (session.archive.folder / "tool-results").iterdir()
        assert file.read_text(encoding="utf-8") == whole
        provider.answers += [
            answer(
                call("read_file", {"path": str(file), "offset": 20_001, "limit": 2}),
                call("grep", {"pattern": "^line 31234 ", "path": str(file)}),
                call("write_file", {"path": str(file), "content": "x"}),
                call("read_file", {"path": str(session.archive.folder / "conversation.jsonl")}),
            ),
            answer("done"),
        ]
        await take_turn(session)
        shown, page, found, written, other = results(session)
        assert str(file) in shown
        assert len(shown) < 31_000
        assert "line 20000 中文" in page
        assert "line 31234 中文" in found
        assert written.startswith("permission denied")
        assert other.startswith("permission denied") == is_home

    session = hold(tmp_path, provider, scenario, environ=environ)
    sent = [message.content for message in provider.requests[-1].messages]

    async def resumed(session: Session) -> None:
        assert [message.content for message in session.agent.conversation.messages[: len(sent)]] == sent

    hold(tmp_path, ScriptedProvider(), resumed, environ=environ, resume=session.id)
