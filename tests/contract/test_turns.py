"""Turns as they should go, over both protocols."""

from __future__ import annotations

import asyncio
import json

import pytest

from mewcode.core.message import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage, text_of
from mewcode.core.outcome import ToolOutcome
from mewcode.core.stream import BlockDelta, UsageReport
from tests.support import fake_llm as fake
from tests.support.fake_llm import Faults, Reply
from tests.support.sample_agent import sample_tool

CHINESE = "你好，世界 👩‍👩‍👧 é\u2028end"


def test_text(wire) -> None:
    wire.server.script(Reply.text("Hello there", chunks=4))
    turn = wire.turn(prompt="hi")
    assert (turn.result.text, turn.result.stop, turn.result.steps) == ("Hello there", "done", 1)
    assert "".join(event.text for event in turn.of(BlockDelta)) == "Hello there"
    assert len(turn.of(BlockDelta)) == 4
    assert wire.server.generations[0].headers["user-agent"] == "mewcode/test"


@pytest.mark.parametrize(
    "faults",
    [
        Faults(split_every=1),
        Faults(split_every=3, line_end="\r\n"),
        Faults(split_every=2, line_end="\r"),
        Faults(coalesce=True),
        Faults(comments=True, unknown_events=True, blank_lines=True, blank_data=True),
        Faults(multi_line_data=True, space_after_colon=False),
        Faults(until_close=True),
        Faults(content_type="text/plain"),
        Faults(ignore_stream=True),
    ],
    ids=lambda faults: "-".join(
        name for name in faults.__slots__ if getattr(faults, name) != getattr(Faults(), name)
    ),
)
def test_the_form_of_the_stream_makes_no_difference(wire, faults: Faults) -> None:
    calls = Reply.of(
        fake.thinking(["思", "考"]),
        fake.text([CHINESE[:5], CHINESE[5:]]),
        fake.tool_call("work", {"value": CHINESE}, chunks=5),
        faults=faults,
    )
    wire.server.script(calls, Reply.text(CHINESE, faults=faults))
    turn = wire.turn(sample_tool("work"), prompt=CHINESE)
    assert turn.result.text == CHINESE
    answer = turn.agent.conversation.messages[1]
    assert [block.text for block in answer.content[:2]] == ["思考", CHINESE]
    assert [text_of(result.content) for result in turn.results()] == [f"echo {CHINESE}"]
    assert CHINESE in json.dumps(wire.sent(), ensure_ascii=False).replace("\\u2028", "\u2028")


def test_thinking_goes_back_to_the_model_that_thought(wire) -> None:
    wire.server.dialect = fake.Dialect(wants_reasoning_back=True)
    wire.server.script(
        Reply.of(fake.thinking("I should look", "sig-1"), fake.tool_call("work", {"value": "x"})),
        Reply.of(fake.thinking("I have seen it", "sig-2"), fake.text("Done")),
        Reply.text("Again"),
    )

    async def scenario() -> None:
        async with wire.agent(sample_tool("work")) as agent:
            for prompt in ("one", "two"):
                async with agent.run(prompt) as run:
                    async for _ in run:
                        pass
                assert run.result.stop == "done", run.result

    asyncio.run(scenario())
    for body in (wire.sent(1), wire.sent(2)):
        first = body["messages"][1] if wire.name == "anthropic" else body["messages"][2]
        assert first["role"] == "assistant"
        if wire.name == "anthropic":
            assert first["content"][0] == {
                "type": "thinking", "thinking": "I should look", "signature": "sig-1",
            }  # fmt: skip
        else:
            assert first["reasoning_content"] == "I should look"


