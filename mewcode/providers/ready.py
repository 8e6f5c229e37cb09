"""The services that a session could turn to as things stand: those whose key is there, and servers on this
machine that answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from mewcode.core.errors import ConfigError, NotConfigured
from mewcode.providers.base import Endpoint
from mewcode.providers.presets import presets
from mewcode.providers.registry import FindKey, Named, Service, choose_service, lists_models

LOCAL_PATIENCE = 0.3
"""Seconds that servers on this machine have for an answer, all of them together."""


def ready_services(
    named: Mapping[str, Named],
    environ: Mapping[str, str],
    find_key: FindKey,
    *,
    in_use: Mapping[str, Service] | None = None,
    answers: Callable[[str], bool] = lists_models,
) -> tuple[Service, ...]:
    """Anthropic, OpenAI and the services known by name whose key is set or kept (``find_key``), OpenAI also
    where its base URL is set; each provider of the config that needs no key or has one; servers on this
    machine that list models (``answers``), but for those that are ``in_use`` under another name.

    Waits `LOCAL_PATIENCE` for these, and for a keyring that has to be asked.
    """
    known = presets()
    hosted = [name for name, preset in known.items() if preset.needs_key]
    found = list((in_use or {}).values())
    for name in dict.fromkeys(("anthropic", "openai", *named, *hosted)):
        try:
            found.append(choose_service(name, None, named, environ, _nowhere, find_key))
        except (NotConfigured, ConfigError):  # without its key it is not ready
            continue
    taken = {service.endpoint.base_url for service in found}
    local = {
        preset.base_url: name
        for name, preset in known.items()
        if not preset.needs_key and preset.base_url not in taken
    }
    found += [
        Service(local[url], "openai", Endpoint(url, environ.get(known[local[url]].key_variable, "")))
        for url in _answering(local, answers)
    ]
    return tuple(service for service in found if service.name not in (in_use or {}))


def _answering(urls: Iterable[str], answers: Callable[[str], bool]) -> list[str]:
    """Those that answer in time, in their order. A server that takes longer is left to its thread."""
    wanted, there = list(urls), set()

    def ask(url: str) -> None:
        if answers(url):
            there.add(url)

    threads = [threading.Thread(target=ask, args=(url,), name="local", daemon=True) for url in wanted]
    until = time.monotonic() + LOCAL_PATIENCE
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return [url for url in wanted if url in there]


def _nowhere() -> None:
    """A local server is asked for by its address here."""
