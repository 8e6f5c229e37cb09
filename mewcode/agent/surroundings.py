"""What a session was started in: folders, settings, the services in reach. Facts for the user, and the way to
another service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from mewcode.config.load import LoadedConfig
from mewcode.core.errors import NotConfigured
from mewcode.infra.paths import Places
from mewcode.providers.base import Provider
from mewcode.providers.registry import Service


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Made by the composition root. ``services`` gives those that a session could turn to now, ``make`` a
    provider for one. ``secret_names`` are the variables that hold keys of ours, which grow in number where a
    session turns to another service. Looking for services may take 0.3 s: an event loop has it done in a
    thread."""

    places: Places
    environ: Mapping[str, str]
    loaded: LoadedConfig
    trusted: bool
    services: Callable[[], tuple[Service, ...]]
    make: Callable[[Service], Provider]
    secret_names: Set[str] = frozenset()

    def service(self, name: str) -> Service:
        """Raises `NotConfigured` where it is not in reach."""
        ready = self.services()
        for service in ready:
            if service.name == name:
                return service
        known = ", ".join(service.name for service in ready) or "none"
        raise NotConfigured(
            f"the provider {name!r} is not ready", f"Ready are: {known}. Its key must be set."
        )

    def config_sources(self) -> tuple[str, ...]:
        """The files, flags and variables that set something, lowest first."""
        origins = self.loaded.config.origins.values()
        return tuple(dict.fromkeys(_source(origin) for origin in origins))


def _source(origin: str) -> str:
    """``user config ~/.mewcode/config.yaml:3`` without its line."""
    head, colon, line = origin.rpartition(":")
    return head if colon and line.isdecimal() else origin
