"""Secrets in text: what is seen, what is left alone, and that nothing else changes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.infra.redact import MARK, find_secrets, redact, redact_url

# Put together here, so that no scanner takes this file's examples for real ones.
KEYS = [
    "sk-" + "ant-api03-" + "aB3" * 12,
    "sk-" + "proj-" + "aB3_" * 8,
    "gh" + "p_" + "aB3" * 12,
    "github" + "_pat_" + "aB3" * 12,
    "gl" + "pat-" + "aB3" * 7,
    "xo" + "xb-" + "123456789012-aBcDeF",
    "AK" + "IA" + "ABCDEFGH23456789",
    "AI" + "za" + "aB3_" * 9,
    "gs" + "k_" + "aB3" * 10,
    "h" + "f_" + "aB3" * 10,
    "np" + "m_" + "aB3" * 12,
    "py" + "pi-" + "aB3_" * 12,
    "sk" + "_live_" + "aB3" * 8,
    "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxIn0abc.c2ln",
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "frame", ["{}", "key {} here", '"{}"', "a={};", "({})", "http://h/?k={}&x=1", "用{}的"]
)
def test_keys_are_known_by_their_beginning(key: str, frame: str) -> None:
    assert key not in redact(frame.format(key))
    assert MARK in redact(frame.format(key))


@pytest.mark.parametrize(
    "text",
    [
        "password=hunter2!",
        "DB_PASSWORD: hunter2!",
        '"apiKey": "hunter2!"',
        "{'client_secret': 'hunter2!'}",
        "AWS_SECRET_ACCESS_KEY=hunter2!",
        "access_token := hunter2!",
        "export MY_TOKEN=hunter2!",
        "login --password hunter2!",
        "--api-key=hunter2!",
        "Authorization: Bearer hunter2!",
        "authorization: hunter2!",
        "Authorization: Basic hunter2!",
        "x-api-key: hunter2!",
        "Cookie: session=hunter2!; a=b",
        "https://user:hunter2!@host/path",
        "postgres://app:hunter2!@db:5432/x",
        "https://host/x?key=hunter2!&page=2",
        "https://host/x?page=2&access_token=hunter2!",
        '{\\"password\\": \\"hunter2!\\"}',
        'passwd = "a b hunter2!"',
        "Bearer hunter2hunter2!".replace("!", ""),
    ],
)
def test_values_behind_telling_names(text: str) -> None:
    assert "hunter2" not in redact(text)
    assert MARK in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "the password is kept in the keyring",
        "def check(password: str) -> bool:",
        "token = get_token()",
        "token = os.environ['X']",
        "password=${PASSWORD}",
        "api_key: $KEY",
        "max_tokens: 4096",
        "tokens_used=12",
        "password_file: /etc/x",
        "ssh://git@github.com/a/b",
        "https://host:8080/a@b",
        "mail me at a@b.example",
        "tokenizer: fast",
        "sk-learn is a library",
        "a bearer of good news",
        "password: ",
        "secret: null",
        "providers.x.api_key_env: MY_KEY",
        "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text) == text


def test_a_private_key_goes_whole_and_what_follows_stays() -> None:
    body = "MIIEpAIBAAKCAQEA\nabc+/=\n"
    for kind in ("RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"):
        text = f"before\n-----BEGIN {kind}-----\n{body}-----END {kind}-----\nafter"
        shown = redact(text)
        assert "MIIE" not in shown
        assert shown.startswith("before\n")
        assert shown.endswith("\nafter")
        cut = redact(f"-----BEGIN {kind}-----\n{body}")
        assert "MIIE" not in cut


def test_secrets_that_the_caller_holds() -> None:
    assert redact("it is blue-fish, blue-fish", ["blue-fish"]) == f"it is {MARK}, {MARK}"
    assert redact("it is blue", ["", "blue"]) == "it is blue", "too short to be looked for"


def test_where_a_secret_stands() -> None:
    [found] = find_secrets("password = 'a b'!")
    assert (found.kind, found.start, found.end) == ("password", 12, 15)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/v1", "https://host/v1"),
        ("https://me:pw@host:8/v1", f"https://{MARK}@host:8/v1"),
        ("https://me@host/v1", f"https://{MARK}@host/v1"),
        ("https://host/v1?key=x&y", f"https://host/v1?key={MARK}&y={MARK}"),
        ("", ""),
        ("nonsense", "nonsense"),
    ],
)
def test_a_url_to_show(url: str, shown: str) -> None:
    assert redact_url(url) == shown


@given(st.text(max_size=200), st.sampled_from(KEYS), st.text(max_size=200))
@settings(max_examples=150)
def test_a_key_is_found_whatever_stands_around_it(before: str, key: str, after: str) -> None:
    shown = redact(f"{before} {key} {after}")
    assert key not in shown


@given(st.text(alphabet="sk-=:/@'\"\\ \npassword?&{}token5BEGIN", max_size=120))
@settings(max_examples=300)
def test_once_is_enough_and_nothing_else_changes(text: str) -> None:
    secrets = find_secrets(text)
    assert all(one.end <= other.start for one, other in pairwise(secrets))
    shown = redact(text)
    kept, place = [], 0
    for secret in secrets:
        kept.append(text[place : secret.start])
        place = secret.end
    kept.append(text[place:])
    assert shown == MARK.join(kept)
    assert find_secrets(MARK) == []


@pytest.mark.parametrize(
    "piece",
    [
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "a_",
        "password",
        "http://",
        "http://a:",
        "'\\",
        "token='",
        "?key",
        "--a-b-c-",
    ],
)
def test_time_grows_with_the_text_only(piece: str) -> None:
    """A quadratic way would take minutes here."""
    text = piece * (400_000 // len(piece))
    assert len(redact(text)) <= len(text) * len(MARK)
