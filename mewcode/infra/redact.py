"""Secrets found in text and blacked out: keys, tokens, passwords in URLs, private keys.

It goes by form: what well-known services' keys look like, what stands behind a name such as ``password``,
what an ``Authorization`` header holds. It cannot know a secret that looks like a word; so nothing may be
published on its word alone, and the user is asked to read what it was used on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

MARK = "[redacted]"

Kind = Literal["key", "private key", "password", "header", "url", "known"]


@dataclass(frozen=True, slots=True)
class Secret:
    """The secret itself stands at ``start`` to ``end`` of the text; its name or scheme is no part of it."""

    kind: Kind
    start: int
    end: int


# Beginnings that services gave to their keys so that scanners find them, with the least length of the rest.
_KEYS = r"""
(?<![A-Za-z0-9])(?:
    sk-[A-Za-z0-9_-]{16,}                           # Anthropic, OpenAI, DeepSeek, Moonshot, OpenRouter
  | (?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,}     # GitHub
  | glpat-[A-Za-z0-9_-]{20,}                        # GitLab
  | xox[abeoprs]-[A-Za-z0-9-]{10,}                  # Slack
  | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}             # AWS
  | AIza[A-Za-z0-9_-]{30,}                          # Google
  | ya29\.[A-Za-z0-9_.-]{20,}
  | gsk_[A-Za-z0-9]{20,}                            # Groq
  | hf_[A-Za-z0-9]{20,}                             # Hugging Face
  | xai-[A-Za-z0-9]{20,}
  | npm_[A-Za-z0-9]{30,}
  | pypi-[A-Za-z0-9_-]{40,}
  | [srp]k_(?:live|test)_[A-Za-z0-9]{16,}           # Stripe
  | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}      # SendGrid
  | dop_v1_[a-f0-9]{40,}                            # DigitalOcean
  | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*   # JSON web token
)
"""
_BEGIN = r"-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
_KEY_BODY = r"[A-Za-z0-9+/=\s\\:,.-]*"
# A user alone is no secret, unless it is as long as a token.
_URL = r"[A-Za-z][A-Za-z0-9+.-]{1,20}://(?:[^\s/:@\"'<>]{0,200}:([^\s/\"'<>]+)|([^\s/:@\"'<>]{20,}))@"
_NAMES = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret(?:[_-]?(?:access[_-]?)?key)?|token|(?:api|access|private|auth|"
    r"signing|encryption|account|session)[_-]?key|credentials?|connection[_-]?string)"
)
# In quotes, in quotes that are escaped themselves (JSON within a string), or bare.
_VALUE = r"(\\\"[^\"\\\n]*\\\"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|(?!\\[\"'])[^\s\"'&,;)}\]]+)"
# ``DB_PASSWORD=...``, ``"apiKey": "..."``. A name that goes on (``token_count``) is another thing.
_NAMED = rf"{_NAMES}\\?[\"']?[ \t]{{0,3}}(?::=|=>|[:=])[ \t]{{0,3}}{_VALUE}"
_FLAG = rf"(?<!\S)--?(?:[a-z0-9]{{1,20}}-){{0,3}}{_NAMES}[ \t]{{1,3}}(?!-){_VALUE}"
_QUERY = r"[?&](?:key|sig|signature|auth|code|[a-z_-]{0,20}token)=([^\s&#\"'<>]+)"
_HEADERS = (
    r"\b(?:proxy-)?authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:[a-z]{2,20}[ \t]+)?([^\s\"',]+)",
    r"\bbearer[ \t]+([A-Za-z0-9._~+/=-]{12,})",
    r"\b(?:set-)?cookie[\"']?[ \t]{0,3}:[ \t]{0,3}[\"']?([^\n\"']+)",
)
# Behind a telling name, but none: empty, a type, a reference to the place where the secret is kept.
_HARMLESS = (
    r"\\?[\"']?(?:|\*+|\.+|x+|none|null|nil|true|false|str(?:ing)?|int|bytes|optional|undefined|required|"
    r"\[redacted\]|\(hidden\)|<[^>]*>|\$\{?\w+\}?|\$\(.*|%\w+%|\{\{.*|(?:os|process|self|config)\.\S+|"
    r"\w+\(.*)\\?[\"']?"
)


@cache
def _patterns() -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    """Compiled at the first use: no start needs them."""
    kinds: list[tuple[Kind, str]] = [
        ("url", _URL),
        ("password", _NAMED),
        ("password", _FLAG),
        ("url", _QUERY),
    ]
    kinds += [("header", pattern) for pattern in _HEADERS]
    named = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in kinds]
    return (("key", re.compile(_KEYS, re.VERBOSE)), *named)


def find_secrets(text: str, known: Iterable[str] = ()) -> list[Secret]:
    """What looks like a secret, in order, without overlaps. ``known`` are secrets that the caller holds
    itself; one of fewer than 6 characters is not looked for. Takes time in proportion to the text."""
    found = [*_private_keys(text), *_known(text, known)]
    for kind, pattern in _patterns():
        for match in pattern.finditer(text):
            group = match.lastindex or 0
            start, end = match.span(group)
            if kind == "password":
                start, end = _without_quotes(text, start, end)
                if re.fullmatch(_HARMLESS, text[start:end], re.IGNORECASE):
                    continue
            if start < end and text[start:end] != MARK:
                found.append(Secret(kind, start, end))
    return _disjoint(found)


def _without_quotes(text: str, start: int, end: int) -> tuple[int, int]:
    size = 2 if text.startswith('\\"', start) else 1
    quoted = (
        end - start >= 2 * size
        and text[start + size - 1] in "\"'"
        and text[start + size - 1] == text[end - 1]
    )
    return (start + size, end - size) if quoted else (start, end)


def _known(text: str, known: Iterable[str]) -> Iterator[Secret]:
    for secret in known:
        place = text.find(secret) if len(secret) >= 6 else -1
        while place >= 0:
            yield Secret("known", place, place + len(secret))
            place = text.find(secret, place + len(secret))


def _private_keys(text: str) -> Iterator[Secret]:
    """From a key's first line to its last; where that is missing, as far as it looks like one."""
    place = 0
    unended: set[str] = set()  # looked for once: there may be many beginnings
    while begin := re.compile(_BEGIN).search(text, place):
        mark = f"-----END {begin[1]}-----"
        end = -1 if mark in unended else text.find(mark, begin.end())
        if end < 0:
            unended.add(mark)
            body = re.compile(_KEY_BODY).match(text, begin.end())
            place = body.end() if body else begin.end()
            yield Secret("private key", begin.end(), place)
        else:
            place = end + len(mark)
            yield Secret("private key", begin.end(), end)


def _disjoint(found: list[Secret]) -> list[Secret]:
    """In order; those that overlap or touch are made one."""
    merged: list[Secret] = []
    for secret in sorted(found, key=lambda item: (item.start, item.end)):
        if merged and secret.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Secret(last.kind, last.start, max(last.end, secret.end))
        elif secret.start < secret.end:
            merged.append(secret)
    return merged


def redact(text: str, known: Iterable[str] = ()) -> str:
    """The text with every secret that `find_secrets` sees replaced by `MARK`."""
    parts: list[str] = []
    place = 0
    for secret in find_secrets(text, known):
        parts += (text[place : secret.start], MARK)
        place = secret.end
    return "".join([*parts, text[place:]])


def redact_url(url: str) -> str:
    """A URL without user and password, and without the values of its query."""
    head, mark, query = url.partition("?")
    scheme, colon, rest = head.partition("://")
    if colon:
        host, slash, path = rest.partition("/")
        user, at, host = host.rpartition("@")
        head = f"{scheme}://{MARK if at and user else ''}{at if user else ''}{host}{slash}{path}"
    if not mark:
        return head
    names = (pair.partition("=")[0] for pair in query.split("&"))
    return f"{head}?" + "&".join(f"{name}={MARK}" for name in names)
