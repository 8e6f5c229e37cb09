"""What is settled before a session is opened: the folder's trust, the config, the service to talk to."""

from __future__ import annotations

from collections.abc import Mapping

from mewcode.config.load import LoadedConfig, load_config
from mewcode.config.schema import ProviderConfig
from mewcode.config.trust import TrustStore
from mewcode.core.errors import ConfigError
from mewcode.infra.paths import Places
from mewcode.options import Options
from mewcode.providers.registry import (
    Named,
    ProtocolName,
    Service,
    choose_service,
    find_local_server,
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
            {name: _named(name, entry) for name, entry in config.providers.items()},
            environ,
            find_local_server,
        )

    def _load_config(self) -> LoadedConfig:
        options = self.options
        flags = {
            "model": options.model,
            "provider": options.provider,
            "max_turns": options.max_turns,
            "permissions.mode": options.mode,
            "permissions.allow": list(options.allow) or None,
            "permissions.deny": list(options.deny) or None,
        }
        return load_config(
            self.places, self.environ, flags=flags, extra_file=options.config_file, trusted=self.trusted
        )


def _named(name: str, entry: ProviderConfig) -> Named:
    """A provider of the config as the registry takes it; its protocol is what it or its name says."""
    protocols: dict[str, ProtocolName] = {
        "anthropic": "anthropic", "openai": "openai", "bedrock": "bedrock", "vertex": "vertex"
    }  # fmt: skip
    protocol = entry.protocol or protocols.get(name)
    if protocol is None:
        if entry.base_url is None:
            raise ConfigError(
                f"provider {name!r} says neither its protocol nor its base_url",
                "Give it `protocol: openai` (or anthropic) and a `base_url`.",
                f"providers.{name}",
            )
        protocol = "openai"  # what nearly every compatible service speaks
    return Named(protocol, entry.base_url or "", entry.api_key_env or "", dict(entry.headers))
