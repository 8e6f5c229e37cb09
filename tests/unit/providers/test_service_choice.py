"""Which service is talked to: flags, config and environment, in this order."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from mewcode.core.errors import ConfigError, NotConfigured
from mewcode.providers import registry
from mewcode.providers.base import Endpoint
from mewcode.providers.registry import Named, Service, choose_service, find_local_server, make_provider

ANTHROPIC = {"ANTHROPIC_API_KEY": "ak"}
OPENAI = {"OPENAI_API_KEY": "ok"}


def choose(wanted=None, base_url=None, named=None, environ=None, local=None) -> Service:
    return choose_service(wanted, base_url, named or {}, environ or {}, lambda: local)


@pytest.mark.parametrize(
    ("environ", "service"),
    [
        (ANTHROPIC, Service("anthropic", "anthropic", Endpoint("https://api.anthropic.com", "ak"))),
        (ANTHROPIC | OPENAI, Service("anthropic", "anthropic", Endpoint("https://api.anthropic.com", "ak"))),
        (
            {"ANTHROPIC_AUTH_TOKEN": "at"},
            Service("anthropic", "anthropic", Endpoint("https://api.anthropic.com", "at", bearer=True)),
        ),
        (
            ANTHROPIC | {"ANTHROPIC_BASE_URL": "http://proxy/"},
            Service("anthropic", "anthropic", Endpoint("http://proxy", "ak")),
        ),
        (OPENAI, Service("openai", "openai", Endpoint("https://api.openai.com/v1", "ok"))),
        ({"OPENAI_BASE_URL": "http://h/v1/"}, Service("openai", "openai", Endpoint("http://h/v1"))),
        (
            OPENAI | {"OPENAI_BASE_URL": "http://h/v1"},
            Service("openai", "openai", Endpoint("http://h/v1", "ok")),
        ),
    ],
)
def test_the_environment_decides_where_nothing_is_said(environ: dict, service: Service) -> None:
    assert choose(environ=environ) == service


def test_a_local_server_is_the_last_resort() -> None:
    found = Service("local", "openai", Endpoint("http://127.0.0.1:11434/v1"))
    assert choose(local="http://127.0.0.1:11434/v1") == found
    with pytest.raises(NotConfigured) as raised:
        choose()
    assert "ANTHROPIC_API_KEY" in raised.value.hint
    assert raised.value.exit_code == 2


def test_no_local_server_is_looked_for_where_a_service_is_known() -> None:
    def look() -> str:
        raise AssertionError

    choose_service(None, None, {}, ANTHROPIC, look)


def test_a_flag_for_the_address_replaces_the_services_own() -> None:
    assert choose(base_url="http://h/v1").endpoint == Endpoint("http://h/v1")
    assert choose("anthropic", "http://h/", environ=ANTHROPIC).endpoint == Endpoint("http://h", "ak")


def test_what_is_wanted_goes_before_what_the_environment_has() -> None:
    assert choose("openai", environ=ANTHROPIC | OPENAI).name == "openai"


def test_a_provider_of_the_config() -> None:
    named = {
        "work": Named("anthropic", "http://work", "WORK_KEY", {"x-team": "a"}),
        "free": Named("openai", "http://free/v1"),
        "openai": Named("openai", "http://mine/v1", "MINE"),
    }
    environ = {"WORK_KEY": "wk", "MINE": "mk", **OPENAI}
    assert choose("work", named=named, environ=environ) == Service(
        "work", "anthropic", Endpoint("http://work", "wk", headers={"x-team": "a"})
    )
    assert choose("openai", named=named, environ=environ).endpoint == Endpoint("http://mine/v1", "mk")
    assert choose("free", named=named).endpoint == Endpoint("http://free/v1")
    with pytest.raises(NotConfigured, match="WORK_KEY is not set"):
        choose("work", named=named)


@pytest.mark.parametrize(
    ("wanted", "variable"), [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY")]
)
def test_a_missing_key_is_named(wanted: str, variable: str) -> None:
    with pytest.raises(NotConfigured, match=f"{variable} is not set"):
        choose(wanted)


def test_an_unknown_provider_is_an_error_that_names_the_known() -> None:
    with pytest.raises(ConfigError) as raised:
        choose("antropic", named={"work": Named("openai")})
    assert "anthropic, openai, bedrock, vertex, work" in raised.value.hint


def test_a_service_known_by_name_needs_its_key_alone() -> None:
    found = choose("deepseek", environ={"DEEPSEEK_API_KEY": "dk", **OPENAI})
    assert found == Service("deepseek", "openai", Endpoint("https://api.deepseek.com/v1", "dk"))
    with pytest.raises(NotConfigured, match="DEEPSEEK_API_KEY is not set"):
        choose("deepseek", environ=OPENAI)
    assert choose("ollama").endpoint == Endpoint("http://127.0.0.1:11434/v1")


def test_a_kept_key_is_asked_for_where_the_environment_has_none() -> None:
    asked = []

    def find_key(name: str, base_url: str) -> str | None:
        asked.append((name, base_url))
        return {"groq": "kept", "anthropic": "kept"}.get(name)

    def chosen(wanted: str, **environ: str) -> Endpoint:
        return choose_service(wanted, None, {}, environ, lambda: None, find_key).endpoint

    assert chosen("groq").api_key == "kept"
    assert chosen("anthropic") == Endpoint("https://api.anthropic.com", "kept")
    assert chosen("anthropic", ANTHROPIC_AUTH_TOKEN="at") == Endpoint(
        "https://api.anthropic.com", "at", bearer=True
    )
    assert asked == [
        ("groq", "https://api.groq.com/openai/v1"), ("anthropic", "https://api.anthropic.com"),
    ]  # fmt: skip
    assert chosen("bedrock").api_key == "", "a cloud has its own credentials"
    with pytest.raises(NotConfigured):
        chosen("mistral")


@pytest.mark.parametrize("cloud", ["bedrock", "vertex"])
def test_a_cloud_has_its_own_credentials(cloud: str) -> None:
    assert choose(cloud, environ=ANTHROPIC) == Service(cloud, cloud, Endpoint(""))


def test_a_provider_is_made_for_each_protocol() -> None:
    for protocol in ("anthropic", "openai"):
        made = make_provider(Service("mine", protocol, Endpoint("http://h")), "agent")
        assert made.name == "mine"


class _Handler(BaseHTTPRequestHandler):
    answer = b'{"data": []}'

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/v1/models" else 404)
        self.send_header("content-length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *args: object) -> None:
        return


@pytest.fixture
def listening(request: pytest.FixtureRequest) -> Iterator[int]:
    handler = type("Handler", (_Handler,), {"answer": request.param})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("listening", [b'{"object": "list", "data": []}'], indirect=True)
def test_a_local_model_server_is_found(listening: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_LOCAL_PORTS", (1, listening))
    assert find_local_server() == f"http://127.0.0.1:{listening}/v1"


@pytest.mark.parametrize("listening", [b"<html>hello"], indirect=True)
def test_another_server_is_not_taken_for_one(listening: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_LOCAL_PORTS", (listening,))
    assert find_local_server() is None
