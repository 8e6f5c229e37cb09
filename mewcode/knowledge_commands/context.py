"""What all words share: the config, the documents, and how an answer is printed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from mewcode.config.trust import TrustStore
from mewcode.infra.paths import Places
from mewcode.infra.terminal_text import safe_text
from mewcode.knowledge_source import open_knowledge
from mewcode.memory.knowledge.base import KnowledgeBase
from mewcode.options import Options
from mewcode.recall_source import open_recall
from mewcode.setup import load_settings


class Answer(msgspec.Struct, frozen=True):
    """``value``: for scripts; ``lines``: the same for a person. ``beside``: what is said besides to both,
    ``hint`` to a person only. ``is_done``: False where a part of what was asked could not be done."""

    value: Any
    lines: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    hint: str = ""
    is_done: bool = True


class Context:
    """Reads the config. Raises ConfigError."""

    def __init__(self, options: Options, environ: Mapping[str, str], places: Places) -> None:
        self.options = options
        self.environ = environ
        self.places = places
        self.trust = TrustStore(places.user)
        trusted = self.trust.is_trusted(places.root)
        self.loaded = load_settings(options, environ, places, trusted=trusted)

    @property
    def words(self) -> tuple[str, ...]:
        """What stands behind the verb."""
        return self.options.words[1:]

    def base(self) -> KnowledgeBase:
        """The documents that the config names."""
        engine = open_recall(self.places, self.environ)
        return open_knowledge(engine, self.loaded.config, self.places, self.environ)

    def print(self, answer: Answer) -> int:
        """Prints the value for scripts, or the lines for a person; the exit code."""
        if self.options.as_json:
            data = msgspec.json.format(msgspec.json.encode(answer.value, enc_hook=str), indent=2)
            sys.stdout.write(data.decode() + "\n")
        else:
            sys.stdout.write("".join(f"{safe_text(line)}\n" for line in answer.lines))
        hint = () if self.options.as_json or not answer.hint else (answer.hint,)
        ignored = (notice for notice in self.loaded.notices if ": knowledge" in notice)
        for words in (*ignored, *answer.beside, *hint):
            sys.stderr.write(f"mewcode: {safe_text(words)}\n")
        return 0 if answer.is_done else 1
