"""Which of a service's models."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mewcode.infra.terminal_text import safe_line
from mewcode.onboarding.console import Console, Left
from mewcode.providers.catalog import Catalog

# So many fit on a low screen with the question.
_SHOWN = 12
# Models for something else than conversation, by the words in their names.
_OTHER_USES = re.compile(
    r"embed|whisper|tts|audio|realtime|dall-e|image|moderation|rerank|transcribe|speech|sora|veo|ocr|guard",
    re.IGNORECASE,
)


def ordered(models: Sequence[str]) -> list[str]:
    """The names in the order in which they are offered: those of our list first, by preference; then the
    others as the service has them; last those that are for something else than conversation."""
    preferred = [name for name in Catalog.load().names() if name in models]
    rest = [name for name in dict.fromkeys(models) if name not in preferred]
    return preferred + sorted(rest, key=lambda name: bool(_OTHER_USES.search(name)))


def choose_model(console: Console, models: Sequence[str], title: str) -> str:
    """The model that the user wants, by number or by name; empty for none. Raises `Left`."""
    offered = ordered(models)
    if not offered:
        return console.ask("The service lists no models. Model (Enter for none): ")
    if len(offered) == 1:
        return offered[0]
    console.say()
    for number, name in enumerate(offered[:_SHOWN], 1):
        console.say(f"  {number:>2}  {safe_line(name, 70)}")
    if len(offered) > _SHOWN:
        console.say(f"      and {len(offered) - _SHOWN} more: type a name, or a part of one")
    while True:
        answer = console.ask("Model, by number or name [1]: ")
        if not answer:
            return offered[0]
        if answer.lower() in ("q", "quit"):
            raise Left
        if answer in offered:
            return answer
        if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= min(len(offered), _SHOWN):
            return offered[int(answer) - 1]
        found = [name for name in offered if answer.lower() in name.lower()]
        if len(found) == 1:
            return found[0]
        if found:
            console.say("Which: " + safe_line(", ".join(found), 300))
        elif console.ask(f"The service does not list {safe_line(answer, 60)!r}. Use it? [y/N] ").lower() in (
            "y",
            "yes",
        ):
            return answer
