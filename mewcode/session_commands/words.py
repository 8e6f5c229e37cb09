"""The words behind `mewcode sessions`: what each takes. The parser reads it too."""

from __future__ import annotations

from mewcode.verbs import Verb, check_verb, describe_verbs

_SCOPES = ("repository", "everywhere")

VERBS: dict[str, Verb] = {
    "list": Verb("list", "all sessions of this project, the newest first", flags=_SCOPES),
    "show": Verb("show ID", "what was said in one", 1, 1),
    "search": Verb(
        "search QUERY", 'every message; "a phrase", begin*, re:PATTERN', 1, None, ("limit", *_SCOPES)
    ),
    "rename": Verb("rename ID TITLE", "names it; an empty title takes the name back", 2, None),
    "pin": Verb("pin ID...", "keeps it whatever its age", 1, None),
    "unpin": Verb("unpin ID...", "takes that back", 1, None),
    "tag": Verb("tag ID TAG...", "marks it with tags", 2, None),
    "untag": Verb("untag ID TAG...", "takes tags from it", 2, None),
    "delete": Verb("delete ID...", "moves it to the trash", 1, None),
    "restore": Verb("restore [ID...]", "back from the trash; without ID lists what is there", 0, None),
    "export": Verb(
        "export ID", "as Markdown, JSON or one HTML page", 1, 1, ("format", "output", "with_secrets")
    ),
    "import": Verb(
        "import PATH...", "from Claude Code, Codex CLI, Kimi CLI, or our JSON", 0, None, ("again",)
    ),
    "usage": Verb("usage", "what takes the space, and what was used"),
    "prune": Verb("prune", "to the trash with what your config does not keep", flags=("dry_run",)),
    "check": Verb("check [ID...]", "looks for damage, and mends it with --repair", 0, None, ("repair",)),
    "rebuild": Verb("rebuild", "makes the index anew from the files"),
}


def check_words(verb: str, words: tuple[str, ...], flags: set[str]) -> None:
    """Raises UsageError where a verb is given what it does not take. ``flags``: the names of those given."""
    check_verb("sessions", VERBS, verb, words, flags)


def describe_words() -> str:
    """The verbs for the help, a line each."""
    return describe_verbs(VERBS)
