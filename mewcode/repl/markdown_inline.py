"""The inline part of Markdown: one paragraph's text to text with styles.

CommonMark's rules for emphasis, code spans, links and escapes, with what chat models write in view: emphasis
beside Chinese punctuation works, a lone ``~`` is no strike, HTML is text. A link never hides where it leads.
"""

from __future__ import annotations

import re

from mewcode.infra.terminal_text import safe_text
from mewcode.repl.line_wrap import is_cjk
from mewcode.repl.styled_text import Run, StyledText, Styles
from mewcode.repl.theme import Style

_SPECIAL = re.compile(r"[\\`*_~\[\]<&]|https?://")
_TOKEN = re.compile(r"\\|`+|\*+|_+|~+|!\[|\[|\]|<|&|https?://")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
# (target "title"); possessive, so that no text makes it try twice.
_LINK_TARGET = re.compile(
    r"\([ \n]*+(?:<([^<>\n]*+)>|((?:[^ \n()\\]|\\.|\((?:[^ \n()\\]|\\.)*+\))*+))"
    r"(?:[ \n]++(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)))?[ \n]*+\)"
)
_ANGLE_LINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^ <>\n]*+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)>")
# A bare address ends before Chinese text and before punctuation that closes a sentence.
_BARE_LINK = re.compile(r"https?://[^ \n<>\"`\[\]\u2e80-\u9fff\uff00-\uffef]+")
# __init__ in a text on code is a name far more often than a word in bold.
_DUNDER = re.compile(r"__[a-z0-9]+(?:_[a-z0-9]+)*__(?![A-Za-z0-9_])")
_ASCII_WORD = re.compile("[A-Za-z0-9]")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def parse_inline(raw: str, *, written_out: bool = False, partial: bool = False) -> StyledText:
    """The styled text of ``raw``, in which ``\\n`` is a hard break. ``written_out`` keeps the marks of code
    and strike, for a theme that has no styles. ``partial``: more is to come, so what opens at the end counts
    as closed there."""
    if not _SPECIAL.search(raw):
        return StyledText(raw)
    return _InlineParser(raw, written_out, partial).parse()


def join_lines(lines: list[str]) -> str:
    """A paragraph's lines as one text: a hard break is a ``\\n``, a soft one a space, or nothing between two
    Chinese or Japanese characters."""
    if len(lines) == 1:
        return lines[0].rstrip(" ")
    parts: list[str] = []
    for number, line in enumerate(lines):
        text = line.rstrip(" ")
        if number == len(lines) - 1:
            parts.append(text)
        elif line.endswith("  "):
            parts += (text, "\n")
        elif text.endswith("\\") and not text.endswith("\\\\"):
            parts += (text[:-1], "\n")
        else:
            following = lines[number + 1]
            joined = text and following and is_cjk(text[-1]) and is_cjk(following[0])
            parts += (text, "" if joined else " ")
    return "".join(parts)


class _Delimiter:
    """A run of ``*``, ``_`` or ``~~``: ``count`` are left of it, in piece ``piece``."""

    __slots__ = ("can_close", "can_open", "char", "count", "length", "piece")

    def __init__(self, char: str, count: int, piece: int, can_open: bool, can_close: bool) -> None:
        self.char = char
        self.count = self.length = count
        self.piece = piece
        self.can_open = can_open
        self.can_close = can_close