def test_parallel_results_go_back_in_the_order_of_the_calls(wire) -> None:
    """Those that end first are not first in what the model reads."""
    done: list[str] = []
    later = [asyncio.Event() for _ in range(3)]

    async def look(args, context) -> ToolOutcome:
        place = int(args.value)
        if place < 2:
            await later[place + 1].wait()
        done.append(args.value)
        later[place].set()
        return ToolOutcome.text(f"result {place}", is_error=place == 1)

    wire.server.script(
        Reply.calls(*(("look", {"value": str(place)}) for place in range(3)), say="Three things."),
        Reply.text("Done"),
    )
    turn = wire.turn(sample_tool("look", look, read_only=True))
    assert done == ["2", "1", "0"]
    assert turn.result.text == "Done"
    messages = wire.sent()["messages"]
    if wire.name == "anthropic":
        assert [message["role"] for message in messages] == ["user", "assistant", "user"]
        results = messages[-1]["content"]
        assert [block["type"] for block in results] == ["tool_result"] * 3
        assert [block["tool_use_id"] for block in results] == [
            block["id"] for block in messages[1]["content"] if block["type"] == "tool_use"
        ]
        assert [block["content"][0]["text"] for block in results] == ["result 0", "result 1", "result 2"]
        assert [block.get("is_error", False) for block in results] == [False, True, False]
    else:
        assert [message["role"] for message in messages] == [
            "system",
            "user",
            "assistant",
            "tool",
            "tool",
            "tool",
        ]
        assert [message["content"] for message in messages[3:]] == ["result 0", "result 1", "result 2"]
        assert [message["tool_call_id"] for message in messages[3:]] == [
            call["id"] for call in messages[2]["tool_calls"]
        ]


def test_what_is_said_after_results_is_taken(wire) -> None:
    wire.server.script(Reply.calls(("work", {}), ("work", {})), Reply.text("Done"))

    async def work(args, context) -> ToolOutcome:
        agents[0].interjections.put("也看看 that")
        return ToolOutcome.text("result")

    agents = []

    async def scenario() -> None:
        async with wire.agent(sample_tool("work", work)) as agent:
            agents.append(agent)
            async with agent.run("go") as run:
                async for _ in run:
                    pass

    asyncio.run(scenario())
    messages = wire.sent()["messages"]
    if wire.name == "anthropic":
        assert [block["type"] for block in messages[-1]["content"]] == [
            "tool_result",
            "tool_result",
            "text",
            "text",
        ]
    else:
        assert [message["role"] for message in messages[-2:]] == ["tool", "tool"]
        assert messages[-2]["content"] == "result"
        assert messages[-1]["content"].startswith("result\n\n")
        assert messages[-1]["content"].count("也看看 that") == 2


def test_usage_tells_cached_tokens_apart(wire) -> None:
    written = 7 if wire.name == "anthropic" else 0  # Chat Completions does not tell what was written
    usage = fake.Usage(input=100, output=20, cache_read=900, cache_write=written)
    wire.server.script(Reply.text("Hello", usage=usage))
    turn = wire.turn()
    assert turn.result.usage == Usage(100, 20, 900, written)
    assert turn.of(UsageReport)[-1].usage == turn.result.usage
    assert turn.agent.conversation.messages[-1].usage == turn.result.usage


@pytest.mark.parametrize(
    ("said", "stop", "steps"),
    [
        ("end_turn", "done", 1),
        ("stop_sequence", "done", 1),
        ("max_tokens", "done", 2),
        ("refusal", "refusal", 1),
    ],
)
def test_stop_reasons(wire, said: str, stop: str, steps: int) -> None:
    wire.server.script(Reply.text("Some", stop_reason=said), Reply.text("more"))
    turn = wire.turn()
    assert (turn.result.stop, turn.result.steps) == (stop, steps)
    wire.server.replies.clear()


def test_the_window_is_full(anthropic_wire) -> None:
    anthropic_wire.server.script(Reply.text("Some", stop_reason="model_context_window_exceeded"))
    assert anthropic_wire.turn().result.stop == "error"


def test_a_pause_goes_on(anthropic_wire) -> None:
    anthropic_wire.server.script(Reply.text("Some", stop_reason="pause_turn"), Reply.text("more"))
    turn = anthropic_wire.turn()
    assert (turn.result.text, turn.result.steps) == ("more", 2)


def test_arguments_that_are_no_object_are_not_run(wire) -> None:
    ran: list[str] = []

    async def work(args, context) -> ToolOutcome:
        ran.append(args.value)
        return ToolOutcome.text("")

    wire.server.script(
        Reply.calls(fake.tool_call("work", raw_json='{"value": "cut')),
        Reply.calls(fake.tool_call("work", raw_json='["x"]')),
        Reply.calls(("work", {"value": "right"})),
        Reply.text("Done"),
    )
    turn = wire.turn(sample_tool("work", work))
    assert turn.result.text == "Done"
    assert ran == ["right"]
    assert [result.is_error for result in turn.results()] == [True, True, False]


