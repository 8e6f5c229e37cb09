"""The words behind `mewcode memory`: what each takes. The parser reads it too."""

from __future__ import annotations

from mewcode.verbs import Verb, check_verb, describe_verbs

_WHICH = ("type", "level")
MODEL = ("model", "provider", "base_url")
"""The flags that say which model; they are no `MemoryFlags`."""
_FACTS = ("type", "name", "description", "level", "aliases", "tags")

VERBS: dict[str, Verb] = {
    "list": Verb("list", "the notes in force; --all also those that are not", flags=(*_WHICH, "all")),
    "show": Verb("show NAME", "one note, whole", 1, None, _WHICH),
    "add": Verb("add BODY", "with --type and --name; BODY - reads standard input", 1, None, _FACTS),
    "edit": Verb("edit NAME [BODY]", "changes what is given; else opens $EDITOR", 1, None, _FACTS),
    "forget": Verb("forget NAME...", "deletes notes; `restore` brings them back", 1, None, _WHICH),
    "restore": Verb(
        "restore [NAME...]", "what was forgotten or closed; without NAME lists it", 0, None, _WHICH
    ),
    "undo": Verb("undo [ID]", "takes back the last change, or that one", 0, 1, ("force",)),
    "history": Verb("history", "what was changed, by whom", flags=("limit",)),
    "inbox": Verb(
        "inbox [approve N]", "what waits for your yes; N: numbers or names; or refuse N", 0, None, _WHICH
    ),
    "pin": Verb("pin NAME...", "they stand whole in each prompt", 1, None, _WHICH),
    "unpin": Verb("unpin NAME...", "takes that back", 1, None, _WHICH),
    "move": Verb("move NAME LEVEL", "to the level user or project", 2, None, _WHICH),
    "why": Verb("why [SESSION]", "which notes its last answer had, and where from", 0, None),
    "tidy": Verb("tidy", "merges, closes and shortens notes; needs a model", flags=MODEL),
    "off": Verb("off", "how to switch notes off"),
    "rebuild": Verb("rebuild", "makes the index anew from the files"),
    "path": Verb("path [NAME]", "where the notes are, or one of them", 0, None, _WHICH),
}


def check_words(verb: str, words: tuple[str, ...], flags: set[str]) -> None:
    """Raises UsageError where a verb is given what it does not take. ``flags``: the names of those given."""
    check_verb("memory", VERBS, verb, words, flags)


def describe_words() -> str:
    """The verbs for the help, a line each."""
    return describe_verbs(VERBS)
