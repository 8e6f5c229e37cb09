"""The words behind `mewcode eval`: what each takes. The parser reads it too."""

from __future__ import annotations

from mewcode.core.errors import UsageError
from mewcode.verbs import Verb, check_verb, describe_verbs

MODEL = ("model", "provider", "base_url")
"""The flags that say which model; they are no `EvalFlags`."""

VERBS: dict[str, Verb] = {
    "recall": Verb(
        "recall",
        "how well recall finds what each question of --dataset wants",
        flags=("dataset", "split", "without_aliases"),
    ),
    "memory": Verb(
        "memory",
        "what notes and recall are worth: tasks with and without them; asks a model",
        flags=("dataset", "only", "limit", "yes", *MODEL),
    ),
}


def check_words(verb: str, flags: set[str]) -> None:
    """Raises UsageError where a verb is given what it does not take, or not what it needs. ``flags``: the
    names of those given."""
    check_verb("eval", VERBS, verb, (), flags)
    if verb == "recall" and "dataset" not in flags:
        raise UsageError(
            f"`mewcode eval {verb}` needs a data set", f"Such as: mewcode eval {verb} --dataset FILE"
        )


def describe_words() -> str:
    """The verbs for the help, a line each."""
    return describe_verbs(VERBS)
