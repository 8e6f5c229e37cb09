"""A service's refusals in our own words: what happened, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mewcode.core.codec import decode_json, encode_json
from mewcode.core.errors import (
    AuthError,
    BadRequest,
    ConnectionFailed,
    Overloaded,
    PromptTooLong,
    ProviderError,
    RateLimited,
    StreamBroken,
)
from mewcode.infra.terminal_text import safe_line

_TOO_LONG = re.compile(
    r"prompt (?:\(\d+ tokens\) )?is too long|input is too long|too many (?:input )?tokens"
    r"|context[_ ]length[_ ]exceeded|maximum context length|context window"
    r"|exceeds? (?:the )?(?:model'?s |available )?(?:max|context)",
    re.IGNORECASE,
)

_NUMBER = r"(\d[\d,]{2,11})"
# What services were seen to say of the tokens they take, and of those that they were sent.
_LIMIT = (
    re.compile(rf"> {_NUMBER}"),
    re.compile(
        rf"(?:context length|context window|context size|allowed|limit)\D{{1,30}}{_NUMBER}", re.IGNORECASE
    ),
    re.compile(rf'"n_ctx"\D{{1,5}}{_NUMBER}'),
)
_SENT = (
    re.compile(rf"{_NUMBER} (?:tokens? |\+ \d+ )?>"),
    re.compile(rf"(?:request|prompt|tokens|token count) \({_NUMBER}", re.IGNORECASE),
    re.compile(
        rf"(?:requested|resulted in|contains?|has)(?: over| about| at least)? {_NUMBER}", re.IGNORECASE
    ),
    re.compile(rf'"n_prompt_tokens"\D{{1,5}}{_NUMBER}'),
)
_MOST_TOKENS = 100_000_000
# Of a failure of the server's own: local servers say so of a prompt that is too long.
_TOO_LONG_FOR_SERVER = re.compile(
    r"exceed_context_size|exceeds? (?:the )?(?:available )?context|context size has been exceeded",
    re.IGNORECASE,
)

_UNTRUSTED = re.compile(r"certificate[ _]verify[ _]failed|certificate is not trusted", re.IGNORECASE)
# Refusals that look like a rate limit and do not pass with time.
_NO_CREDIT = re.compile(r"insufficient_quota|credit balance is too low", re.IGNORECASE)


def error_from_response(status: int, headers: Mapping[str, str], body: bytes, now: float) -> ProviderError:
    """The error for an answer that is not 200. ``now`` is Unix time, for a Retry-After given as a date."""
    said = _message(body) or f"HTTP {status}"
    if status == 402 or (status in (400, 403, 429) and _NO_CREDIT.search(body.decode("latin-1"))):
        return _no_credit(said, status)
    if status == 429:
        return RateLimited(
            f"the model's service limits requests: {said}",
            "Wait a little, or use another model with /model or --model.",
            status=status,
            retry_after=retry_after(headers, now),
        )
    details = body[:20_000].decode("latin-1")
    if status >= 500 and _TOO_LONG_FOR_SERVER.search(details):
        return _too_long(said, status, details)
    if status in (500, 502, 503, 504, 529) or status in (408, 409, 425):
        return Overloaded(
            f"the model's service is not available (HTTP {status}): {said}",
            "Try again in a minute; `-c` continues this session.",
            status=status,
            retry_after=retry_after(headers, now),
        )
    if status in (401, 403):
        return AuthError(
            f"the model's service refused the key (HTTP {status}): {said}",
            "Check ANTHROPIC_API_KEY or OPENAI_API_KEY (or api_key_env in the config), and its permissions.",
            status=status,
        )
    if _TOO_LONG.search(said) or status == 413:
        return _too_long(said, status, details)
    if status == 404:
        return BadRequest(
            f"the service does not know this model or address (HTTP 404): {said}",
            "Check the model's name and the base URL; `/model` lists what the service offers.",
            status=status,
        )
    return BadRequest(
        f"the model's service refused the request (HTTP {status}): {said}",
        "If the model's name and the config are right, please report this with --verbose.",
        status=status,
    )


def error_in_stream(payload: object) -> ProviderError:
    """The error for an ``error`` object that came inside a 200 answer."""
    error = payload if isinstance(payload, dict) else {}
    kind = f"{error.get('type', '')} {error.get('code', '')}".lower()
    said = safe_line(str(error.get("message") or error or payload), 300)
    if _NO_CREDIT.search(f"{kind} {said}"):
        return _no_credit(said, 402)
    is_too_long = _TOO_LONG.search(said) or _TOO_LONG_FOR_SERVER.search(f"{kind} {said}")
    if is_too_long or "context_length" in kind:
        return _too_long(said, 0, encode_json(error)[:20_000].decode("utf-8", "replace"))
    if "rate" in kind or "429" in kind:
        return RateLimited(f"the model's service limits requests: {said}", "Wait a little.", status=429)
    if any(word in kind for word in ("overloaded", "api_error", "server", "timeout", "500", "502", "503")):
        return Overloaded(f"the model's service failed: {said}", "Try again in a minute.", status=529)
    if any(word in kind for word in ("authentication", "permission", "401", "403")):
        return AuthError(f"the model's service refused the key: {said}", "Check the key.", status=401)
    if any(
        word in kind for word in ("invalid_request", "bad_request", "badrequest", "not_found", "400", "404")
    ):
        return BadRequest(f"the model's service refused the request: {said}", "", status=400)
    return StreamBroken(f"the model's service broke off its answer: {said}", "Try again.")


def _too_long(said: str, status: int, details: str = "") -> ProviderError:
    return PromptTooLong(
        f"the conversation is too long for the model: {said}",
        "Sum it up with /compact, go back with /rewind, begin anew with /clear, or choose a model with a "
        "larger window with /model.",
        status=status,
        tokens=_figure(_SENT, said, details),
        limit=_figure(_LIMIT, said, details),
    )


def _figure(patterns: Iterable[re.Pattern[str]], *texts: str) -> int:
    """The number that is said so; 0 where none is, or one that cannot be."""
    for pattern in patterns:
        for found in filter(None, map(pattern.search, texts)):
            number = int(found[1].replace(",", ""))
            return number if number <= _MOST_TOKENS else 0
    return 0


def _no_credit(said: str, status: int) -> ProviderError:
    return BadRequest(f"the account has no credit left: {said}", "Check its plan and billing.", status=status)


def connection_error(error: Exception, url: str) -> ProviderError:
    """The error for a request that got no answer, or lost it on the way."""
    said = safe_line(str(error), 200) or type(error).__name__
    host = re.sub(r"^(\w+://)(?:[^@/]*@)?([^/]*).*$", r"\1\2", url)
    failure = ConnectionFailed(
        f"cannot reach {host}: {said}", "Check the network, the proxy settings and the base URL."
    )
    if _UNTRUSTED.search(said):
        # Waiting changes nothing about a certificate.
        failure.retryable = False
        failure.hint = (
            "Set SSL_CERT_FILE to a file that holds the certificate of your company's or server's CA."
        )
    return failure


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that ``Retry-After`` (or Anthropic's and OpenAI's ``retry-after-ms``) asks to wait."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        value = (headers.get("retry-after") or "").strip()
        if not value:
            return None
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value)
        from email.utils import parsedate_to_datetime

        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def _message(body: bytes) -> str:
    """The human part of an error body: JSON of either protocol, or the text of a page."""
    text = body[:20_000].decode("utf-8", "backslashreplace")
    try:
        value: Any = decode_json(body)
    except ValueError:
        return safe_line(re.sub(r"<[^>]*>", " ", text), 300)
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error
    return safe_line(error if isinstance(error, str) else str(error), 300)
