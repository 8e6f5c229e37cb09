"""Reads a shell command for the policy, twice.

tree-sitter's grammar for bash knows nearly all of the language, yet reads some of it wrongly: substitutions
in backticks within a here-document are text to it, and a word behind a redirection vanishes into it. The
strict reader (`permissions.shell_reader`) knows little and is exact. A command counts as understood only
where both find the same words in the same places; anything else has a ``problem``, and no rule allows it.
What deny rules look at is what either of them sees.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from mewcode.permissions.shell_lexis import Unclear
from mewcode.permissions.shell_reader import read_strictly
from mewcode.permissions.shell_tree import TreeWalk, walk_tree
from mewcode.permissions.shell_words import (
    AndOr,
    CommandLine,
    Loop,
    Node,
    Pipeline,
    Sequence,
    SimpleCommand,
    Subshell,
    Word,
)

if TYPE_CHECKING:
    from tree_sitter import Parser

# Bytes of UTF-8. Longer commands are asked about unread.
MAX_COMMAND = 64 * 1024
# Characters of an unclear command that the tolerant parser still looks at for deny rules: it takes seconds
# for some nonsense of 64 KB. Beyond, they search the bare text.
_MAX_UNCLEAR = 8 * 1024

# Letters and marks that show as nothing: Hangul fillers, combining grapheme joiner, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# These tree-sitter reads as something other than a plain command, so that only their start is compared.
_SPECIAL_NAMES = frozenset({"[", "export", "declare", "typeset", "readonly", "local", "unset", "unsetenv"})


@lru_cache(maxsize=64)
def read_command(text: str) -> CommandLine:
    """Reads ``text`` as bash would; never raises."""
    if len(text) > MAX_COMMAND or len(text.encode("utf-8", "surrogatepass")) > MAX_COMMAND:
        return CommandLine(text, None, (), "it is longer than 64 KB")
    hidden = _hidden_character(text)
    try:
        program = read_strictly(text)
    except Unclear as unclear:
        if len(text) > _MAX_UNCLEAR:
            return CommandLine(text, None, (), hidden or str(unclear))
        walk = walk_tree(_parser(), text)
        return CommandLine(text, None, walk.commands, hidden or walk.problem or str(unclear))
    walk = walk_tree(_parser(), text)
    mine = tuple(simple_commands(program))
    problem = (
        hidden or walk.problem or _difference(mine, walk) or ("" if mine else "there is no command in it")
    )
    return CommandLine(
        text, None if problem else program, mine if not problem else (*mine, *walk.commands), problem
    )


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # Imported when the first command is judged: the start of the program needs neither.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _hidden_character(text: str) -> str:
    for char in text:
        if char in "\n\t" or " " <= char <= "~":
            continue
        if unicodedata.category(char) in _HIDDEN_CATEGORIES or _INVISIBLE.match(char):
            return f"it holds a character that does not show (U+{ord(char):04X})"
    return ""


def _difference(commands: tuple[SimpleCommand, ...], walk: TreeWalk) -> str:
    plain, special = set(), set()
    for command in commands:
        if command.words and command.words[0].text in _SPECIAL_NAMES:
            special.add(command.words[0].start)
        elif command.words:
            plain.add(tuple((word.start, word.end) for word in command.words))
    seen = {
        tuple((word.start, word.end) for word in command.words) for command in walk.commands if command.words
    }
    # What one reader takes for a builtin of its own, the other may take for a plain command (`"["`).
    agreed = plain <= seen and all(words in plain or words[0][0] in special for words in seen)
    return (
        ""
        if agreed and special <= walk.special | {words[0][0] for words in seen}
        else "it can be read in two ways"
    )


def simple_commands(node: Node) -> Iterator[SimpleCommand]:
    """All simple commands at and below ``node``, those of substitutions included. What a compound command is
    redirected to comes as a command without words."""
    if isinstance(node, SimpleCommand):
        yield node
        yield from _within((*node.assignments, *node.words))
    elif isinstance(node, AndOr):
        yield from simple_commands(node.left)
        yield from simple_commands(node.right)
        return
    elif isinstance(node, Pipeline | Sequence):
        for part in node.parts:
            yield from simple_commands(part)
        return
    else:
        if isinstance(node, Loop):
            yield from _within(node.words)
        for part in (node.body,) if isinstance(node, Subshell) else node.parts:
            yield from simple_commands(part)
        if node.redirects:
            yield SimpleCommand((), (), node.redirects)
    for redirect in node.redirects:
        for inside in (*redirect.inside, *(redirect.target.inside if redirect.target else ())):
            yield from simple_commands(inside)


def _within(words: tuple[Word, ...]) -> Iterator[SimpleCommand]:
    for word in words:
        for inside in word.inside:
            yield from simple_commands(inside)
