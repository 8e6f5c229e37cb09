"""Which service to talk to, and how: from flags, config and environment to a `Provider`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from mewcode.core.errors import ConfigError, NotConfigured
from mewcode.providers.base import Endpoint, Provider, WireProtocol
from mewcode.providers.transport import Transport

ProtocolName = Literal["anthropic", "openai", "bedrock", "vertex"]

# The services that need no entry in the config: each is named as the protocol it speaks.
BUILT_IN: dict[str, ProtocolName] = {
    "anthropic": "anthropic", "openai": "openai", "bedrock": "bedrock", "vertex": "vertex"
}  # fmt: skip

_ANTHROPIC_URL = "https://api.anthropic.com"
_OPENAI_URL = "https://api.openai.com/v1"

# Where servers on the user's own machine listen: Ollama, LM Studio, llama.cpp, vLLM.
_LOCAL_PORTS = (11434, 1234, 8080, 8000)

_NO_MODEL = (
    "Set ANTHROPIC_API_KEY or OPENAI_API_KEY (for another OpenAI-compatible service also OPENAI_BASE_URL),\n"
    "or start a local server such as Ollama, or run `mewcode config` in a terminal.\n"
    "`mewcode demo` shows a scripted session that needs no model."
)


class Service(msgspec.Struct, frozen=True):
    """A service that is decided on: its name in the config, the language it speaks, where it is."""

    name: str
    protocol: ProtocolName
    endpoint: Endpoint


class Named(msgspec.Struct, frozen=True):
    """A provider of the config (`providers.<name>`) or a preset. ``needs_key``: without the key in
    ``api_key_env`` there is no use in asking."""

    protocol: ProtocolName
    base_url: str = ""
    api_key_env: str = ""
    headers: dict[str, str] = {}
    needs_key: bool = True


FindKey = Callable[[str, str], str | None]
"""The key that the user has kept for the service of a name, at an address; None where there is none."""


def _none_kept(name: str, base_url: str) -> str | None:
    return None


def choose_service(
    wanted: str | None,
    base_url: str | None,
    named: Mapping[str, Named],
    environ: Mapping[str, str],
    find_local: Callable[[], str | None],
    find_key: FindKey = _none_kept,
) -> Service:
    """The service that flags or config name, else the first whose key or URL the environment has, else a
    local server that answers. ``base_url`` (a flag) replaces the service's own; ``find_key`` is asked where
    the environment has no key. Raises `NotConfigured`, or `ConfigError` for an unknown name."""
    if wanted is None:
        wanted = _from_environment(environ, base_url)
    if wanted is None:
        local = find_local()
        if local is None:
            raise NotConfigured("no model is configured", _NO_MODEL)
        return Service("local", "openai", Endpoint(local))
    settings = named.get(wanted) or _builtin(wanted, named)
    own_url = base_url or settings.base_url or _environment_url(settings.protocol, environ)
    url = (own_url or _default_url(settings.protocol)).rstrip("/")
    key, bearer = environment_key(settings, environ)
    key = key or (find_key(wanted, url) if settings.protocol in ("anthropic", "openai") else "") or ""
    if not key:
        _check_keyless(wanted, settings, own_url=bool(own_url))
    return Service(wanted, settings.protocol, Endpoint(url, key, bearer, settings.headers))


def _from_environment(environ: Mapping[str, str], base_url: str | None) -> str | None:
    if environ.get("ANTHROPIC_API_KEY") or environ.get("ANTHROPIC_AUTH_TOKEN"):
        return "anthropic"
    if environ.get("OPENAI_API_KEY") or environ.get("OPENAI_BASE_URL") or base_url:
        return "openai"
    return None


def _builtin(wanted: str, named: Mapping[str, Named]) -> Named:
    if protocol := BUILT_IN.get(wanted):
        return Named(protocol)
    if preset := preset_named(wanted):
        return preset
    from mewcode.providers.presets import presets

    known = ", ".join(dict.fromkeys([*BUILT_IN, *named, *presets()]))
    raise ConfigError(f"unknown provider {wanted!r}", f"Known are: {known}. Others go under `providers:`.")


def preset_named(name: str) -> Named | None:
    """What is known of a service by its name alone; None where nothing is."""
    from mewcode.providers.presets import presets

    preset = presets().get(name)
    if preset is None or name in BUILT_IN:
        return None
    return Named("openai", preset.base_url, preset.key_variable, {}, preset.needs_key)


def _environment_url(protocol: ProtocolName, environ: Mapping[str, str]) -> str:
    variable = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}.get(protocol, "")
    return environ.get(variable, "") if variable else ""


def _default_url(protocol: ProtocolName) -> str:
    return {"anthropic": _ANTHROPIC_URL, "openai": _OPENAI_URL}.get(protocol, "")


def key_variables(settings: Named) -> tuple[str, ...]:
    """The environment variables that may hold a service's key, the first that is set counts."""
    if settings.protocol not in ("anthropic", "openai"):
        return ()  # the cloud's own credentials
    if settings.api_key_env:
        return (settings.api_key_env,)
    if settings.protocol == "anthropic":
        return ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    return ("OPENAI_API_KEY",)


def environment_key(settings: Named, environ: Mapping[str, str]) -> tuple[str, bool]:
    """The key that the environment has, empty where it has none, and whether it goes as a bearer token."""
    for variable in key_variables(settings):
        if key := environ.get(variable, ""):
            return key, variable == "ANTHROPIC_AUTH_TOKEN"
    return "", False


def _check_keyless(name: str, settings: Named, *, own_url: bool) -> None:
    """Raises `NotConfigured` where a service cannot be asked without a key."""
    variables = key_variables(settings)
    if not variables or not settings.needs_key:
        return
    if settings.api_key_env:
        raise NotConfigured(
            f"the key of provider {name!r} is missing: {settings.api_key_env} is not set",
            f"Set it: export {settings.api_key_env}=...  or: mewcode config",
        )
    if settings.protocol == "openai" and own_url:
        return  # a server of the user's own may want no key
    raise NotConfigured(
        f"no key for provider {name!r}: {variables[0]} is not set",
        f"Set it: export {variables[0]}=...  or: mewcode config  (`mewcode demo` needs no key.)",
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
        url = f"http://127.0.0.1:{port}/v1"
        if lists_models(url, connect_timeout):
            return url
    return None


def lists_models(url: str, connect_timeout: float = 0.1) -> bool:
    """Whether a server without TLS lists models at this base URL; it has a second to answer."""
    import socket
    from http.client import HTTPConnection, HTTPException
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 80
    try:
        socket.create_connection((host, port), connect_timeout).close()
    except OSError:
        return False
    connection = HTTPConnection(host, port, timeout=1.0)
    try:
        connection.request("GET", f"{parts.path}/models")
        response = connection.getresponse()
        return response.status == 200 and b'"data"' in response.read(1_000_000)
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