def test_arguments_cut_off_at_the_output_limit_are_not_run(wire) -> None:
    """Also where nothing of them came: that is no call without arguments."""
    ran: list[str] = []

    async def work(args, context) -> ToolOutcome:
        ran.append(args.value)
        return ToolOutcome.text("")

    for raw in ('{"value": "cut', ""):
        wire.server.script(
            Reply.of(fake.tool_call("work", raw_json=raw), stop_reason="max_tokens"), Reply.text("Done")
        )
        turn = wire.turn(sample_tool("work", work))
        assert turn.result.text == "Done"
        assert [result.is_error for result in turn.results()] == [True]
    assert ran == []


def test_images_of_the_user_and_of_tools_are_taken(wire) -> None:
    picture = Image("image/png", "iVBORw0KGgo=")

    async def look(args, context) -> ToolOutcome:
        return ToolOutcome((Text("a picture"), picture))

    wire.server.script(Reply.calls(("look", {})), Reply.text("A cat"))

    async def scenario() -> None:
        async with wire.agent(sample_tool("look", look)) as agent, agent.run("what?", [picture]) as run:
            async for _ in run:
                pass
            assert run.result.text == "A cat"

    asyncio.run(scenario())
    assert wire.server.generations[-1].body.count(b"iVBORw0KGgo=") == 2


def test_no_image_is_sent_to_a_model_that_takes_none(wire) -> None:
    picture = Image("image/png", "iVBORw0KGgo=")

    async def look(args, context) -> ToolOutcome:
        return ToolOutcome((picture,))

    wire.server.script(Reply.calls(("look", {})), Reply.text("I see nothing"))
    blind = type(wire.model)(name="blind", max_output=4_096)

    async def scenario() -> None:
        async with (
            wire.agent(sample_tool("look", look), model=blind) as agent,
            agent.run("?", [picture]) as run,
        ):
            async for _ in run:
                pass

    asyncio.run(scenario())
    body = wire.server.generations[-1].body
    assert b"iVBORw0KGgo=" not in body
    assert body.count(b"this model takes none") == 2


def test_the_report_at_the_step_limit_is_accepted(wire) -> None:
    from mewcode.agent.loop import Limits

    wire.server.script(Reply.calls(("work", {})), Reply.text("Half done"))
    turn = wire.turn(sample_tool("work"), limits=Limits(max_steps=1))
    assert (turn.result.stop, turn.result.text) == ("limit", "Half done")
    choice = wire.sent()["tool_choice"]
    assert choice == ({"type": "none"} if wire.name == "anthropic" else "none")
    assert wire.sent()["tools"] == wire.sent(0)["tools"]


def test_a_conversation_of_another_providers_model_is_accepted(wire) -> None:
    """Foreign thinking is left out, calls and results stay."""
    other = "openai" if wire.name == "anthropic" else "anthropic"
    call = ToolCall("abcdefghi", "work", {"value": "x"})
    past = [
        Message("1", "user", (Text("look"),)),
        Message(
            "2", "assistant", (Thinking("foreign", "reasoning_content", other), call), "model", "other-model"
        ),
        Message("3", "tool", (ToolResult(call.id, (Text("seen"),)),), "tool"),
        Message("4", "assistant", (Thinking("foreign", "sig", other), Text("Seen.")), "model", "other-model"),
    ]
    wire.server.script(Reply.text("Hello"))
    assert wire.turn(sample_tool("work"), messages=past).result.text == "Hello"
    assert b"foreign" not in wire.server.generations[0].body
    assert b"seen" in wire.server.generations[0].body


def test_the_models_on_offer(wire) -> None:
    async def scenario() -> tuple[str, ...]:
        provider = wire.provider()
        try:
            return await provider.list_models()
        finally:
            await provider.aclose()

    assert asyncio.run(scenario()) == ("fake-large", "fake-small")


def test_one_connection_serves_a_whole_turn(wire) -> None:
    wire.server.script(Reply.calls(("work", {})), Reply.calls(("work", {})), Reply.text("Done"))
    wire.turn(sample_tool("work"))
    assert len({request.connection for request in wire.server.generations}) == 1
