"""Which service: one that answers on this machine, a known one, or any address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mewcode.onboarding.console import Console, choose
from mewcode.providers.presets import Preset, presets
from mewcode.providers.registry import BUILT_IN, Named, preset_named


@dataclass(frozen=True, slots=True)
class Draft:
    """A service to set up. ``settings`` go to its entry under `providers` in the config. ``own_address``: the
    user typed it, so whether it wants a key is not known."""

    name: str
    title: str
    named: Named
    settings: Mapping[str, str] = field(default_factory=dict)
    own_address: bool = False
    public_list: bool = False


def choose_draft(
    console: Console, configured: Mapping[str, Named], environ: Mapping[str, str], local: str | None
) -> Draft | None:
    """The service that the user wants; None for the demo. ``local`` is the base URL of a server that answers
    on this machine. Raises `Left`."""
    known = presets()
    hosted = [name for name, preset in known.items() if preset.needs_key]
    own = [name for name, preset in known.items() if not preset.needs_key]
    options = [
        "Anthropic (Claude)",
        "Another service: " + _listed(known, hosted[:4]) + f" and {len(hosted) - 4} more",
        "A server on this machine: " + _listed(known, own),
        "Any OpenAI-compatible address",
        "The demo: a script, no model, no key",
    ]
    if local:
        options.insert(0, f"{_title_of(known, local)} on this machine: it answers at {local}")
    while True:
        console.say()
        answer = choose(console, "Which model do you want to use?", options)
        answer -= 1 if local else 0
        if answer == -1:
            assert local is not None
            return _local(known, local)
        if answer == 0:
            return _anthropic(configured)
        if answer in (1, 2):
            draft = _preset(console, known, hosted if answer == 1 else own, configured)
        elif answer == 3:
            draft = _own_address(console)
        else:
            return None
        if draft is not None:
            return draft


def _listed(known: Mapping[str, Preset], names: list[str]) -> str:
    return ", ".join(known[name].title.partition(" (")[0] for name in names)


def _title_of(known: Mapping[str, Preset], url: str) -> str:
    return next((preset.title for preset in known.values() if preset.base_url == url), "A server")


def _anthropic(configured: Mapping[str, Named]) -> Draft:
    return Draft("anthropic", "Anthropic", configured.get("anthropic") or Named("anthropic"))


def _local(known: Mapping[str, Preset], url: str) -> Draft:
    for name, preset in known.items():
        if preset.base_url == url:
            return _draft(name, preset, {})
    return _address_draft(url)


def _preset(
    console: Console, known: Mapping[str, Preset], names: list[str], configured: Mapping[str, Named]
) -> Draft | None:
    console.say()
    answer = choose(console, "Which one?", [known[name].title for name in names] + ["Back"])
    if answer == len(names):
        return None
    name = names[answer]
    preset = known[name]
    if name in configured:
        draft = _draft(name, preset, {})
        return Draft(name, preset.title, configured[name], {}, False, draft.public_list)
    if preset.elsewhere:
        places = list(preset.elsewhere)
        console.say()
        where = choose(console, "Your account with it is", ["international", *(f"in {p}" for p in places)])
        if where:
            return _draft(name, preset, {"base_url": preset.elsewhere[places[where - 1]]})
    return _draft(name, preset, {})


def _draft(name: str, preset: Preset, settings: Mapping[str, str]) -> Draft:
    named = preset_named(name)
    if named is None:  # a protocol's own name: its address may come from the environment
        named = Named(BUILT_IN[name])
    elif url := settings.get("base_url"):
        named = Named(named.protocol, url, named.api_key_env, {}, named.needs_key)
    return Draft(name, preset.title, named, settings, public_list=preset.public_list)


def _own_address(console: Console) -> Draft | None:
    console.say("\nThe base URL, such as https://models.example.com/v1 (Enter: back)")
    while url := console.ask("Address: "):
        if problem := address_problem(url):
            console.say(problem)
            continue
        return _address_draft(url.rstrip("/"))
    return None


def _address_draft(url: str) -> Draft:
    name = name_of(url)
    named = Named("openai", url, "", {}, False)
    variable = name.upper().replace("-", "_") + "_API_KEY"
    settings = {"protocol": "openai", "base_url": url, "api_key_env": variable}
    return Draft(name, name, named, settings, own_address=True)


def address_problem(url: str) -> str:
    """Why this is no base URL, in a sentence; empty where it is one."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or not url.isprintable():
        return "An address begins with https:// (or http://) and names a host."
    if parts.username or parts.password:
        return "An address holds no user and no password: the key is asked for next."
    if parts.query or parts.fragment or " " in url:
        return "An address ends before ? and #."
    if parts.path.rstrip("/").endswith(("/chat/completions", "/models")):
        return "Leave out what stands behind /v1: that is added to each request."
    return ""


def name_of(url: str) -> str:
    """What the config calls the service at an address: its host, in letters, digits and hyphens. It is none
    that has a meaning of its own."""
    parts = urlsplit(url)
    host = parts.hostname or "service"
    port = f"-{parts.port}" if parts.port else ""
    name = re.sub(r"[^a-z0-9]+", "-", host.lower()).strip("-") + port
    return f"my-{name}" if name in BUILT_IN or name in presets() or not name[:1].isalpha() else name
