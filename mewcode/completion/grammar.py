"""What can be typed, read from the argument parsers."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Literal

import msgspec

Kind = Literal["none", "text", "words", "file", "folder", "sessions", "providers", "models"]

# Arguments with a meaning that argparse does not know.
_KINDS: dict[str, Kind] = {
    "cwd": "folder", "add_dirs": "folder", "config_file": "file", "resume": "sessions",
    "provider": "providers", "model": "models",
}  # fmt: skip


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
    """One command: its options, and the words that may come first."""

    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...] = ()


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
    return Grammar(name, parser.description or "", options, tuple(words))


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
