"""The strict reader: a recursive-descent parser for the part of bash that can be read without doubt.

It knows less than bash on purpose. Whatever it does not know raises `Unclear`, and the command asks. What
it accepts it reads exactly as bash does; `permissions.shell` lets a second, independent parser confirm
that.

Left out, hence always asked: functions, ``case``, ``select``, ``[[``, ``((``, ``time``, ``coproc``,
arithmetic on variables (their values are evaluated, and may hold commands), parameter expansions that
assign, run or index, arrays, extended patterns, ``$"..."``, backslash-newline within a word, here-documents
within substitutions.
"""

from __future__ import annotations

import re
from typing import Literal, cast

from mewcode.permissions.shell_lexis import Unclear, WordReader
from mewcode.permissions.shell_words import (
    RESERVED,
    AndOr,
    Branches,
    Loop,
    Node,
    Pipeline,
    Redirect,
    Sequence,
    SimpleCommand,
    Subshell,
    Word,
)

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RAW_WORD = re.compile(r"[^\s;&|<>()]*")
_REDIRECT = re.compile(r"(\d*)(&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<|>)")
_DESCRIPTOR = re.compile(r"\d+-?|-")
# A loop's variable is an assignment, and one to PATH, IFS or http_proxy changes what the commands do. Short
# lower-case names mean nothing to any program.
_MAX_WORDS = 2000  # of a whole line; more are no command that anyone reads through
_MAX_CHAIN = 100  # `&&` and `||` in a row; each nests the structure one deeper
_LOOP_VARIABLE = re.compile(r"[a-z][a-z0-9]{0,15}")


def read_strictly(text: str) -> Node:
    """The structure of a command; raises `Unclear` with the reason."""
    reader = Reader(text)
    program = reader.read_list(frozenset())
    if reader.at < reader.end:
        raise Unclear(f"an unexpected {text[reader.at]!r}")
    if reader.heredocs:
        raise Unclear("a here-document without its text")
    return program


