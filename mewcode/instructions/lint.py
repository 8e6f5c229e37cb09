"""What a reader of the instructions would stumble over. Looks at names of files, runs and opens nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from mewcode.instructions.limits import LONG_LINE
from mewcode.instructions.tree import Node

Kind = Literal["duplicate", "contradiction", "long line", "missing file", "missing command", "missing link"]

_WORTH_SAYING_ONCE = 24
"""Characters from which on a line that stands in two places is reported; shorter ones are headings."""
_MOST_FINDINGS = 200
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.+?)\s*#*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})\s*(\w*)")
_LINK = re.compile(r"\[[^\]\n]*\]\(<?([^)\s>]+)>?[^)\n]*\)")
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_PATH = re.compile(
    r"\.{0,2}/?[\w.@+-]+(?:/[\w.@+-]+)+/?|[\w@+-]+\.(?:md|py|toml|json|ya?ml|sh|txt|cfg|ini|lock)"
)
_SHELLS = {"sh", "bash", "zsh", "shell", "console"}
_WORD = re.compile(r"(?:\$ )?\s*((?:\w+=\S*\s+)*)([\w./+-]+)")
# What a shell knows itself.
_BUILTINS = frozenset({
    "alias", "break", "case", "cd", "command", "continue", "do", "done", "echo", "elif", "else", "esac",
    "eval", "exec", "exit", "export", "false", "fi", "for", "function", "if", "in", "local", "printf",
    "pwd", "read", "return", "select", "set", "shift", "source", "test", "then", "time", "trap", "true",
    "type", "ulimit", "umask", "unset", "until", "wait", "while",
})  # fmt: skip


class Place(msgspec.Struct, frozen=True):
    """``shown``: a file's path for people. ``line``: its number, from 1."""

    shown: str
    line: int


class Finding(msgspec.Struct, frozen=True):
    """``text``: what stands there. ``places``: where, the first first."""

    kind: Kind
    text: str
    places: tuple[Place, ...]


class _Line(msgspec.Struct, frozen=True):
    node: Node
    number: int
    text: str
    in_code: bool
    language: str

    @property
    def place(self) -> Place:
        return Place(self.node.shown, self.number)


def lint(nodes: Sequence[Node], root: Path, has_command: Callable[[str], bool]) -> list[Finding]:
    """What is to be said of these files, each file's own text. ``has_command``: whether a name can be run.
    At most `_MOST_FINDINGS`."""
    lines = [line for node in nodes for line in _lines(node)]
    findings = [
        *_long(lines),
        *_duplicates(lines),
        *_contradictions(lines),
        *_dead(lines, root, has_command),
    ]
    return findings[:_MOST_FINDINGS]


def _lines(node: Node) -> Iterator[_Line]:
    fence, language = "", ""
    for number, text in zip(node.numbers, node.own_text().split("\n"), strict=False):
        found = _FENCE.match(text)
        if fence:
            closes = found is not None and found.group(1).startswith(fence) and not found.group(2)
            yield _Line(node, number, "" if closes else text, in_code=True, language=language)
            fence = "" if closes else fence
        elif found is not None:
            fence, language = found.group(1), found.group(2).lower()
        else:
            yield _Line(node, number, text, in_code=False, language="")


def _long(lines: Sequence[_Line]) -> Iterator[Finding]:
    for line in lines:
        if len(line.text) > LONG_LINE:
            yield Finding("long line", f"{len(line.text):,} characters", (line.place,))


def _duplicates(lines: Sequence[_Line]) -> Iterator[Finding]:
    seen: dict[str, list[_Line]] = {}
    for line in lines:
        words = line.text.strip().lstrip("-*+ ").strip()
        if len(words) >= _WORTH_SAYING_ONCE and not line.in_code:
            seen.setdefault(words, []).append(line)
    for words, found in seen.items():
        if len(found) > 1:
            yield Finding("duplicate", words, tuple(line.place for line in found))


def _contradictions(lines: Sequence[_Line]) -> Iterator[Finding]:
    """The same heading in two files with different text below: one of the two is not followed."""
    sections: dict[str, list[tuple[_Line, list[str]]]] = {}
    body: list[str] = []
    node: Node | None = None
    for line in lines:
        heading = None if line.in_code else _HEADING.match(line.text)
        if heading is not None:
            body = []
            sections.setdefault(heading.group(2).casefold(), []).append((line, body))
        elif line.node is not node:
            body = []
        elif line.text.strip():
            body.append(line.text.strip())
        node = line.node
    for found in sections.values():
        said = {"\n".join(text) for _, text in found if text}
        if len({line.node.where for line, _ in found}) > 1 and len(said) > 1:
            first = found[0][0].text.strip()
            yield Finding("contradiction", first, tuple(line.place for line, text in found if text))


def _dead(lines: Sequence[_Line], root: Path, has_command: Callable[[str], bool]) -> Iterator[Finding]:
    for line in lines:
        if line.in_code:
            if line.language in _SHELLS and (command := _command(line.text)):
                yield from _missing_command(command, line, root, has_command)
            continue
        for target in _LINK.findall(line.text):
            path = target.partition("#")[0]
            if path and "://" not in target and not target.startswith("mailto:"):
                yield from _missing("missing link", path, line, root)
        for span in _SPAN.findall(line.text):
            if _PATH.fullmatch(span):
                yield from _missing("missing file", span, line, root)


def _command(text: str) -> str:
    """The program that a line of a shell starts; "" for none."""
    if not text.strip() or text.lstrip().startswith("#"):
        return ""
    found = _WORD.match(text)
    return found.group(2) if found else ""


def _missing_command(
    command: str, line: _Line, root: Path, has_command: Callable[[str], bool]
) -> Iterator[Finding]:
    if "/" in command:
        yield from _missing("missing command", command, line, root)
    elif command not in _BUILTINS and not has_command(command):
        yield Finding("missing command", command, (line.place,))


def _missing(kind: Kind, path: str, line: _Line, root: Path) -> Iterator[Finding]:
    """A path may be meant from the file's own folder or from the root."""
    if not any(_exists(folder, path) for folder in (line.node.path.parent, root)):
        yield Finding(kind, path, (line.place,))


def _exists(folder: Path, path: str) -> bool:
    try:
        return (folder / path).expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # no file name
        return False
