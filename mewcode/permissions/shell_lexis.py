"""Words of the shell: quotes, expansions, substitutions, here-documents. The lower half of the strict
reader."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from mewcode.permissions.shell_words import Node, Sequence, Word

_MAX_DEPTH = 24  # of nested lists and substitutions; nobody writes more
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9?#@*$!-]")
# What is read within `${...}`: a plain parameter, its length, or a default of harmless characters.
_PARAMETER = re.compile(
    r"\{(?:#([A-Za-z_][A-Za-z0-9_]*|[0-9@*])"
    r"|([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?::?[-+][A-Za-z0-9_./%@,:+-]*)?)\}"
)
_ARITHMETIC = re.compile(r"\(\([0-9+\-*/% ]*(?:\([0-9+\-*/% ]*\)[0-9+\-*/% ]*)*\)\)")
_HEREDOC_DELIMITER = re.compile(r"'([A-Za-z0-9_.-]+)'|\"([A-Za-z0-9_.-]+)\"|([A-Za-z0-9_.-]+)")
_WORD_ENDS = frozenset(" \t\n;&|<>()")


class Unclear(Exception):
    """The command cannot be read beyond doubt; the text says why."""


class _Parts:
    """A word in the making."""

    __slots__ = ("inside", "literal", "text", "variables", "wild_at")

    def __init__(self) -> None:
        self.text: list[str] = []
        self.literal = True
        self.variables: list[str] = []
        self.wild_at: int | None = None
        self.inside: list[Node] = []

    def dynamic(self, raw: str) -> None:
        self.text.append(raw)
        self.literal = False

    def wild(self, char: str) -> None:
        if self.wild_at is None:
            self.wild_at = sum(map(len, self.text))
        self.dynamic(char)


def _plain_line(line: str) -> bool:
    """Whether bash 3.2 (that of macOS), which looks for a substitution's end before it knows of the
    here-document within, finds the same end."""
    if re.search(r"['\"`\\]", line):
        return False
    if "#" in line:
        return not re.search(r"[()]", line)
    depth = 0
    for char in line:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0


class WordReader(ABC):
    """Reads ``text`` from ``at`` to ``end``; ``heredocs`` wait for the end of their line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.end = len(text)
        self.depth = 0
        self.count = 0  # words read so far
        self.nested = 0  # within how many substitutions
        self.in_backticks = False
        self.heredocs: list[tuple[str, bool, bool]] = []

    @abstractmethod
    def read_list(self, stops: frozenset[str], closing: str = "") -> Sequence: ...

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise Unclear("nested too deeply")

    def closes_backtick(self) -> bool:
        return self.in_backticks and self.text[self.at] == "`"

    def skip_blank(self, *, newlines: bool = False) -> None:
        """Past blanks, continued lines and a comment; with ``newlines`` past line ends as well, whose
        here-documents are then read."""
        while self.at < self.end:
            char = self.text[self.at]
            if char in " \t":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                before = self.text[self.at - 1 : self.at]
                if before not in (" ", "\t", "", "\n", ";", "&", "|") or self.heredocs:
                    raise Unclear("a line that is continued within a word")
                self.at += 2
                if self.text[self.at : self.at + 1] not in (" ", "\t") and before in (";", "&", "|"):
                    raise Unclear("an operator that is continued on the next line")
            elif char == "#" and self.text[self.at - 1 : self.at] in (
                "",
                " ",
                "\t",
                "\n",
                ";",
                "&",
                "|",
                "(",
            ):
                if self.nested or self.text[: self.at].endswith("\\\n"):
                    raise Unclear("a comment within a substitution")
                line_end = self.text.find("\n", self.at, self.end)
                self.at = self.end if line_end < 0 else line_end
            elif char == "\n" and newlines:
                self.at += 1
                self._read_heredocs()
            else:
                return

    def read_word(self) -> Word:
        start = self.at
        parts = _Parts()
        tilde = self.text[start] == "~"
        while self.at < self.end:
            char = self.text[self.at]
            if char in _WORD_ENDS:
                if char in "<>" and self.text[self.at + 1 : self.at + 2] == "(":
                    self._process_substitution(parts, start)
                    continue
                break
            if char == "`" and self.in_backticks:
                break
            self._unquoted(char, parts)
        if self.at == start:
            raise Unclear(f"an unexpected {self.text[start : start + 1]!r}")
        if self.at < self.end and self.text[self.at] == "(":
            raise Unclear("a function, an array or an extended pattern")
        text = "".join(parts.text)
        if text in ("{}", "[") and self.text[start : self.at] == text:  # neither braces nor a wildcard
            parts.literal, parts.wild_at = True, None
        if tilde and not re.match(r"~(/|$)", self.text[start : self.at]):
            parts.literal = False
        return Word(
            text,
            parts.literal,
            start,
            self.at,
            tilde,
            tuple(parts.variables),
            parts.wild_at,
            tuple(parts.inside),
        )

    def _unquoted(self, char: str, parts: _Parts) -> None:
        if char == "'":
            self._single_quoted(parts)
        elif char == '"':
            self._double_quoted(parts)
        elif char == "\\":
            following = self.text[self.at + 1 : min(self.at + 2, self.end)]
            if following in ("", "\n"):
                raise Unclear("a line that is continued within a word")
            parts.text.append(following)
            self.at += 2
        elif char == "$":
            self._dollar(parts, quoted=False)
        elif char == "`":
            self._backticks(parts, quoted=False)
        elif char in "*?[{":
            parts.wild(char)
            self.at += 1
        else:
            parts.text.append(char)
            self.at += 1

    def _single_quoted(self, parts: _Parts) -> None:
        close = self.text.find("'", self.at + 1, self.end)
        if close < 0:
            raise Unclear("a quote that is never closed")
        parts.text.append(self.text[self.at + 1 : close])
        self.at = close + 1

    def _double_quoted(self, parts: _Parts) -> None:
        self.at += 1
        while self.at < self.end:
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return
            if char == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                if following == "\n":
                    raise Unclear("a line that is continued within quotes")
                parts.text.append(following if following in ("$", "`", '"', "\\") else char + following)
                self.at += 2
            elif char == "$":
                self._dollar(parts, quoted=True)
            elif char == "`":
                if self.in_backticks:
                    raise Unclear("a quote that is never closed")
                self._backticks(parts, quoted=True)
            else:
                parts.text.append(char)
                self.at += 1
        raise Unclear("a quote that is never closed")

    def _dollar(self, parts: _Parts, *, quoted: bool) -> None:
        start = self.at
        following = self.text[start + 1 : min(start + 2, self.end)]
        if following == "'" and not quoted:
            self._ansi_quoted(parts)
        elif following == '"' and not quoted:
            raise Unclear('a translated text ($"...")')
        elif following == "[":
            raise Unclear("arithmetic")
        elif following == "(":
            arithmetic = _ARITHMETIC.match(self.text, start + 1, self.end)
            if arithmetic:
                self.at = arithmetic.end()
                parts.dynamic(self.text[start : self.at])
            elif self.text.startswith("((", start + 1):
                raise Unclear("arithmetic on more than numbers")
            else:
                self.at = start + 2
                self._substitution(parts, start)
        elif following == "{":
            self._parameter(parts, start)
        elif found := _VARIABLE.match(self.text, start + 1, self.end):
            self.at = found.end()
            parts.variables.append(found[0])
            parts.dynamic(self.text[start : self.at])
        else:
            parts.text.append("$")
            self.at += 1

    def _parameter(self, parts: _Parts, start: int) -> None:
        found = _PARAMETER.match(self.text, start + 1, self.end)
        if not found:
            raise Unclear("a parameter expansion that may do more than expand")
        self.at = found.end()
        parts.variables.append("#" if found[1] else found[2])
        if found[2] and not found[0].endswith(found[2] + "}"):
            parts.variables.append("default")  # its text may be anything, so it is not harmless
        parts.dynamic(self.text[start : self.at])

    def _ansi_quoted(self, parts: _Parts) -> None:
        close = self.at + 2
        while close < self.end and self.text[close] != "'":
            close += 2 if self.text[close] == "\\" else 1
        if close >= self.end:
            raise Unclear("a quote that is never closed")
        content = self.text[self.at + 2 : close]
        # `\'` would end the quote for a shell that does not know this form.
        if re.sub(r"\\[nt\"\\]", "", content).count("\\"):
            raise Unclear("characters written as codes")
        parts.text.append(
            re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), content)
        )
        self.at = close + 1

    def _substitution(self, parts: _Parts, start: int) -> None:
        """From behind ``$(`` or ``<(`` past its end."""
        if self.in_backticks:
            raise Unclear("substitutions of both kinds in one another")
        heredocs, self.heredocs = self.heredocs, []
        self.nested += 1
        body = self.read_list(frozenset(), ")")
        if not body.parts or self.at >= self.end or self.heredocs:
            raise Unclear("a substitution that is empty or never closed")
        self.nested -= 1
        self.heredocs = heredocs
        self.at += 1
        parts.inside.append(body)
        parts.dynamic(self.text[start : self.at])

    def _process_substitution(self, parts: _Parts, start: int) -> None:
        if self.at != start:
            raise Unclear("a process substitution within a word")
        self.at += 2
        self._substitution(parts, start)

    def _backticks(self, parts: _Parts, *, quoted: bool) -> None:
        start = self.at
        close = self.text.find("`", start + 1, self.end)
        content = self.text[start + 1 : close] if close >= 0 else ""
        # Within backticks bash removes backslashes before it reads, and quotes pair up by rules of their own.
        if not content.strip() or "\\" in content or (quoted and '"' in content):
            raise Unclear("backticks that are empty, unclosed or hold backslashes or quotes")
        outer_end, outer_heredocs = self.end, self.heredocs
        self.at, self.end, self.heredocs, self.in_backticks = start + 1, close, [], True
        self.nested += 1
        body = self.read_list(frozenset())
        if not body.parts or self.at != close or self.heredocs:
            raise Unclear("backticks that do not hold whole commands")
        self.nested -= 1
        self.at, self.end, self.heredocs, self.in_backticks = close + 1, outer_end, outer_heredocs, False
        parts.inside.append(body)
        parts.dynamic(self.text[start : self.at])

    def start_heredoc(self, *, strip_tabs: bool) -> None:
        """Reads the delimiter at ``at``; the text follows at the end of the line."""
        found = _HEREDOC_DELIMITER.match(self.text, self.at, self.end)
        # Within backticks, or with expansions within a substitution, readers disagree.
        if (
            self.in_backticks
            or (self.nested and found and found[3])
            or not found
            or self.text[found.end() : found.end() + 1] not in (*_WORD_ENDS, "")
        ):
            raise Unclear("a here-document of this form")
        self.at = found.end()
        self.heredocs.append((found[1] or found[2] or found[3], strip_tabs, found[3] is None))

    def _read_heredocs(self) -> None:
        for delimiter, strip_tabs, quoted in self.heredocs:
            while True:
                if self.at >= self.end:
                    raise Unclear("a here-document without its end")
                line_end = self.text.find("\n", self.at, self.end)
                line = self.text[self.at : self.end if line_end < 0 else line_end]
                self.at = self.end if line_end < 0 else line_end + 1
                if (line.lstrip("\t") if strip_tabs else line) == delimiter:
                    break
                # Parsers disagree on expansions within; and what they bring in (a key?) is read by the
                # command.
                if not quoted and re.search(r"[`\\]|\$[^\s.,;)]", line):
                    raise Unclear("a here-document with an expansion")
                if self.nested and not _plain_line(line):
                    raise Unclear("a here-document with quotes within a substitution")
        self.heredocs = []
