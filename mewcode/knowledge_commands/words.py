"""The words behind `mewcode knowledge`: what each takes, and how they are read from a command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from mewcode.options import KnowledgeFlags, Options
from mewcode.verbs import Verb, check_verb, describe_verbs

VERBS: dict[str, Verb] = {
    "add": Verb("add PATH...", "files and folders to be searched, into config.local.yaml", 1, None),
    "list": Verb("list", "the paths, where each is set, and how many documents it has"),
    "remove": Verb("remove PATH...", "from config.local.yaml; the files stay", 1, None),
    "rebuild": Verb("rebuild", "reads all documents anew, and says which cannot be read"),
    "search": Verb("search QUERY", "passages with path and line", 1, None, ("limit", "offset")),
}


def add_arguments(parser: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    """``positive`` reads a number above 0."""
    add = parser.add_argument
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        f"words:\n{describe_verbs(VERBS)}\n\nPATH is a file or a folder; what git ignores is left out."
    )
    add("verb", choices=tuple(VERBS), metavar="WORD", help="what to do; see below")
    add("words", nargs="*", metavar="...", help="behind it: paths, a query")
    # Left out where not given: most words take none of these.
    add("--limit", type=positive, metavar="N", default=argparse.SUPPRESS, help="search: at most (5)")
    add("--offset", type=positive, metavar="N", default=argparse.SUPPRESS, help="search: leave out the first")


def options_of(fields: dict[str, Any]) -> Options:
    """What was typed. Raises UsageError where a verb is given what it does not take."""
    verb, words = fields.pop("verb"), tuple(fields.pop("words"))
    flags = {key: fields.pop(key) for key in KnowledgeFlags.__struct_fields__ if key in fields}
    check_verb("knowledge", VERBS, verb, words, set(flags))
    known = KnowledgeFlags(**flags)
    return Options(command="knowledge", words=(verb, *words), knowledge_flags=known, **fields)
