"""Which service to talk to, and how: from flags, config and environment to a `Provider`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from mewcode.core.errors import ConfigError, NotConfigured
from mewcode.providers.base import Endpoint, Provider, WireProtocol
from mewcode.providers.transport import Transport

ProtocolName = Literal["anthropic", "openai", "bedrock", "vertex"]

_ANTHROPIC_URL = "https://api.anthropic.com"
_OPENAI_URL = "https://api.openai.com/v1"

# Where servers on the user's own machine listen: Ollama, LM Studio, llama.cpp, vLLM.
_LOCAL_PORTS = (11434, 1234, 8080, 8000)

_NO_MODEL = (
    "Set ANTHROPIC_API_KEY or OPENAI_API_KEY (for another OpenAI-compatible service also OPENAI_BASE_URL),\n"
    "or start a local server such as Ollama.\n"
    "`mewcode demo` shows a scripted session that needs no model."
)


class Service(msgspec.Struct, frozen=True):
    """A service that is decided on: its name in the config, the language it speaks, where it is."""

    name: str
    protocol: ProtocolName
    endpoint: Endpoint


class Named(msgspec.Struct, frozen=True):
    """A provider of the config: `providers.<name>`."""

    protocol: ProtocolName
    base_url: str = ""
    api_key_env: str = ""
    headers: dict[str, str] = {}


def choose_service(
    wanted: str | None,
    base_url: str | None,
    named: Mapping[str, Named],
    environ: Mapping[str, str],
    find_local: Callable[[], str | None],
) -> Service:
    """The service that flags or config name, else the first whose key or URL the environment has, else a
    local server that answers. ``base_url`` (a flag) replaces the service's own. Raises `NotConfigured`, or
    `ConfigError` for an unknown name."""
    if wanted is None:
        wanted = _from_environment(environ, base_url)
    if wanted is None:
        local = find_local()
        if local is None:
            raise NotConfigured("no model is configured", _NO_MODEL)
        return Service("local", "openai", Endpoint(local))
    settings = named.get(wanted) or _builtin(wanted, named)
    url = base_url or settings.base_url or _environment_url(settings.protocol, environ)
    key, bearer = _key(wanted, settings, environ, own_url=bool(url))
    return Service(
        wanted,
        settings.protocol,
        Endpoint((url or _default_url(settings.protocol)).rstrip("/"), key, bearer, settings.headers),
    )


def _from_environment(environ: Mapping[str, str], base_url: str | None) -> str | None:
    if environ.get("ANTHROPIC_API_KEY") or environ.get("ANTHROPIC_AUTH_TOKEN"):
        return "anthropic"
    if environ.get("OPENAI_API_KEY") or environ.get("OPENAI_BASE_URL") or base_url:
        return "openai"
    return None


def _builtin(wanted: str, named: Mapping[str, Named]) -> Named:
    if wanted in ("anthropic", "openai", "bedrock", "vertex"):
        return Named(wanted)  # type: ignore[arg-type]  # narrowed by the tuple above
    known = ", ".join(["anthropic", "openai", "bedrock", "vertex", *named])
    raise ConfigError(f"unknown provider {wanted!r}", f"Known are: {known}. Others go under `providers:`.")


def _environment_url(protocol: ProtocolName, environ: Mapping[str, str]) -> str:
    variable = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}.get(protocol, "")
    return environ.get(variable, "") if variable else ""


def _default_url(protocol: ProtocolName) -> str:
    return {"anthropic": _ANTHROPIC_URL, "openai": _OPENAI_URL}.get(protocol, "")


def _key(name: str, settings: Named, environ: Mapping[str, str], *, own_url: bool) -> tuple[str, bool]:
    """The key and whether it goes as a bearer token."""
    if settings.protocol in ("bedrock", "vertex"):
        return "", False  # the cloud's own credentials
    if settings.api_key_env:
        key = environ.get(settings.api_key_env, "")
        if not key:
            raise NotConfigured(
                f"the key of provider {name!r} is missing: {settings.api_key_env} is not set",
                f"Set it: export {settings.api_key_env}=...",
            )
        return key, False
    if settings.protocol == "anthropic":
        if key := environ.get("ANTHROPIC_API_KEY", ""):
            return key, False
        if token := environ.get("ANTHROPIC_AUTH_TOKEN", ""):
            return token, True
        variable = "ANTHROPIC_API_KEY"
    else:
        if key := environ.get("OPENAI_API_KEY", ""):
            return key, False
        variable = "OPENAI_API_KEY"
    if own_url:
        return "", False  # a server of the user's own may want no key
    raise NotConfigured(
        f"no key for provider {name!r}: {variable} is not set",
        f"Set it: export {variable}=...  `mewcode demo` needs no key.",
    )


def make_provider(service: Service, user_agent: str) -> Provider:
    """The provider for a service. Imports only the protocol it needs."""
    if service.protocol in ("bedrock", "vertex"):
        from mewcode.providers.cloud import CloudProvider

        return CloudProvider(service.protocol, service.endpoint)
    from mewcode.providers.http_provider import HttpProvider

    return HttpProvider(service.name, _protocol(service.protocol), service.endpoint, Transport(user_agent))


def _protocol(name: ProtocolName) -> WireProtocol:
    if name == "anthropic":
        from mewcode.providers.anthropic import AnthropicProtocol

        return AnthropicProtocol()
    from mewcode.providers.openai_chat import OpenAIChatProtocol

    return OpenAIChatProtocol()


def find_local_server(connect_timeout: float = 0.1) -> str | None:
    """The base URL of a model server on this machine, or None. Takes a millisecond where nothing listens;
    something else that listens there is not taken for one: it must list models."""
    for port in _LOCAL_PORTS:
        if _lists_models(port, connect_timeout):
            return f"http://127.0.0.1:{port}/v1"
    return None


def _lists_models(port: int, connect_timeout: float) -> bool:
    import socket
    from http.client import HTTPConnection, HTTPException

    try:
        socket.create_connection(("127.0.0.1", port), connect_timeout).close()
    except OSError:
        return False
    connection = HTTPConnection("127.0.0.1", port, timeout=1.0)
    try:
        connection.request("GET", "/v1/models")
        response = connection.getresponse()
        return response.status == 200 and b'"data"' in response.read(1_000_000)
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
