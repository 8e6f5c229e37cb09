"""The model: the service chosen, its key, whether it answers and knows the model; the way to it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from mewcode.config.key_store import open_key_store
from mewcode.core.errors import MewCodeError, NotConfigured
from mewcode.doctor.check import Check, Subject
from mewcode.infra.terminal_text import safe_line
from mewcode.onboarding.try_key import list_models
from mewcode.providers.catalog import Catalog
from mewcode.providers.presets import presets
from mewcode.providers.registry import (
    BUILT_IN,
    Named,
    Service,
    choose_service,
    find_local_server,
    key_variables,
    preset_named,
)
from mewcode.setup import kept_keys, named_providers

_KEYS = "Set up a model with: mewcode config"


def check_model(subject: Subject, limit: float) -> Iterator[Check]:
    """The service answers within ``limit`` seconds, takes the key and knows the model."""
    if subject.loaded is None:
        yield Check("model", "fail", "the config cannot be read", "Mend the config first.")
        return
    config = subject.loaded.config
    try:
        service = choose_service(
            config.provider,
            subject.options.base_url,
            named_providers(config),
            subject.environ,
            find_local_server,
            kept_keys(subject.places, subject.environ),
        )
    except MewCodeError as error:
        yield Check("model", "fail", error.message, _KEYS if isinstance(error, NotConfigured) else error.hint)
        return
    where = f"{service.name} at {service.endpoint.base_url or 'its cloud'}"
    if service.protocol not in ("anthropic", "openai"):
        yield Check("service", "ok", f"{where}, with the cloud's own credentials (not asked)")
        return
    began = time.monotonic()
    trial = list_models(service, limit)
    took = f"{(time.monotonic() - began) * 1000:.0f} ms"
    if trial.error is None:
        yield Check("service", "ok", f"{where}: {len(trial.models)} models, {took}")
    elif trial.error.status in (404, 405):
        yield Check("service", "ok", f"{where} answers in {took}; it lists no models, so the key is untried")
    else:
        yield Check("service", "fail", trial.error.message, trial.error.hint)
        return
    yield _model(service, config.model or "", trial.models)


def _model(service: Service, wanted: str, offered: tuple[str, ...]) -> Check:
    catalog = Catalog.load()
    if not wanted:
        name = next((name for name in catalog.names() if name in offered), offered[0] if offered else "")
        if not name:
            return Check("model", "fail", "none is named, none is offered", "Name one: mewcode --model NAME")
        detail = f"{name}, the first of those offered"
    elif offered and wanted not in offered:
        return Check(
            "model",
            "warn",
            f"{safe_line(wanted, 80)} is not among the {len(offered)} that {service.name} lists",
            "See `/model`, or mewcode config",
        )
    else:
        name, detail = wanted, wanted
    info = catalog.find(name)
    known = (
        "" if any(name.rsplit("/", 1)[-1].startswith(model) for model in catalog.names()) else " (assumed)"
    )
    return Check("model", "ok", f"{safe_line(detail, 100)}: window {info.context_window:,} tokens{known}")


def check_keys(subject: Subject) -> Iterator[Check]:
    """Where each key comes from; never the key."""
    config = subject.loaded.config if subject.loaded else None
    named: dict[str, Named] = {"anthropic": Named("anthropic"), "openai": Named("openai")}
    for name in presets():
        if preset := preset_named(name):
            named[name] = preset
    if config is not None:
        named.update(named_providers(config))
    store = open_key_store(subject.places.user, subject.environ)
    found = []
    for name, settings in named.items():
        if name not in BUILT_IN and settings.protocol not in ("anthropic", "openai"):
            continue
        variable = next((item for item in key_variables(settings) if subject.environ.get(item)), "")
        kept = store.any_place(name)
        if variable:
            found.append(f"{name}: {variable}" + (" (before the one that is kept)" if kept else ""))
        elif kept:
            found.append(f"{name}: {'the keyring' if kept == 'keyring' else store.path.name}")
    if found:
        yield Check("keys", "ok", "; ".join(dict.fromkeys(found)))
    else:
        yield Check("keys", "warn", "none is set and none is kept", _KEYS)
    mode = store.path.stat().st_mode & 0o777 if store.path.exists() else 0
    if mode & 0o077:
        yield Check("key file", "fail", f"{store.path} is readable by others", f"chmod 600 {store.path}")


def check_network(subject: Subject) -> Iterator[Check]:
    """Proxy and certificates, as the environment has them."""
    environ = subject.environ
    names = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
    proxies = [name for name in names if environ.get(name)]
    around = " except NO_PROXY" if environ.get("NO_PROXY") or environ.get("no_proxy") else ""
    yield Check("proxy", "ok", f"{', '.join(proxies)}{around}" if proxies else "none")
    for name, is_there in (("SSL_CERT_FILE", os.path.isfile), ("SSL_CERT_DIR", os.path.isdir)):
        path = environ.get(name)
        if path and not (is_there(path) and os.access(path, os.R_OK)):
            yield Check("certificates", "fail", f"{name}: {path} cannot be read", f"Correct or unset {name}.")
            return
    added = [name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if environ.get(name)]
    yield Check("certificates", "ok", "the system's" + (f", and {', '.join(added)}" if added else ""))
