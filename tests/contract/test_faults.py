"""Services and connections that fail: what is tried again, what is withdrawn, what is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Literal

import pytest

from mewcode.core.events import MessageAdded, RetryScheduled, StreamWithdrawn
from mewcode.core.message import Text
from mewcode.core.outcome import ToolOutcome
from mewcode.core.stream import BlockStart
from mewcode.providers.retry import RetryPolicy
from tests.support import fake_llm as fake
from tests.support.fake_llm import Cut, Faults, Gate, Reply, StreamError
from tests.support.sample_agent import sample_tool

How = Literal["end", "drop", "reset"]


def _answer() -> Reply:
    return Reply.of(
        fake.thinking(["I ", "think"]),
        fake.text(["Let me ", "see."]),
        fake.tool_call("work", {"value": "x"}, chunks=3),
        fake.tool_call("work", {"value": "y"}, chunks=2),
    )


def _events_of_answer(wire) -> int:
    """How many server events the answer has."""
    blocks_anthropic = [2 + 1, 2, 3 + 1, 2 + 1]  # deltas: a signature, an empty first piece of arguments
    if wire.name == "anthropic":
        return 1 + 1 + sum(2 + deltas for deltas in blocks_anthropic) + 2
    return 1 + 2 + 2 + (1 + 3) + (1 + 2) + 1 + 1 + 1


@pytest.mark.parametrize("how", ["end", "drop", "reset"])
def test_an_answer_that_breaks_off_anywhere_comes_again_whole_and_once(wire, how: How) -> None:
    """Wherever it is cut, no tool runs on what is not whole, and nothing is run twice."""
    total = _events_of_answer(wire)
    # Chat Completions: once the finish reason is there (third from the end) the answer is whole.
    complete = 0 if wire.name == "anthropic" else 2
    for place in range(total):
        ran: list[str] = []

        async def work(args, context, ran=ran) -> ToolOutcome:
            ran.append(args.value)
            return ToolOutcome.text("")

        wire.server.script(_answer().cut(place, how))
        wire.server.respond_with(lambda _, ran=ran: Reply.text("Done") if ran else _answer())
        turn = wire.turn(sample_tool("work", work))
        assert turn.result.text == "Done", (place, turn.result)
        assert ran == ["x", "y"], place
        assert turn.roles() == ["user", "assistant", "tool", "tool", "assistant"], place
        retries, withdrawn = turn.of(RetryScheduled), turn.of(StreamWithdrawn)
        if how != "reset":  # a reset may overtake what was sent
            assert len(retries) == (place < total - complete), place
        assert len(withdrawn) <= len(retries)


def test_the_count_of_events_is_right(wire) -> None:
    """The test above covers all places only then."""
    wire.server.script(_answer().cut(_events_of_answer(wire)))
    wire.turn(sample_tool("work"), retry=RetryPolicy(max_attempts=1))
    assert [problem for problem in wire.server.problems if "no event" in problem] == []
    wire.server.problems.clear()
    wire.server.script(_answer().cut(_events_of_answer(wire) + 1))
    wire.turn(sample_tool("work"), retry=RetryPolicy(max_attempts=1))
    assert any("no event" in problem for problem in wire.server.problems)
    wire.server.problems.clear()


def test_what_was_shown_is_withdrawn_first(wire) -> None:
    wire.server.script(Reply.text(["Hel", Cut("end")]), Reply.text("Hello"))
    turn = wire.turn()
    kinds = [type(event) for event in turn.events]
    assert kinds.index(BlockStart) < kinds.index(StreamWithdrawn) < kinds.index(RetryScheduled)
    answers = [event.message for event in turn.of(MessageAdded) if event.message.role == "assistant"]
    assert [message.content for message in answers] == [(Text("Hello"),)]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_a_service_that_is_busy_is_asked_again(wire, status: int) -> None:
    wire.server.script(Reply.error(status), Reply.error(status), Reply.text("Hello"))
    turn = wire.turn()
    assert turn.result.text == "Hello"
    assert [retry.attempt for retry in turn.of(RetryScheduled)] == [2, 3]
    assert turn.of(StreamWithdrawn) == []
    assert len(wire.server.generations) == 3


def test_a_page_in_place_of_an_error_is_understood(wire) -> None:
    wire.server.script(Reply.error(502, body="<html><h1>Bad gateway</h1></html>"), Reply.text("Hello"))
    turn = wire.turn()
    assert "Bad gateway" in turn.of(RetryScheduled)[0].reason
    assert "<" not in turn.of(RetryScheduled)[0].reason


def test_retry_after_in_seconds_is_obeyed(wire) -> None:
    wire.server.script(Reply.error(429, retry_after=0.02), Reply.text("Hello"))
    turn = wire.turn(retry=RetryPolicy(base=30))
    assert [retry.delay for retry in turn.of(RetryScheduled)] == [0.02]


def test_retry_after_as_a_date_is_obeyed(wire) -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=5), usegmt=True)
    wire.server.script(Reply.error(503, retry_after=past), Reply.text("Hello"))
    turn = wire.turn(retry=RetryPolicy(base=30))
    assert [retry.delay for retry in turn.of(RetryScheduled)] == [0.0]


def test_a_wait_that_is_too_long_is_an_answer(wire) -> None:
    wire.server.script(Reply.error(429, retry_after=3600, message="daily limit"))
    turn = wire.turn()
    assert (turn.result.stop, turn.result.exit_code) == ("error", 75)
    assert "daily limit" in turn.result.error
    assert turn.of(RetryScheduled) == []


def test_attempts_come_to_an_end(wire) -> None:
    wire.server.script(*[Reply.error(529)] * 3)
    turn = wire.turn(retry=RetryPolicy(max_attempts=3, base=0.001))
    assert (turn.result.stop, turn.result.exit_code) == ("error", 75)
    assert turn.result.hint
    assert len(wire.server.generations) == 3
    assert turn.roles() == ["user"]


@pytest.mark.parametrize(
    ("status", "words", "hint"),
    [
        (400, "refused the request", "--verbose"),
        (401, "refused the key", "API_KEY"),
        (403, "refused the key", "API_KEY"),
        (404, "does not know this model", "/model"),
        (413, "too long", "/clear"),
    ],
)
def test_a_refusal_is_said_and_not_tried_again(wire, status: int, words: str, hint: str) -> None:
    wire.server.script(Reply.error(status, message="the reason why"))
    turn = wire.turn()
    assert (turn.result.stop, turn.result.exit_code) == ("error", 1)
    assert words in turn.result.error
    assert "the reason why" in turn.result.error
    assert hint in turn.result.hint
    assert len(wire.server.generations) == 1


def test_no_credit_is_no_rate_limit(openai_wire) -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    openai_wire.server.script(Reply.error(429, body=body))
    turn = openai_wire.turn()
    assert "no credit" in turn.result.error
    assert len(openai_wire.server.generations) == 1


@pytest.mark.parametrize(
    ("kind", "message", "again"),
    [
        ("overloaded_error", "Overloaded", True),
        ("server_error", "Something broke", True),
        ("rate_limit_error", "Slow down", True),
        ("strange_error", "What?", True),
        ("invalid_request_error", "prompt is too long: 1000 tokens > 100", False),
        ("invalid_request_error", "no such thing", False),
        ("authentication_error", "the key has expired", False),
    ],
)
def test_an_error_within_a_stream(wire, kind: str, message: str, *, again: bool) -> None:
    wire.server.script(Reply.text(["Hel", StreamError(kind, message)]), Reply.text("Hello"))
    turn = wire.turn()
    assert len(turn.of(StreamWithdrawn)) == 1
    assert len(turn.of(RetryScheduled)) == again
    if again:
        assert turn.result.text == "Hello"
    else:
        assert message in turn.result.error
        wire.server.replies.clear()


def test_what_cannot_be_read_is_a_broken_answer(wire) -> None:
    for raw in (
        "data: {not json\n\n",
        "data: 42\n\n",
        "data: null\n\n",
        'data: {"choices": 7, "type": 7}\n\n',
    ):
        wire.server.script(Reply.text(["Hel", fake.Raw(raw), "lo"]), Reply.text("Hello"))
        turn = wire.turn()
        assert turn.result.text == "Hello"
        wire.server.replies.clear()


@pytest.mark.parametrize("reply", [Reply.reset(), Reply.hang_up()], ids=["reset", "hang_up"])
def test_a_connection_that_is_lost_is_made_again(wire, reply: Reply) -> None:
    wire.server.script(reply, Reply.text("Hello"))
    turn = wire.turn()
    assert turn.result.text == "Hello"
    assert "cannot reach http://127.0.0.1" in turn.of(RetryScheduled)[0].reason


def test_a_connection_that_is_refused_is_tried_again(wire) -> None:
    wire.server.refuse()
    wire.server.script(Reply.text("Hello"))

    def accept(event, run) -> None:
        if isinstance(event, RetryScheduled):
            wire.server.accept()

    turn = wire.turn(on_event=accept)
    assert turn.result.text == "Hello"
    assert len(turn.of(RetryScheduled)) >= 1


def test_a_service_that_is_not_there_is_given_up(wire) -> None:
    wire.base_url = wire.server.refused_url
    turn = wire.turn()
    assert (turn.result.stop, turn.result.exit_code) == ("error", 75)
    assert "cannot reach" in turn.result.error
    assert "base URL" in turn.result.hint


def test_silence_is_a_lost_connection(wire) -> None:
    """Before the first byte, and in the middle."""
    wire.read_timeout = 0.05
    wire.server.script(Reply.stall("first"), Reply.text(["Hel", Gate("second"), "lo"]), Reply.text("Hello"))
    turn = wire.turn()
    assert turn.result.text == "Hello"
    assert len(turn.of(RetryScheduled)) == 2
    assert len(turn.of(StreamWithdrawn)) == 1


def test_a_web_page_is_no_model(wire) -> None:
    path = "/v1/messages" if wire.name == "anthropic" else "/v1/chat/completions"
    wire.server.routes[path] = Reply(status=200, body="<!doctype html><p>Sign in to the network</p>")
    turn = wire.turn()
    assert "web page" in turn.result.error
    assert "base URL" in turn.result.hint
    assert len(wire.server.generations) == 1


def test_a_whole_answer_that_is_cut_comes_again(wire) -> None:
    whole = Faults(ignore_stream=True)
    wire.server.script(
        Reply.text(["Hel", Cut("drop"), "lo"], faults=whole), Reply.text("Hello", faults=whole)
    )
    assert wire.turn().result.text == "Hello"


def test_an_error_in_place_of_a_whole_answer_is_understood(wire) -> None:
    path = "/v1/messages" if wire.name == "anthropic" else "/v1/chat/completions"
    error = {"type": "invalid_request_error", "message": "no such thing"}
    wire.server.routes[path] = Reply(status=200, body={"type": "error", "error": error})
    turn = wire.turn()
    assert "no such thing" in turn.result.error
    assert len(wire.server.generations) == 1


@pytest.mark.parametrize("url", ["localhost:1", "ftp://localhost", "http://", "http://[::bad"])
def test_an_address_that_is_none_is_said(wire, url: str) -> None:
    wire.base_url = url
    turn = wire.turn()
    assert turn.result.stop == "error"
    assert turn.of(RetryScheduled) == []
    assert "http" in turn.result.hint


def test_a_key_that_cannot_be_sent_is_said(wire) -> None:
    for key in ("with\nline", "schlüssel"):
        wire.api_key = key
        turn = wire.turn()
        assert "API key" in turn.result.hint
        assert turn.of(RetryScheduled) == []
