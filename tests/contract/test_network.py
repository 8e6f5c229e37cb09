"""The surroundings of a company: a proxy and a certificate authority of its own, named by the environment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mewcode.core.events import RetryScheduled
from tests.support.certificate import AUTHORITY, SERVER, SERVER_KEY
from tests.support.fake_llm import Reply
from tests.support.relay import RecordingProxy, TlsWall


@pytest.fixture
def wall(wire) -> Iterator[TlsWall]:
    port = int(wire.server.url.rpartition(":")[2])
    with TlsWall(port, str(SERVER), str(SERVER_KEY)) as wall:
        wire.base_url = wall.url if wire.name == "anthropic" else f"{wall.url}/v1"
        yield wall


@pytest.fixture
def proxy() -> Iterator[RecordingProxy]:
    with RecordingProxy() as proxy:
        yield proxy


def test_a_proxy_is_used_for_http(wire, proxy: RecordingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    wire.server.script(Reply.text("Hello"))
    assert wire.turn().result.text == "Hello"
    path = "/v1/messages" if wire.name == "anthropic" else "/v1/chat/completions"
    assert proxy.asked == [f"POST {wire.server.url}{path}"]


def test_no_proxy_keeps_hosts_from_it(wire, proxy: RecordingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "example.org,127.0.0.1")
    wire.server.script(Reply.text("Hello"))
    assert wire.turn().result.text == "Hello"
    assert proxy.asked == []


def test_a_company_authority_is_trusted(wire, wall: TlsWall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    wire.server.script(Reply.text("Hello"))
    assert wire.turn().result.text == "Hello"


def test_a_proxy_and_an_authority_together(
    wire,
    wall: TlsWall,
    proxy: RecordingProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("://", "://user:secret@"))
    wire.server.script(Reply.text("Hello"))
    assert wire.turn().result.text == "Hello"
    assert proxy.asked == [f"CONNECT 127.0.0.1:{wall.port}"]
    assert "proxy-authorization" in proxy.headers
    assert "test-key" not in str(proxy.headers)


def test_an_unknown_authority_is_said_at_once(wire, wall: TlsWall) -> None:
    turn = wire.turn()
    assert turn.result.stop == "error"
    assert "certificate" in turn.result.error.lower()
    assert "SSL_CERT_FILE" in turn.result.hint
    assert turn.of(RetryScheduled) == []


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_certificate_file_that_cannot_be_read_is_said(
    wire, wall: TlsWall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    turn = wire.turn()
    assert str(path) in turn.result.error
    assert "SSL_CERT_FILE" in turn.result.hint
    assert turn.of(RetryScheduled) == []


def test_a_proxy_that_is_not_there_is_said(wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", wire.server.refused_url)
    turn = wire.turn()
    assert turn.result.exit_code == 75
    assert "proxy" in turn.result.hint