class _InlineParser:
    def __init__(self, raw: str, written_out: bool, partial: bool) -> None:
        # At the end of a text that goes on, marks are half of something: not shown yet.
        self._raw = raw.rstrip("*_~") if partial else raw
        self._written_out = written_out
        self._partial = partial
        self._pieces: list[str] = []
        # (first piece, piece behind the last, style), inner ones before outer ones.
        self._spans: list[tuple[int, int, Style]] = []
        self._delimiters: list[_Delimiter] = []
        # Open brackets: piece, number of delimiters before it.
        self._brackets: list[tuple[int, int]] = []
        self._unclosed_ticks: set[int] = set()

    def parse(self) -> StyledText:
        raw, at = self._raw, 0
        while match := _TOKEN.search(raw, at):
            if match.start() > at:
                self._pieces.append(raw[at : match.start()])
            at = self._token(match)
        if at < len(raw):
            self._pieces.append(raw[at:])
        unclosed = self._match_delimiters(0)
        if self._partial:
            self._close_open_ones(unclosed)
        return self._styled()

    def _token(self, match: re.Match[str]) -> int:
        """Takes one token in; where to go on."""
        token, start, end = match[0], match.start(), match.end()
        char = token[0]
        if char == "_" and (dunder := _DUNDER.match(self._raw, start)):
            self._pieces.append(dunder[0])
            return dunder.end()
        if char in "*_~":
            self._delimiter(token, start, end)
            return end
        if char == "`":
            return self._code(token, end)
        if char == "\\":
            if end < len(self._raw) and self._raw[end] in _PUNCTUATION:
                self._pieces.append(self._raw[end])
                return end + 1
        elif char == "<" and (link := _ANGLE_LINK.match(self._raw, start)):
            self._piece(link[1], "link")
            return link.end()
        elif char == "h" and not _ASCII_WORD.match(self._raw[start - 1 : start]):
            return self._bare_link(start)
        elif char == "&" and (entity := _ENTITY.match(self._raw, start)):
            self._pieces.append(_entity_text(entity[0]))
            return entity.end()
        elif char == "]":
            return self._close_bracket(end)
        elif char in "![":
            self._brackets.append((len(self._pieces), len(self._delimiters)))
        self._pieces.append(token)
        return end

    def _piece(self, text: str, style: Style) -> None:
        self._spans.append((len(self._pieces), len(self._pieces) + 1, style))
        self._pieces.append(text)

    def _code(self, ticks: str, start: int) -> int:
        size = len(ticks)
        closing = None
        if size not in self._unclosed_ticks:
            closing = re.compile(f"(?<!`){ticks}(?!`)").search(self._raw, start)
        if closing is None and not self._partial:
            self._unclosed_ticks.add(size)
            self._pieces.append(ticks)
            return start
        content = self._raw[start : closing.start() if closing else len(self._raw)].replace("\n", " ")
        if content.startswith(" ") and content.endswith(" ") and content.strip(" "):
            content = content[1:-1]
        self._piece(f"{ticks}{content}{ticks}" if self._written_out else content, "code")
        return closing.end() if closing else len(self._raw)

    def _bare_link(self, start: int) -> int:
        match = _BARE_LINK.match(self._raw, start)
        if match is None:
            self._pieces.append("http")
            return start + 4
        url = match[0].rstrip(".,;:!?'*_~")
        while url.endswith(")") and url.count("(") < url.count(")"):
            url = url[:-1].rstrip(".,;:!?'*_~")
        self._piece(url, "link")
        return start + len(url)

    def _delimiter(self, token: str, start: int, end: int) -> None:
        char = token[0]
        piece = len(self._pieces)
        self._pieces.append(token)
        if char == "~" and len(token) != 2:
            return
        before = self._raw[start - 1] if start else " "
        after = self._raw[end] if end < len(self._raw) else " "
        before_space, after_space = before.isspace(), after.isspace()
        before_mark, after_mark = _is_mark(before), _is_mark(after)
        # CommonMark's flanking rules, but a Chinese or Japanese neighbour counts like a space: these scripts
        # have none around punctuation.
        left = not after_space and (not after_mark or before_space or before_mark or is_cjk(before))
        right = not before_space and (not before_mark or after_space or after_mark or is_cjk(after))
        if char == "_":
            left, right = left and (not right or before_mark), right and (not left or after_mark)
        if left or right:
            self._delimiters.append(_Delimiter(char, len(token), piece, left, right))

    def _close_bracket(self, end: int) -> int:
        """A ``]``: the text of a link where a target follows and a bracket is open."""
        if not self._brackets:
            self._pieces.append("]")
            return end
        opening, delimiters = self._brackets.pop()
        target = _LINK_TARGET.match(self._raw, end)
        if target is None:
            self._pieces.append("]")
            return end
        self._match_delimiters(delimiters)
        is_image = self._pieces[opening] == "!["
        self._pieces[opening] = "image: " if is_image else ""
        url = _ESCAPED.sub(r"\1", target[1] if target[1] is not None else target[2])
        url = _ENTITY.sub(lambda match: _entity_text(match[0]), url)
        shown = "".join(self._pieces[opening + 1 :]).strip(" ")
        if not shown:
            self._piece(url, "link")
        else:
            self._spans.append((opening + 1, len(self._pieces), "link"))
            if url and url not in (shown, f"mailto:{shown}"):
                self._piece(f" ({url})", "dim")
        if not is_image:
            self._brackets.clear()
        return target.end()

    def _match_delimiters(self, bottom: int) -> list[_Delimiter]:
        """Pairs the delimiters from ``bottom`` on and forgets them: CommonMark's "process emphasis". Returns
        the openers that found no closer."""
        stack = self._delimiters[bottom:]
        del self._delimiters[bottom:]
        openers: list[_Delimiter] = []
        # Below these no opener can match such a closer: keeps the time linear.
        floors: dict[tuple[str, int, bool], int] = {}
        for closer in stack:
            kind = (closer.char, closer.length % 3, closer.can_open)
            while closer.can_close and closer.count:
                floor = floors.get(kind, 0)
                at = next(
                    (i for i in range(len(openers) - 1, floor - 1, -1) if _pairs(openers[i], closer)), None
                )
                if at is None:
                    floors[kind] = len(openers)
                    break
                self._pair(openers[at], closer)
                del openers[at + (1 if openers[at].count else 0) :]
                floors = {key: min(value, len(openers)) for key, value in floors.items()}
            if closer.count and closer.can_open:
                openers.append(closer)
        return openers

    def _pair(self, opener: _Delimiter, closer: _Delimiter) -> None:
        used = 2 if opener.count >= 2 and closer.count >= 2 else 1
        style: Style = "strike" if opener.char == "~" else "bold" if used == 2 else "italic"
        for side in (opener, closer):
            side.count -= used
            keep = "~~" if style == "strike" and self._written_out else ""
            self._pieces[side.piece] = keep or side.char * side.count
        self._spans.append((opener.piece, closer.piece + 1, style))

    def _close_open_ones(self, unclosed: list[_Delimiter]) -> None:
        """The end of a text that goes on: an opener styles the rest."""
        for opener in unclosed:
            if opener.count > 3:
                continue
            style: Style = "strike" if opener.char == "~" else "bold" if opener.count >= 2 else "italic"
            self._pieces[opener.piece] = ""
            self._spans.append((opener.piece, len(self._pieces), style))

    def _styled(self) -> StyledText:
        if not self._spans:
            return StyledText("".join(self._pieces))
        count = len(self._pieces)
        opens: list[list[int]] = [[] for _ in range(count + 1)]
        # Outer spans were closed later, so they come first here.
        for number in range(len(self._spans) - 1, -1, -1):
            opens[self._spans[number][0]].append(number)
        runs: list[Run] = []
        active: list[int] = []
        at = 0
        for index, piece in enumerate(self._pieces):
            active = [number for number in active if self._spans[number][1] > index] + opens[index]
            if active and piece:
                # In the order they opened, each once: a bare address within a link's text is no second link.
                styles: Styles = tuple(dict.fromkeys(self._spans[number][2] for number in active))
                start = at
                if runs and runs[-1][1] == at and runs[-1][2] == styles:
                    start = runs.pop()[0]
                runs.append((start, at + len(piece), styles))
            at += len(piece)
        return StyledText("".join(self._pieces), runs)


def _pairs(opener: _Delimiter, closer: _Delimiter) -> bool:
    if opener.char != closer.char:
        return False
    both_ways = opener.can_close or closer.can_open
    third = (opener.length + closer.length) % 3 == 0 and (opener.length % 3 or closer.length % 3)
    return not (both_ways and third)


def _is_mark(char: str) -> bool:
    return char in _PUNCTUATION if char.isascii() else not char.isalnum() and not char.isspace()


def _entity_text(entity: str) -> str:
    """The character that is meant; never one that a terminal obeys, nor a line's end."""
    from html import unescape  # its table of names takes a millisecond, and few texts need it

    return safe_text(unescape(entity)).replace("\n", " ").replace("\t", " ")
