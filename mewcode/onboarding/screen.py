"""The set-up screen: which service, its key, its model; then they are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from mewcode.config.key_path import KeyPath
from mewcode.config.key_store import KeyStore, check_key
from mewcode.config.layers import CONFIG_FILE, shown_path
from mewcode.config.schema import Config
from mewcode.core.errors import ConfigError
from mewcode.infra.paths import Places
from mewcode.onboarding.console import Console, Left, choose
from mewcode.onboarding.model_choice import choose_model
from mewcode.onboarding.service_choice import Draft, choose_draft
from mewcode.onboarding.try_key import list_models, send_message
from mewcode.providers.registry import Named, Service, choose_service, key_variables
from mewcode.setup import named_providers

# Seconds that a service may take over its answer.
_LIMIT = 20.0

_AGAIN, _ANYWAY, _OTHER = range(3)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the user has set up. ``model`` is empty where they named none; ``demo``: they want the demo, and
    nothing was kept."""

    provider: str = ""
    model: str = ""
    demo: bool = False


class SetupScreen:
    """Asks on ``console``; what is chosen goes to the user's config and ``keys``."""

    def __init__(
        self,
        console: Console,
        places: Places,
        environ: Mapping[str, str],
        config: Config,
        keys: KeyStore,
        find_local: Callable[[], str | None],
    ) -> None:
        self._console = console
        self._places = places
        self._environ = environ
        self._named = named_providers(config)
        self._keys = keys
        self._find_local = find_local

    def run(self) -> Chosen:
        """Asks until something is chosen. Raises `Left`, and `ConfigError` where it cannot be kept."""
        while True:
            draft = choose_draft(self._console, self._named, self._environ, self._find_local())
            if draft is None:
                return Chosen(demo=True)
            chosen = self._set_up(draft)
            if chosen is not None:
                return chosen

    def _set_up(self, draft: Draft) -> Chosen | None:
        """None where the user wants another service after all."""
        self._console.say()
        while True:
            service, given = self._service(draft)
            self._console.say(f"Asking {service.endpoint.base_url} ...")
            trial = list_models(service, _LIMIT)
            model = ""
            error = trial.error
            # A service without a list of models, or one that shows it to anyone, is asked for a word.
            if (error is not None and error.status in (404, 405)) or (error is None and draft.public_list):
                model = choose_model(self._console, trial.models, "")
                error = send_message(service, model, _LIMIT).error if model else None
            if error is None:
                model = model or choose_model(self._console, trial.models, draft.name)
                return self._keep(draft, service, given, model)
            refused = error.status in (401, 403)
            hint = "Is it whole, and of this service?" if refused else error.hint
            self._console.say(f"\n{error.message}\n{hint}".rstrip() + "\n")
            answer = choose(
                self._console,
                "What now?",
                (
                    "Type the key again" if given or not service.endpoint.api_key else "Ask again",
                    "Keep it as it is",
                    "Choose another service",
                ),
                _AGAIN if refused else _OTHER,
            )
            if answer == _OTHER:
                return None
            if answer == _ANYWAY:
                model = model or self._console.ask("Model (Enter for the service's first): ")
                return self._keep(draft, service, given, model)

    def _service(self, draft: Draft) -> tuple[Service, str]:
        """The service with its key, and the key that was typed, if any."""
        variable = next((name for name in key_variables(draft.named) if self._environ.get(name)), "")
        if variable and not draft.own_address:
            self._console.say(f"The key is taken from {variable}.")
            return self._resolved(draft, draft.named, ""), ""
        # Without a key the service is asked all the same: it may want none.
        bare = self._resolved(draft, msgspec.structs.replace(draft.named, needs_key=False), "")
        url = bare.endpoint.base_url
        without = "none" if draft.own_address or not draft.named.needs_key else ""
        if variable:
            without = f"the one of {variable}"
        elif self._keys.where(draft.name, url):
            without = "the one that is kept"
        if key := self._ask_key(draft.title, without):
            # A typed key goes before that of a variable for all services of this protocol.
            named = msgspec.structs.replace(draft.named, api_key_env=draft.settings.get("api_key_env", ""))
            return self._resolved(draft, named if draft.own_address else draft.named, key), key
        kept = self._keys.find(draft.name, url) if not variable else None
        return (self._resolved(draft, draft.named, kept) if kept else bare), ""

    def _resolved(self, draft: Draft, named: Named, key: str) -> Service:
        all_named = {**self._named, draft.name: named}
        return choose_service(
            draft.name, None, all_named, self._environ, lambda: None, lambda name, url: key or None
        )

    def _ask_key(self, title: str, without: str) -> str:
        """``without``: what Enter alone stands for; empty where a key is needed."""
        hint = f"not shown; Enter: {without}" if without else "not shown"
        while True:
            key = self._console.ask_hidden(f"API key of {title} ({hint}): ")
            if not key and without:
                return ""
            if not key:
                if self._console.ask("Leave the set-up? [y/N] ").lower() in ("y", "yes"):
                    raise Left
                continue
            try:
                check_key(key)
            except ConfigError as error:
                self._console.say(f"{error.message}. {error.hint}")
                continue
            return key

    def _keep(self, draft: Draft, service: Service, key: str, model: str) -> Chosen:
        from mewcode.config.assign import set_values

        say = self._console.say
        home = self._environ.get("HOME")
        if key:
            kept = self._keys.keep(draft.name, service.endpoint.base_url, key)
            where = f"{shown_path(self._keys.path, home)}, readable by you alone"
            say("\nThe key is kept in " + ("the system's keyring." if kept == "keyring" else f"{where}."))
        values: dict[KeyPath, str | None] = {("provider",): draft.name, ("model",): model or None}
        for name, value in draft.settings.items():
            if key or name != "api_key_env":  # a variable that is named has to be set, or a key kept
                values[("providers", draft.name, name)] = value
        path = self._places.user / CONFIG_FILE
        set_values(path, values)
        say(f"{draft.title}{f', model {model}' if model else ''}: written to {shown_path(path, home)}.")
        return Chosen(draft.name, model)