class Reader(WordReader):
    """``at`` is always on the first character not yet read."""

    def read_list(self, stops: frozenset[str], closing: str = "") -> Sequence:
        """Commands up to a reserved word of ``stops``, the ``closing`` character, or the end of the text."""
        self.deeper()
        parts: list[Node] = []
        while True:
            self.skip_blank(newlines=True)
            if self.at >= self.end or (closing and self.text[self.at] == closing) or self.reserved() in stops:
                break
            parts.append(self._and_or())
            self.skip_blank()
            if self.at < self.end and self.text[self.at] in ";&":
                if self.text[self.at : self.at + 2] in (";;", ";&", "&&", "&>"):
                    raise Unclear("an unexpected operator")
                self.at += 1
            elif not (self.at < self.end and self.text[self.at] == "\n"):
                break
        self.depth -= 1
        return Sequence(tuple(parts))

    def reserved(self) -> str:
        """The reserved word that stands here, or an empty text."""
        found = _RAW_WORD.match(self.text, self.at, self.end)
        raw = found[0] if found else ""
        return raw if raw in RESERVED else ""

    def _expect(self, word: str) -> None:
        self.skip_blank(newlines=True)
        if self.reserved() != word:
            raise Unclear(f"no {word!r} where one is due")
        self.at += len(word)

    def _and_or(self) -> Node:
        node = self._pipeline()
        for _ in range(_MAX_CHAIN):
            self.skip_blank()
            operator = self.text[self.at : min(self.at + 2, self.end)]
            if operator not in ("&&", "||"):
                return node
            self.at += 2
            self.skip_blank(newlines=True)
            node = AndOr(node, cast("Literal['&&', '||']", operator), self._pipeline())
        raise Unclear("too many commands joined by '&&'")

    def _pipeline(self) -> Node:
        self.skip_blank()
        negated = self.reserved() == "!"
        if negated:
            self.at += 1
            if self.text[self.at : self.at + 1] not in (" ", "\t"):
                raise Unclear("'!' without a blank")
            self.skip_blank()
            if self.reserved() == "!":
                raise Unclear("'!' twice")
        parts = [self._command()]
        while True:
            self.skip_blank()
            here = self.text[self.at : min(self.at + 2, self.end)]
            if not here.startswith("|") or here == "||":
                break
            self.at += 2 if here == "|&" else 1
            self.skip_blank(newlines=True)
            parts.append(self._command())
        node = parts[0] if len(parts) == 1 else Pipeline(tuple(parts))
        # After `! cd x`, success means that the folder is the old one: as a branch, either is possible.
        return Branches((node,)) if negated else node

    def _command(self) -> Node:
        if self.at >= self.end:
            raise Unclear("a command is missing")
        if self.text[self.at] == "(":
            if self.text.startswith("((", self.at):
                raise Unclear("arithmetic, or two subshells at once")
            self.at += 1
            body = self.read_list(frozenset(), ")")
            self._close(")", body)
            return Subshell(body, self._redirects())
        word = self.reserved()
        if word == "{":
            self.at += 1
            body = self.read_list(frozenset({"}"}))
            self._expect("}")
            self._not_empty(body)
            return Branches((body,), self._redirects())
        if word == "if":
            return self._if()
        if word in ("while", "until"):
            self.at += len(word)
            condition = self._block("do")
            return Loop((condition, self._block("done")), redirects=self._redirects())
        if word == "for":
            return self._for()
        if word:
            raise Unclear(f"{word!r} is not followed here")
        return self._simple()

    def _close(self, char: str, body: Sequence) -> None:
        self._not_empty(body)
        if self.at >= self.end or self.text[self.at] != char:
            raise Unclear(f"no {char!r} where one is due")
        self.at += 1

    @staticmethod
    def _not_empty(body: Sequence) -> None:
        if not body.parts:
            raise Unclear("an empty group")

    def _block(self, *stops: str) -> Sequence:
        body = self.read_list(frozenset(stops))
        self._not_empty(body)
        if len(stops) == 1:
            self._expect(stops[0])
        return body

    def _if(self) -> Node:
        self.at += 2
        parts: list[Node] = [self._block("then"), self._block("elif", "else", "fi")]
        while self.reserved() == "elif":
            self.at += 4
            parts += [self._block("then"), self._block("elif", "else", "fi")]
        if self.reserved() == "else":
            self.at += 4
            parts.append(self._block("fi"))
        else:
            self._expect("fi")
        return Branches(tuple(parts), self._redirects())

    def _for(self) -> Node:
        self.at += 3
        self.skip_blank()
        name = _NAME.match(self.text, self.at, self.end)
        if not name or not _LOOP_VARIABLE.fullmatch(name[0]) or name[0] in ("path", "env"):
            raise Unclear("a loop that sets this variable")
        self.at = name.end()
        if self.at < self.end and self.text[self.at] not in " \t\n\\":
            raise Unclear("a loop over no list")
        self._expect("in")
        words: list[Word] = []
        self.skip_blank()
        while self.at < self.end and self.text[self.at] not in ";\n":
            words.append(self.read_word())
            self.skip_blank()
        if self.text[self.at : self.at + 2] == ";;" or self.at >= self.end:
            raise Unclear("a loop without a body")
        if self.text[self.at] == ";":
            self.at += 1
        self._expect("do")
        return Loop((self._block("done"),), name[0], tuple(words), self._redirects())

    def _redirects(self) -> tuple[Redirect, ...]:
        """The redirections behind a compound command, which nothing but an operator may follow."""
        found: list[Redirect] = []
        while True:
            self.skip_blank()
            if (redirect := self._redirect()) is None:
                break
            found.append(redirect)
        if self.at < self.end and self.text[self.at] not in ";&|\n)`":
            raise Unclear("words behind a compound command")
        return tuple(found)

    def _simple(self) -> SimpleCommand:
        words: list[Word] = []
        assignments: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self.skip_blank()
            if (redirect := self._redirect()) is not None:
                redirects.append(redirect)
                continue
            if self.at >= self.end or self.text[self.at] in ";&|\n)" or self.closes_backtick():
                break
            if self.text[self.at] == "(":
                raise Unclear("a function or an array")
            is_assignment = not words and _ASSIGNMENT.match(self.text, self.at, self.end)
            word = self.read_word()
            if word.text.startswith("{") and self.text[self.at : self.at + 1] in ("<", ">"):
                raise Unclear("a redirection to a variable")
            (assignments if is_assignment else words).append(word)
        if not (words or assignments or redirects):
            raise Unclear("a command is missing")
        self.count += 1 + len(words)
        if self.count > _MAX_WORDS:
            raise Unclear(f"more than {_MAX_WORDS} words")
        return SimpleCommand(tuple(words), tuple(assignments), tuple(redirects))

    def _redirect(self) -> Redirect | None:
        found = _REDIRECT.match(self.text, self.at, self.end)
        if not found or (found[2] in ("<", ">") and self.text[found.end() : found.end() + 1] == "("):
            return None
        if found[1] and found[2].startswith("&"):  # `2&>f` is the word 2 and then `&>`
            raise Unclear("a number before '&>'")
        self.at = found.end()
        if self.at < self.end and self.text[self.at] in "<>&|":
            raise Unclear("an unknown redirection")
        self.skip_blank()
        if self.at >= self.end or self.text[self.at] in ";&|\n()<>" or self.closes_backtick():
            raise Unclear("a redirection without its target")
        operator = found[2]
        if operator in ("<<", "<<-"):
            self.start_heredoc(strip_tabs=operator == "<<-")
            return Redirect("none")
        word = self.read_word()
        if operator == "<<<":
            return Redirect("none", None, word.inside, not word.harmless)
        if operator in ("<&", ">&"):
            if word.literal and _DESCRIPTOR.fullmatch(word.text):
                return Redirect("none")
            if operator == "<&" or found[1]:
                raise Unclear("a descriptor that is not a number")
        return Redirect("read" if operator == "<" else "write", word)
