"""The bench's model server: it answers as the encoder says and keeps the order of times."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest

from bench.model_server import ModelServer, encode
from tests.support.fake_llm import Gate, Reply


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def _post(server: ModelServer, path: str, *bodies: object) -> list[str]:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    try:
        texts = []
        for body in bodies:
            connection.request("POST", path, json.dumps(body))
            texts.append(connection.getresponse().read().decode())
        return texts
    finally:
        connection.close()


def test_answers_come_in_order_and_the_last_one_again(server: ModelServer) -> None:
    server.play([encode(Reply.text("one")), encode(Reply.text("two"))])
    body = {"tools": []}
    first, second, third = _post(server, "/v1/messages", body, body, body)
    assert '"text":"one"' in first
    assert '"text":"two"' in second
    assert third == second
    for exchange in server.exchanges:
        assert exchange.begun <= exchange.received <= exchange.first_sent <= exchange.last_sent
    assert server.exchanges[0].last_sent <= server.exchanges[1].begun


def test_a_call_without_tools_takes_no_answer(server: ModelServer) -> None:
    server.play([encode(Reply.text("one"), "openai")])
    aside, answer = _post(
        server, "/v1/chat/completions", {"messages": [{"content": '"tools":'}]}, {"tools": []}
    )
    assert '"content":"ok"' in aside
    assert '"content":"one"' in answer
    assert (len(server.exchanges), server.side_calls) == (1, 1)


def test_a_large_body_arrives_whole_and_a_new_run_forgets_the_old(server: ModelServer) -> None:
    server.play([encode(Reply.text("one"))])
    _post(server, "/v1/messages", {"text": "文" * 500_000, "tools": []})
    assert len(server.exchanges) == 1
    server.play([encode(Reply.text("one"))])
    assert server.exchanges == []


def test_an_answer_that_waits_is_no_answer_to_measure() -> None:
    with pytest.raises(ValueError, match="no gates"):
        encode(Reply.text(["one", Gate(), "two"]))
