"""`mewcode prompt show`: the whole system prompt, and where each part of it comes from."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

import msgspec

from mewcode.config.trust import TrustStore, is_own_folder
from mewcode.core.codec import clean_value
from mewcode.core.tokens import text_tokens
from mewcode.infra.paths import Places
from mewcode.infra.terminal_text import safe_text
from mewcode.options import Options
from mewcode.prompting import SystemPrompt
from mewcode.sessions.settings import read_settings
from mewcode.setup import load_settings


def run_prompt(options: Options, environ: Mapping[str, str], places: Places) -> int:
    """Prints the prompt as a new session would get it now. Needs no model and no key."""
    trust = TrustStore(places.user)
    trusted = trust.is_trusted(places.root)
    config = load_settings(options, environ, places, trusted=trusted).config
    free = trusted or is_own_folder(places)
    prompt = SystemPrompt(
        places,
        environ,
        config,
        read_settings(config.sessions, config.origin),
        lambda session_id, seal: free or trust.is_sealed(places.root, session_id, seal),
        no_memory=options.no_memory,
    )
    # A session that begins now comes after all others.
    modules = prompt.modules(config.model or "", time.strftime("%Y%m%d-%H%M%S-zzzz"))
    parts = [
        {
            "name": module.name,
            "priority": module.priority,
            "stability": module.stability,
            "tokens": text_tokens(text),
            "source": module.source,
            "text": text,
        }
        for module in sorted(modules, key=lambda module: (module.priority, module.name))
        if (text := module.render())
    ]
    if options.as_json:
        whole = {"tokens": sum(text_tokens(str(part["text"])) for part in parts), "modules": parts}
        data = msgspec.json.format(msgspec.json.encode(clean_value(whole)), indent=2)
        sys.stdout.write(data.decode() + "\n")
        return 0
    for part in parts:
        facts = (part["name"], f"priority {part['priority']}", f"{part['tokens']:,} tokens", part["source"])
        sys.stdout.write(safe_text(f"== {' · '.join(map(str, facts))}\n{part['text']}\n\n"))
    return 0
