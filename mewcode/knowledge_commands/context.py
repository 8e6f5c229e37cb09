"""What all words share: the config, the documents, and how an answer is printed."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from mewcode.config.trust import TrustStore
from mewcode.infra.paths import Places
from mewcode.infra.terminal_text import safe_text
from mewcode.knowledge_source import open_knowledge
from mewcode.memory.answers.text import answer_text, beside_text
from mewcode.memory.answers.view import Answer
from mewcode.memory.knowledge.base import KnowledgeBase
from mewcode.options import Options
from mewcode.recall_source import open_recall
from mewcode.setup import load_settings


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
        as_json = self.options.as_json
        sys.stdout.write(answer_text(answer, as_json=as_json))
        ignored = (notice for notice in self.loaded.notices if ": knowledge" in notice)
        sys.stderr.write("".join(f"mewcode: {safe_text(notice)}\n" for notice in ignored))
        sys.stderr.write(beside_text(answer, as_json=as_json))
        return 0 if answer.is_done else 1
