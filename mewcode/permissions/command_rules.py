"""Command patterns of rules: ``git status *``.

A pattern is made of words, quoted as in the shell. A ``*`` alone stands for any number of words, also none
(``git *`` covers plain ``git``); a ``*`` within a word for any characters of that word; a quoted ``*`` for
itself. It describes one simple command: nothing in it matches ``;``, ``|``, ``&&``, a newline or a
redirection.

An allow rule is matched narrowly: word by word, the name exactly as given. A deny or ask rule is matched
broadly: whatever follows the pattern, the name also with its folder (``/bin/rm``) and in other letter case,
options before a sub-command passed over (``git -C x push``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from mewcode.permissions.globs import Glob, word_glob

if TYPE_CHECKING:
    from mewcode.permissions.shell_words import Word

_LIMIT = 2000  # characters of a pattern
_ENDS_COMMAND = {
    ";": "';'",
    "|": "'|'",
    "&": "'&'",
    "\n": "a newline",
    "<": "'<'",
    ">": "'>'",
    "(": "'('",
    ")": "')'",
}
_TEXT_WINDOW = 60  # words behind a name in which the rest of a pattern is looked for, in a bare text
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./^!#~-]+")

Hit = Literal["yes", "maybe", "no"]
# Decides on a word that a wildcard swallowed; the second argument is the word's own pattern, None for a
# lone `*`.
Swallow = Callable[["Word", Glob | None], bool]
_ANYTHING: Glob | None = None


class CommandPattern(msgspec.Struct, frozen=True):
    """``words``: a `Glob` for one word, None for any number of words."""

    words: tuple[Glob | None, ...]

    def covers(self, words: Sequence[Word], swallow: Swallow) -> bool:
        """Narrow: whether an allow rule with this pattern covers a simple command without assignments.

        A word that is not literal is matched by a lone ``*`` only, and never as the command's name.
        ``swallow`` is asked about each word that a wildcard matched.
        """
        if not words or not words[0].literal or words[0].tilde or not words[0].text:
            return False
        # reached[n]: the patterns so far match the first n words. The usual table, one row a pattern.
        reached = [True] + [False] * len(words)
        for pattern in self.words:
            row = [False] * (len(words) + 1)
            if pattern is None:
                row[0] = reached[0]
                for at, word in enumerate(words, 1):
                    row[at] = reached[at] or (row[at - 1] and (at == 1 or swallow(word, None)))
            else:
                for at, word in enumerate(words, 1):
                    row[at] = reached[at - 1] and _covers_word(pattern, word, swallow)
            reached = row
        return reached[-1]

    def hits(self, words: Sequence[Word]) -> Hit:
        """Broad: whether a deny or ask rule with this pattern hits a command. ``maybe``: an expansion
        decides."""
        if not words:
            return "no"
        first = self.words[0]
        if first is not None:
            if not words[0].literal:
                return "maybe"
            if not _names(first, words[0].text):
                return "no"
        return self._follow(words)

    def _follow(self, words: Sequence[Word]) -> Hit:
        """Whether the patterns behind the name match in order, passing over options and their values.

        A state is the next pattern, whether the last word was an option, and whether an expansion was taken
        to be what the pattern wants.
        """
        named = self.words[0] is not None
        states = {(1 if named else 0, False, False)}
        rest = words[1:] if named else words
        expanded = False
        for word in rest:
            states = self._closed(states)
            if any(at == len(self.words) and not guessed for at, _, guessed in states):
                return "yes"
            expanded = expanded or not word.literal
            states = {
                state for at, after, guessed in states for state in self._step(at, after, guessed, word)
            }
        states = self._closed(states)
        if any(at == len(self.words) and not guessed for at, _, guessed in states):
            return "yes"
        # An expansion may hold several words, so all that is missing may be in it.
        return "maybe" if expanded and states else "no"

    def _step(self, at: int, after_option: bool, guessed: bool, word: Word) -> set[tuple[int, bool, bool]]:
        if at == len(self.words):
            return {(at, False, guessed)}
        pattern = self.words[at]
        if pattern is None:
            return {(at, False, guessed)}
        if not word.literal:
            return {(at, False, guessed), (at + 1, False, True)}
        found: set[tuple[int, bool, bool]] = set()
        if pattern.matches(word.text):
            found.add((at + 1, False, guessed))
        if word.text.startswith("-") or after_option or pattern.prefix.startswith("-"):
            found.add((at, word.text.startswith("-"), guessed))
        return found

    def _closed(self, states: set[tuple[int, bool, bool]]) -> set[tuple[int, bool, bool]]:
        """With the states reached by letting a lone ``*`` stand for nothing."""
        found = set(states)
        for at, after_option, guessed in states:
            while at < len(self.words) and self.words[at] is None:
                at += 1
                found.add((at, after_option, guessed))
        return found

    def hits_text(self, text: str) -> bool:
        """The last resort for what cannot be parsed: whether the words appear anywhere in ``text``."""
        # Not needed to parse rules, which happens at every start.
        from mewcode.permissions.shell_words import Word

        words = [Word(word, True) for word in bare_words(text)]
        if not words:
            return self.words[0] is None
        return any(self.hits(words[at : at + _TEXT_WINDOW]) == "yes" for at in range(len(words)))


def bare_words(text: str) -> list[str]:
    """All that could be a word in a text of unknown structure, quotes and escapes removed."""
    plain = re.sub(r"\\\n|['\"\\]", "", text)
    return re.findall(r"[^\s;|&<>()`${},\[\]]+", plain)


def _covers_word(pattern: Glob, word: Word, swallow: Swallow) -> bool:
    if not word.literal or not pattern.matches(word.text):
        return False
    return pattern.literal is not None or swallow(word, pattern)


def _names(pattern: Glob, name: str) -> bool:
    return pattern.matches(name, str.casefold) or pattern.matches(name.rpartition("/")[2], str.casefold)


def parse_command_pattern(text: str) -> CommandPattern:
    """Raises ValueError with what is wrong."""
    if len(text) > _LIMIT:
        raise ValueError(f"longer than {_LIMIT} characters")
    words: list[Glob | None] = []
    for chars in _split(text):
        alone = chars == [("*", True)]
        if alone and words and words[-1] is _ANYTHING:
            continue
        words.append(_ANYTHING if alone else word_glob(chars))
    if not words:
        raise ValueError("empty brackets; leave them out to mean every command")
    first = words[0]
    if first is not None and first.prefix.endswith(":") and first.tokens[-1] is None:
        raise ValueError(f"':*' is not known here; write '{first.prefix[:-1]} *'")
    return CommandPattern(tuple(words))


def _split(text: str) -> list[list[tuple[str, bool]]]:
    """Words of (character, may be a wildcard)."""
    words: list[list[tuple[str, bool]]] = []
    word: list[tuple[str, bool]] | None = None
    at = 0
    while at < len(text):
        char = text[at]
        if char in " \t":
            if word is not None:
                words.append(word)
            word = None
            at += 1
            continue
        word = [] if word is None else word
        if char in _ENDS_COMMAND:
            raise ValueError(
                f"{_ENDS_COMMAND[char]} ends a simple command; give one rule for each command, or quote it"
            )
        if char in "$`":
            raise ValueError(f"{char!r} has no meaning in a rule; quote it to mean the character")
        if char in "'\"":
            close = text.find(char, at + 1)
            if close < 0:
                raise ValueError("a quote that is never closed")
            word += [(quoted, False) for quoted in text[at + 1 : close]]
            at = close + 1
        elif char == "\\":
            if at + 1 == len(text):
                raise ValueError("a backslash at the end")
            word.append((text[at + 1], False))
            at += 2
        else:
            word.append((char, True))
            at += 1
    return words if word is None else [*words, word]


def quote_word(text: str) -> str:
    """The word as a pattern that matches nothing else."""
    if _PLAIN.fullmatch(text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"
