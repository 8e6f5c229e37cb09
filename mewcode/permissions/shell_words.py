"""A shell command as values: words, redirections, simple commands, and what joins them."""

from __future__ import annotations

from typing import Literal

import msgspec

# Shell parameters that hold a number or flags of the shell, never a path of someone's choosing.
HARMLESS_PARAMETERS = frozenset("?#$!-")

# Words that are part of the grammar at the start of a command, when no quote touches them.
RESERVED = frozenset(
    {
        "if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "until", "case", "esac",
        "select", "function", "{", "}", "!", "[[", "]]", "time", "coproc",
    }
)  # fmt: skip


class Word(msgspec.Struct, frozen=True):
    """One word of a command.

    ``text`` is what the program gets where ``literal`` is True; else a best effort in which expansions
    stand as they were written. ``literal`` means: no expansion, substitution, wildcard or brace can change
    it or its number (a leading ``~`` can, and is told by ``tilde``). ``variables`` are the parameters
    expanded in it; ``wild_at`` is where in ``text`` the first unquoted wildcard or brace stands; ``inside``
    are the commands of its substitutions. ``start`` and ``end`` count characters of the whole command.
    """

    text: str
    literal: bool
    start: int = 0
    end: int = 0
    tilde: bool = False
    variables: tuple[str, ...] = ()
    wild_at: int | None = None
    inside: tuple[Node, ...] = ()

    @property
    def harmless(self) -> bool:
        """Literal, or with nothing but a number in it (``$?``)."""
        return self.literal or (
            bool(self.variables)
            and self.wild_at is None
            and not self.inside
            and HARMLESS_PARAMETERS.issuperset(self.variables)
        )


class Redirect(msgspec.Struct, frozen=True):
    """``kind``: a file is read or written, or (``none``) only descriptors and text are joined.

    ``target`` is None for ``none``; the commands in a here-string are in ``inside``, and ``expands`` tells
    that something is expanded in it.
    """

    kind: Literal["read", "write", "none"]
    target: Word | None = None
    inside: tuple[Node, ...] = ()
    expands: bool = False


class SimpleCommand(msgspec.Struct, frozen=True):
    """``words`` may be empty: then there are only assignments or redirections."""

    words: tuple[Word, ...]
    assignments: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()

    @property
    def name(self) -> str:
        """The literal name; empty where it is dynamic or missing."""
        return self.words[0].text if self.words and self.words[0].literal and not self.words[0].tilde else ""


class Sequence(msgspec.Struct, frozen=True):
    """One after the other (``;``, newline, ``&``)."""

    parts: tuple[Node, ...]


class AndOr(msgspec.Struct, frozen=True):
    left: Node
    operator: Literal["&&", "||"]
    right: Node


class Pipeline(msgspec.Struct, frozen=True):
    parts: tuple[Node, ...]


class Subshell(msgspec.Struct, frozen=True):
    body: Node
    redirects: tuple[Redirect, ...] = ()


class Branches(msgspec.Struct, frozen=True):
    """``if`` and groups: each part may run, in this order."""

    parts: tuple[Node, ...]
    redirects: tuple[Redirect, ...] = ()


class Loop(msgspec.Struct, frozen=True):
    """``words`` are what a ``for`` goes through with ``variable``."""

    parts: tuple[Node, ...]
    variable: str = ""
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()


Node = SimpleCommand | Sequence | AndOr | Pipeline | Subshell | Branches | Loop


class CommandLine(msgspec.Struct, frozen=True):
    """What two readers made of a command.

    ``program`` is the exact structure, or None where the command is not understood beyond doubt: then
    ``problem`` says why, and it is never allowed by a rule. ``commands`` are all simple commands that can be
    seen anywhere in it, whether understood or not: deny rules look at them. They may be none where there is a
    problem; then the text itself is all there is.
    """

    text: str
    program: Node | None
    commands: tuple[SimpleCommand, ...]
    problem: str = ""
