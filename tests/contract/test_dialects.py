"""Servers that imitate Chat Completions, each in its own way: a whole tool round against each."""

from __future__ import annotations

import pytest

from mewcode.core.message import Usage, text_of
from tests.support import fake_llm as fake
from tests.support.fake_llm import Dialect, Reply
from tests.support.sample_agent import sample_tool

DIALECTS = {
    "openai": Dialect(),
    "no index": Dialect(tool_index=False),
    "no index, id each time": Dialect(tool_index=False, tool_id="every"),
    "no index, id each time, woven": Dialect(tool_index=False, tool_id="every", interleave_calls=True),
    "no id": Dialect(tool_id="never"),
    "neither index nor id": Dialect(tool_index=False, tool_id="never"),
    "neither, name repeated": Dialect(tool_index=False, tool_id="never", repeat_name=True),
    "name repeated": Dialect(repeat_name=True),
    "name and id repeated": Dialect(repeat_name=True, tool_id="every"),
    "name repeated, no id": Dialect(repeat_name=True, tool_id="never"),
    "woven": Dialect(interleave_calls=True),
    "woven, id and name each time": Dialect(interleave_calls=True, tool_id="every", repeat_name=True),
    "whole calls": Dialect(whole_call=True),
    "whole calls, no index": Dialect(whole_call=True, tool_index=False),
    "whole calls, neither index nor id": Dialect(whole_call=True, tool_index=False, tool_id="never"),
    "arguments as an object": Dialect(arguments_object=True),
    "null content": Dialect(null_content=True),
    "empty content": Dialect(empty_content=True),
    "null fields": Dialect(null_fields=True),
    "usage never": Dialect(usage="never"),
    "usage in the last chunk": Dialect(usage="last_chunk"),
    "usage in every chunk": Dialect(usage="every_chunk"),
    "usage in its own chunk": Dialect(usage="own_chunk"),
    "reasoning": Dialect(reasoning_field="reasoning"),
    "reasoning twice": Dialect(reasoning_field="both"),
    "no DONE": Dialect(done=False),
    "stop in spite of calls": Dialect(finish_reason="stop"),
    "a word of its own": Dialect(finish_reason="eos"),
    "all at once": Dialect(
        tool_index=False, tool_id="every", repeat_name=True, interleave_calls=True, null_fields=True,
        null_content=True, usage="every_chunk", reasoning_field="both", done=False, finish_reason="stop",
    ),
}  # fmt: skip


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_a_tool_round(openai_wire, dialect: Dialect, *, whole: bool) -> None:
    server = openai_wire.server
    server.dialect = dialect
    faults = fake.Faults(comments=True, ignore_stream=whole)
    server.script(
        Reply.of(
            fake.thinking(["I ", "think"]),
            fake.text(["Let ", "me see."]),
            fake.tool_call("work", {"value": "one", }, chunks=4),
            fake.tool_call("other", {"value": "two"}, chunks=3),
            fake.tool_call("other"),
            fake.tool_call("other"),
            faults=faults,
        ),
        Reply.text("Done", faults=faults),
    )  # fmt: skip
    turn = openai_wire.turn(sample_tool("work"), sample_tool("other"))
    assert (turn.result.text, turn.result.stop) == ("Done", "done")
    assert [text_of(result.content) for result in turn.results()] == [
        "echo one",
        "echo two",
        "echo ",
        "echo ",
    ]
    answer = turn.agent.conversation.messages[1]
    assert [block.text for block in answer.content[:2]] == ["I think", "Let me see."]
    assert answer.usage == (Usage() if dialect.usage == "never" else Usage(100, 20))


def test_reasoning_goes_back_in_the_field_in_which_it_came(openai_wire) -> None:
    for field in ("reasoning", "reasoning_content"):
        server = openai_wire.server
        server.dialect = Dialect(reasoning_field=field)
        server.script(Reply.of(fake.thinking("I think"), fake.tool_call("work")), Reply.text("Done"))
        openai_wire.turn(sample_tool("work"))
        (answer,) = [message for message in openai_wire.sent()["messages"] if message["role"] == "assistant"]
        assert answer[field] == "I think"
        assert len([key for key in answer if key.startswith("reasoning")]) == 1


def test_thinking_in_tags_is_thinking_and_goes_back_in_tags(openai_wire) -> None:
    openai_wire.server.script(
        Reply.of(fake.text(["<thi", "nk>I th", "ink</th", "ink>\n\nLet me see."]), fake.tool_call("work")),
        Reply.text("Done"),
    )
    turn = openai_wire.turn(sample_tool("work"))
    answer = turn.agent.conversation.messages[1]
    assert [block.text for block in answer.content[:2]] == ["I think", "Let me see."]
    (sent,) = [message for message in openai_wire.sent()["messages"] if message["role"] == "assistant"]
    assert sent["content"] == "<think>I think</think>\nLet me see."
