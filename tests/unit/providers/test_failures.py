"""Refusals in our own words."""

from __future__ import annotations

import json
import ssl
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from mewcode.core.errors import (
    AuthError,
    BadRequest,
    ConnectionFailed,
    Overloaded,
    PromptTooLong,
    RateLimited,
    StreamBroken,
)
from mewcode.providers.failures import connection_error, error_from_response, error_in_stream, retry_after


def _error(status: int, body: bytes = b"", headers: dict[str, str] | None = None):
    return error_from_response(status, headers or {}, body, now=1_000.0)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest), (401, AuthError), (402, BadRequest), (403, AuthError), (404, BadRequest),
        (408, Overloaded), (409, Overloaded), (413, PromptTooLong), (418, BadRequest), (422, BadRequest),
        (429, RateLimited), (500, Overloaded), (502, Overloaded), (503, Overloaded), (504, Overloaded),
        (529, Overloaded), (301, BadRequest),
    ],
)  # fmt: skip
def test_each_status_has_its_error(status: int, kind: type) -> None:
    error = _error(status)
    assert type(error) is kind
    assert error.status == status
    assert error.message
    assert error.hint
    assert str(status) in error.message or kind in (RateLimited, PromptTooLong) or status == 402


@pytest.mark.parametrize(
    "body",
    [
        b'{"type": "error", "error": {"type": "x", "message": "the reason"}}',
        b'{"error": {"message": "the reason", "code": null}}',
        b'{"error": "the reason"}',
        b'{"message": "the reason"}',
        b'{"detail": "the reason"}',
        b'{"error": {"detail": "the reason"}}',
        b'["the reason"]',
        b"<html><body><h1>the reason</h1>",
        b"the\x1b[31m reason\xff",
    ],
)
def test_the_reason_is_found_in_every_form_and_is_safe_to_show(body: bytes) -> None:
    message = _error(400, body).message
    assert "the reason" in message
    assert "\x1b" not in message
    assert "<" not in message


def test_a_long_page_is_cut() -> None:
    assert len(_error(500, b"x" * 100_000).message) < 500


@pytest.mark.parametrize(
    "said",
    [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
        "context_length_exceeded",
        "the request exceeds the available context size",
        "input is too long for requested model",
        "Your input exceeds the context window of this model",
    ],
)
def test_a_prompt_that_is_too_long_is_known_by_its_words(said: str) -> None:
    body = b'{"error": {"message": "%s"}}' % said.encode()
    assert type(_error(400, body)) is PromptTooLong
    assert type(error_in_stream({"type": "invalid_request_error", "message": said})) is PromptTooLong


@pytest.mark.parametrize(
    ("said", "tokens", "limit"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", 210_000, 200_000),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "
            "(8000 in the messages, 1000 in the completion)",
            8_000,
            8_192,
        ),
        (
            "maximum context length is 4096 tokens. However, your messages resulted in 4443 tokens",
            4_443,
            4_096,
        ),
        (
            "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
            4_390,
            4_096,
        ),
        ("Requested tokens (2285) exceed context window of 2048", 2_285, 2_048),
        ("Input prompt (36893 tokens) is too long and exceeds limit of 1000", 36_893, 1_000),
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease it",
            190_000,
            200_000,
        ),
        (
            "The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).",
            1_200_000,
            1_048_576,
        ),
        ("context_length_exceeded", 0, 0),
        ("prompt is too long: 999999999999 tokens > 0 maximum", 0, 0),
    ],
)
def test_what_a_service_says_of_its_limit_is_read(said: str, tokens: int, limit: int) -> None:
    error = _error(400, json.dumps({"error": {"message": said}}).encode())
    assert isinstance(error, PromptTooLong)
    assert (error.tokens, error.limit) == (tokens, limit)
    assert "/compact" in error.hint


def test_a_local_server_that_fails_with_a_prompt_that_is_too_long() -> None:
    said = {
        "code": 500,
        "message": "the request exceeds the available context size",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 14_429,
        "n_ctx": 8_192,
    }
    for error in (_error(500, json.dumps({"error": said}).encode()), error_in_stream(said)):
        assert isinstance(error, PromptTooLong)
        assert not error.retryable
        assert (error.tokens, error.limit) == (14_429, 8_192)


def test_what_no_waiting_helps_is_no_rate_limit() -> None:
    for body in (
        b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}',
        b'{"error": {"message": "Your credit balance is too low to access the API"}}',
    ):
        for status in (400, 429):
            error = _error(status, body)
            assert not error.retryable
            assert "billing" in error.hint
    assert not error_in_stream({"code": "insufficient_quota", "message": "x"}).retryable
    assert _error(429, b'{"error": {"message": "You exceeded your current quota, retry in 30s"}}').retryable


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"type": "overloaded_error", "message": "x"}, Overloaded),
        ({"type": "api_error", "message": "x"}, Overloaded),
        ({"code": 500, "message": "x"}, Overloaded),
        ({"type": "server_error", "message": "x"}, Overloaded),
        ({"type": "rate_limit_error", "message": "x"}, RateLimited),
        ({"code": 429, "message": "x"}, RateLimited),
        ({"type": "authentication_error", "message": "x"}, AuthError),
        ({"type": "permission_error", "message": "x"}, AuthError),
        ({"type": "invalid_request_error", "message": "x"}, BadRequest),
        ({"type": "BadRequestError", "code": 400, "message": "x"}, BadRequest),
        ({"type": "not_found_error", "message": "x"}, BadRequest),
        ({"code": "context_length_exceeded", "message": "x"}, PromptTooLong),
        ({"message": "x"}, StreamBroken),
        ({}, StreamBroken),
        ("x", StreamBroken),
        (None, StreamBroken),
        (["x"], StreamBroken),
    ],
)
def test_errors_within_a_stream(payload: object, kind: type) -> None:
    assert type(error_in_stream(payload)) is kind


def test_retry_after() -> None:
    assert retry_after({}, 0) is None
    assert retry_after({"retry-after": "7"}, 0) == 7.0
    assert retry_after({"retry-after": " 0.5 "}, 0) == 0.5
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}, 0) == 1.5
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    date = {"retry-after": format_datetime(moment, usegmt=True)}
    assert retry_after(date, moment.timestamp() - 30) == 30.0
    assert retry_after(date, moment.timestamp() + 30) == 0.0
    for nonsense in ("soon", "-3", "", "1e400", "Mon, 99 Foo 2030"):
        assert retry_after({"retry-after": nonsense}, 0) is None
    assert retry_after({"retry-after-ms": "soon"}, 0) is None
    assert _error(429, headers={"retry-after": "7"}).retry_after == 7.0
    assert _error(503, headers={"retry-after": "7"}).retry_after == 7.0


def test_a_lost_connection_names_the_host_and_no_secret() -> None:
    error = connection_error(OSError("refused"), "https://user:secret@host.example:8443/v1?key=secret")
    assert type(error) is ConnectionFailed
    assert "https://host.example:8443" in error.message
    assert "secret" not in error.message
    assert error.retryable
    assert "TimeoutError" in connection_error(TimeoutError(), "http://h").message


def test_a_certificate_that_is_not_trusted_stays_so() -> None:
    said = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"
    error = connection_error(ssl.SSLCertVerificationError(said), "https://h")
    assert not error.retryable
    assert "SSL_CERT_FILE" in error.hint
