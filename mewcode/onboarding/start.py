"""Runs the set-up: at a first start, and as `mewcode config`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import msgspec

from mewcode.config.key_store import open_key_store
from mewcode.config.layers import CONFIG_FILE
from mewcode.config.load import LoadedConfig
from mewcode.config.trust import TrustStore
from mewcode.core.errors import NotConfigured, UsageError
from mewcode.infra.paths import Places
from mewcode.infra.terminal_text import safe_line, safe_text
from mewcode.onboarding.console import Console, Left, TerminalConsole
from mewcode.onboarding.screen import Chosen, SetupScreen
from mewcode.options import Options
from mewcode.providers.registry import find_local_server
from mewcode.setup import load_settings


def first_start(
    options: Options, environ: Mapping[str, str], places: Places, error: NotConfigured
) -> Options | None:
    """Asks for a model where none is configured. The options of the start that the user wants then, with
    ``demo`` set where they chose it; None where they left."""
    console = TerminalConsole()
    console.say(f"{error.message}\n")
    console.say("Set up a model here, now or later with `mewcode config`. Or do without:")
    for line in error.hint.splitlines():
        console.say(f"  {line}")
    try:
        chosen = _ask(console, options, environ, places)
    except Left:
        return None
    if chosen.demo:
        return msgspec.structs.replace(options, demo=True)
    console.say()
    # What was just chosen holds for this start, whatever else is set.
    return msgspec.structs.replace(
        options, provider=chosen.provider, model=options.model or chosen.model or None
    )


def configure(options: Options, environ: Mapping[str, str], places: Places, *, interactive: bool) -> int:
    """`mewcode config [show|path]`; returns the exit code."""
    if options.words == ("path",):
        sys.stdout.write(f"{places.user / CONFIG_FILE}\n")
        return 0
    if options.words == ("show",):
        return _show(_loaded(options, environ, places), as_json=options.as_json)
    if not interactive:
        raise UsageError("`mewcode config` asks, and needs a terminal", "Without one: mewcode config show")
    console = TerminalConsole()
    try:
        chosen = _ask(console, options, environ, places)
    except Left:
        console.say("Nothing was changed.")
        return 0
    if chosen.demo:
        console.say("The demo is: mewcode demo")
        return 0
    _tell_what_wins(console, chosen, _loaded(options, environ, places))
    console.say("Start with: mewcode")
    return 0


def _ask(console: Console, options: Options, environ: Mapping[str, str], places: Places) -> Chosen:
    loaded = _loaded(options, environ, places)
    keys = open_key_store(places.user, environ)
    return SetupScreen(console, places, environ, loaded.config, keys, find_local_server).run()


def _loaded(options: Options, environ: Mapping[str, str], places: Places) -> LoadedConfig:
    trusted = TrustStore(places.user).is_trusted(places.root)
    return load_settings(options, environ, places, trusted=trusted)


def _tell_what_wins(console: Console, chosen: Chosen, loaded: LoadedConfig) -> None:
    """A variable or a project's config may say otherwise: the user should not have to find out."""
    config = loaded.config
    for key, wanted, found in (
        ("provider", chosen.provider, config.provider),
        ("model", chosen.model, config.model or ""),
    ):
        if found != wanted:
            console.say(f"Here, {config.origin(key)} says {key}: {found}, which wins.")


def _show(loaded: LoadedConfig, *, as_json: bool) -> int:
    from mewcode.config.describe import describe

    rows = describe(loaded)
    for notice in loaded.notices:
        sys.stderr.write(safe_text(f"mewcode: {notice}\n"))
    if as_json:
        entries = [{"key": key, "value": value, "origin": origin} for key, value, origin in rows]
        text = msgspec.json.format(msgspec.json.encode(entries), indent=2).decode()
        sys.stdout.write(text + "\n")
        return 0
    texts = [(key, value if isinstance(value, str) else msgspec.json.encode(value).decode(), origin)
             for key, value, origin in rows]  # fmt: skip
    width = max((len(key) for key, _, _ in texts), default=0)
    for key, value, origin in texts:
        sys.stdout.write(f"{safe_line(key):<{width}}  {safe_line(value, 400)}  ({safe_line(origin)})\n")
    return 0
