"""What is settled before a session is opened: the folder's trust, the config, the service to talk to."""

from __future__ import annotations

from collections.abc import Mapping

from mewcode.config.load import LoadedConfig, load_config
from mewcode.config.schema import Config, ProviderConfig
from mewcode.config.trust import TrustStore
from mewcode.core.errors import ConfigError
from mewcode.infra.paths import Places
from mewcode.options import Options
from mewcode.providers.registry import (
    BUILT_IN,
    FindKey,
    Named,
    Service,
    choose_service,
    find_local_server,
    preset_named,
)


class Setup:
    """The outcome of options, environment and config files. Imports no part of a session, so that a terminal
    can paint right after it."""

    def __init__(
        self,
        options: Options,
        environ: Mapping[str, str],
        places: Places,
        *,
        service: Service | None = None,
    ) -> None:
        """``service`` is decided here where it is not given. Raises `ConfigError` and `NotConfigured`."""
        self.options = options
        self.environ = environ
        self.places = places
        self.trust = TrustStore(places.user)
        if options.trust:
            self.trust.trust(places.root)
        self.trusted = self.trust.is_trusted(places.root)
        self.loaded = self._load_config()
        config = self.loaded.config
        self.service = service or choose_service(
            config.provider,
            options.base_url,
            named_providers(config),
            environ,
            find_local_server,
            kept_keys(places, environ),
        )

    def _load_config(self) -> LoadedConfig:
        return load_settings(self.options, self.environ, self.places, trusted=self.trusted)


def load_settings(
    options: Options, environ: Mapping[str, str], places: Places, *, trusted: bool
) -> LoadedConfig:
    """The configuration with the flags laid over it. Raises `ConfigError`."""
    flags = {
        "model": options.model,
        "provider": options.provider,
        "max_turns": options.max_turns,
        "permissions.mode": options.mode,
        "permissions.allow": list(options.allow) or None,
        "permissions.deny": list(options.deny) or None,
    }
    return load_config(places, environ, flags=flags, extra_file=options.config_file, trusted=trusted)


def kept_keys(places: Places, environ: Mapping[str, str]) -> FindKey:
    """Finds the keys that the user has kept with `mewcode config`."""

    def find(name: str, base_url: str) -> str | None:
        # Most starts have their key in the environment: they import none of this.
        from mewcode.config.key_store import open_key_store

        return open_key_store(places.user, environ).find(name, base_url)

    return find


def named_providers(config: Config) -> dict[str, Named]:
    """The providers of the config as the registry takes them. Raises `ConfigError`."""
    return {name: _named(name, entry) for name, entry in config.providers.items()}


def _named(name: str, entry: ProviderConfig) -> Named:
    """A provider of the config as the registry takes it; its protocol is what it or its name says."""
    protocol = entry.protocol or BUILT_IN.get(name)
    preset = preset_named(name) if protocol in (None, "openai") else None
    if preset is not None:
        url, variable = entry.base_url or preset.base_url, entry.api_key_env or preset.api_key_env
        return Named(preset.protocol, url, variable, dict(entry.headers), preset.needs_key)
    if protocol is None:
        if entry.base_url is None:
            raise ConfigError(
                f"provider {name!r} says neither its protocol nor its base_url",
                "Give it `protocol: openai` (or anthropic) and a `base_url`.",
                f"providers.{name}",
            )
        protocol = "openai"  # what nearly every compatible service speaks
    return Named(protocol, entry.base_url or "", entry.api_key_env or "", dict(entry.headers))
