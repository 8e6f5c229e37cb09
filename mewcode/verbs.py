"""The words behind a sub-command that has several: what each takes. Parsers and help read it too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mewcode.core.errors import UsageError


class Verb(NamedTuple):
    """``least`` and ``most`` (None: any number) words behind; ``flags``: taken beyond ``--json``."""

    usage: str
    help: str
    least: int = 0
    most: int | None = 0
    flags: tuple[str, ...] = ()


def check_verb(
    command: str, verbs: Mapping[str, Verb], verb: str, words: tuple[str, ...], flags: set[str]
) -> None:
    """Raises UsageError where a verb is given what it does not take. ``flags``: the names of those given."""
    known = verbs[verb]
    if len(words) < known.least:
        raise UsageError(
            f"`mewcode {command} {verb}` needs more", f"Such as: mewcode {command} {known.usage}"
        )
    if known.most is not None and len(words) > known.most:
        extra = " ".join(words[known.most :])
        raise UsageError(f"`mewcode {command} {verb}` does not take: {extra}")
    for flag in sorted(flags - set(known.flags)):
        raise UsageError(f"`mewcode {command} {verb}` takes no --{flag.replace('_', '-')}")


def describe_verbs(verbs: Mapping[str, Verb]) -> str:
    """The verbs for the help, a line each."""
    return "\n".join(f"  {verb.usage:<20}{verb.help}".rstrip() for verb in verbs.values())
