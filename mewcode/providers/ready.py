"""The services that a session could turn to as things stand: those whose key or URL is there."""

from __future__ import annotations

from collections.abc import Mapping

from mewcode.core.errors import ConfigError, NotConfigured
from mewcode.providers.registry import FindKey, Named, Service, choose_service


def ready_services(
    named: Mapping[str, Named], environ: Mapping[str, str], find_key: FindKey
) -> tuple[Service, ...]:
    """Anthropic and OpenAI where their key is set (OpenAI also where its base URL is), and each provider of
    the config that needs no key or whose key is set or kept (``find_key``). Asks no server."""
    known = ["anthropic", "openai", *(name for name in named if name not in ("anthropic", "openai"))]
    found = []
    for name in known:
        if name not in named and not _is_set(name, environ):
            continue
        try:
            found.append(choose_service(name, None, named, environ, _nowhere, find_key))
        except (NotConfigured, ConfigError):  # without its key it is not ready
            continue
    return tuple(found)


def _is_set(name: str, environ: Mapping[str, str]) -> bool:
    variables = {
        "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    }
    return any(environ.get(variable) for variable in variables[name])


def _nowhere() -> None:
    """A local server is asked for at the start only."""
