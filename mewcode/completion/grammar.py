"""What can be typed, read from the argument parsers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Literal

import msgspec

Kind = Literal[
    "none", "text", "words", "file", "folder", "sessions", "trashed", "notes", "providers", "models"
]

# Arguments with a meaning that argparse does not know.
_KINDS: dict[str, Kind] = {
    "cwd": "folder", "add_dirs": "folder", "config_file": "file", "resume": "sessions",
    "provider": "providers", "model": "models", "dataset": "file",
}  # fmt: skip

# What stands behind the words of a command: one value, or any number.
_ONE, _MANY = False, True
_BEHIND: dict[str, dict[str, tuple[Kind, bool]]] = {
    "sessions": {
        "show": ("sessions", _ONE), "rename": ("sessions", _ONE), "tag": ("sessions", _ONE),
        "untag": ("sessions", _ONE), "export": ("sessions", _ONE), "pin": ("sessions", _MANY),
        "unpin": ("sessions", _MANY), "delete": ("sessions", _MANY), "check": ("sessions", _MANY),
        "restore": ("trashed", _MANY), "import": ("file", _MANY),
    },
    "memory": {
        "show": ("notes", _ONE), "edit": ("notes", _ONE), "path": ("notes", _ONE),
        "forget": ("notes", _MANY), "pin": ("notes", _MANY), "unpin": ("notes", _MANY),
        "move": ("notes", _ONE), "why": ("sessions", _ONE),
    },
    "knowledge": {"add": ("file", _MANY), "remove": ("file", _MANY)},
}  # fmt: skip


class Behind(msgspec.Struct, frozen=True):
    """What follows one of a command's words: values of a kind; ``is_many``: any number of them."""

    word: str
    kind: Kind
    is_many: bool


class Option(msgspec.Struct, frozen=True):
    """``flags``: as typed, such as ``-c`` and ``--continue``. ``kind``: what follows; ``words``: the choices.
    ``optional``: the value may be left out."""

    flags: tuple[str, ...]
    help: str
    kind: Kind
    words: tuple[str, ...] = ()
    optional: bool = False
    repeatable: bool = False


class Grammar(msgspec.Struct, frozen=True):
    """One command: its options, the words that may come first, and what follows these."""

    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...] = ()
    behind: tuple[Behind, ...] = ()


def read_grammars(parsers: Mapping[str, argparse.ArgumentParser]) -> dict[str, Grammar]:
    """The grammar of each parser under its name; ``demo`` takes what the program itself takes."""
    grammars = {name: _grammar(name, parser) for name, parser in parsers.items()}
    main = grammars[""]
    return {**grammars, "demo": Grammar("demo", "A scripted session with no model behind it.", main.options)}


def _grammar(name: str, parser: argparse.ArgumentParser) -> Grammar:
    options = tuple(_option(action) for action in parser._actions if action.option_strings)
    words = [
        word
        for action in parser._actions
        if not action.option_strings and action.choices
        for word in map(str, action.choices)
    ]
    known = _BEHIND.get(name, {})
    behind = tuple(Behind(word, *known[word]) for word in words if word in known)
    return Grammar(name, parser.description or "", options, tuple(words), behind)


def _option(action: argparse.Action) -> Option:
    words = tuple(map(str, action.choices)) if action.choices else ()
    kind: Kind = "none" if action.nargs == 0 else "words" if words else _KINDS.get(action.dest, "text")
    return Option(
        tuple(action.option_strings),
        action.help or f"{action.dest.replace('_', ' ')}",
        kind,
        words,
        action.nargs == "?",
        isinstance(action, argparse._AppendAction),
    )
