"""What tree-sitter sees in a command: the second opinion, and the broad view that deny rules need."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mewcode.permissions.shell_words import Redirect, SimpleCommand, Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# Every named kind of node whose meaning is known here. Any other makes the command unclear.
_KNOWN = frozenset(
    {
        "program", "command", "command_name", "word", "number", "concatenation", "string", "string_content",
        "raw_string", "ansi_c_string", "simple_expansion", "expansion", "variable_name",
        "special_variable_name", "command_substitution", "process_substitution", "arithmetic_expansion",
        "binary_expression", "unary_expression", "postfix_expression", "parenthesized_expression",
        "ternary_expression", "test_command", "test_operator", "regex", "extglob_pattern", "list",
        "pipeline", "negated_command", "subshell", "compound_statement", "redirected_statement",
        "file_redirect", "file_descriptor", "heredoc_redirect", "heredoc_start", "heredoc_body",
        "heredoc_content", "heredoc_end", "herestring_redirect", "comment", "variable_assignment",
        "variable_assignments", "array", "subscript", "declaration_command", "unset_command",
        "if_statement", "elif_clause", "else_clause", "while_statement", "for_statement",
        "c_style_for_statement", "do_group", "case_statement", "case_item", "function_definition",
        "brace_expression", "translated_string",
    }
)  # fmt: skip
_SPECIAL = frozenset({"test_command", "declaration_command", "unset_command"})
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|.)", re.DOTALL)
_NAMED_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
}


@dataclass(frozen=True, slots=True)
class TreeWalk:
    """``commands``: all that were seen. ``special``: where those start that the grammar has a kind of its own
    for (``[``, ``export``); of their words only the text is known."""

    commands: tuple[SimpleCommand, ...]
    special: frozenset[int]
    problem: str


def walk_tree(parser: Parser, text: str) -> TreeWalk:
    """All commands anywhere in the tree, also within parts that did not parse. Uses no recursion but for the
    text of a word."""
    source = text.encode("utf-8", "surrogatepass")
    tree = parser.parse(source)
    place = _Places(source)
    commands: list[SimpleCommand] = []
    special: set[int] = set()
    problem = "it does not parse" if tree.root_node.has_error else ""
    pending = [tree.root_node]
    while pending:
        node = pending.pop()
        if node.is_named and not node.is_error and node.type not in _KNOWN:
            problem = problem or f"it holds a {node.type.replace('_', ' ')}"
        if node.type == "command":
            commands.append(_command(node, place))
        elif node.type in _SPECIAL:
            special.add(place(node.start_byte))
            commands.append(SimpleCommand(_special_words(node, place)))
        elif node.type == "file_redirect":
            commands.append(SimpleCommand((), (), (_redirect(node, place),)))
        pending.extend(node.children)
    return TreeWalk(tuple(commands), frozenset(special), problem)


class _Places:
    """From places in bytes to places in characters."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._ascii = source.isascii()
        self._starts: list[int] = []
        if not self._ascii:
            count = -1
            for byte in source:
                count += (byte & 0xC0) != 0x80
                self._starts.append(count)
            self._starts.append(count + 1)

    def __call__(self, byte: int) -> int:
        return byte if self._ascii else self._starts[byte]

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")


def _command(node: Node, place: _Places) -> SimpleCommand:
    words: list[Word] = []
    assignments: list[Word] = []
    for child in node.children:
        if child.type == "variable_assignment":
            assignments.append(_word(child, place))
        elif child.type == "command_name" or (
            child.is_named and child.type not in ("file_redirect", "heredoc_redirect", "herestring_redirect")
        ):
            words.append(_word(child, place))
    parent = node.parent
    if parent is not None and parent.type == "redirected_statement":
        # `git log > f x`: the grammar takes x for a second target.
        for redirect in parent.children:
            if redirect.type == "file_redirect":
                words += [_word(extra, place) for extra in redirect.children_by_field_name("destination")[1:]]
    words.sort(key=lambda word: word.start)
    return SimpleCommand(tuple(words), tuple(assignments))


def _special_words(node: Node, place: _Places) -> tuple[Word, ...]:
    """The leaves of `[ -f x ]` or `export a=b`, in order: their structure does not matter to any rule."""
    first = node.children[0]
    words = [Word(place.text(first), True, place(first.start_byte), place(first.end_byte))]
    for child in node.children[1:]:
        raw = place.text(child)
        start = place(child.start_byte)
        words += [Word(piece, piece.isalnum(), start, start) for piece in raw.split()]
    return tuple(words)


def _redirect(node: Node, place: _Places) -> Redirect:
    targets = node.children_by_field_name("destination")
    operator = next((child.type for child in node.children if not child.is_named), "")
    if not targets or operator.endswith("-"):
        return Redirect("none")
    target = _word(targets[0], place)
    if operator in ("<&", ">&") and target.text.rstrip("-").isdigit():
        return Redirect("none")
    return Redirect("read" if operator in ("<", "<&") else "write", target)


def _word(node: Node, place: _Places) -> Word:
    text, literal = _text(node, place, 0)
    raw = place.text(node)
    return Word(text, literal, place(node.start_byte), place(node.end_byte), raw.startswith("~"))


def _text(node: Node, place: _Places, depth: int) -> tuple[str, bool]:
    """The text of a word, quotes resolved, and whether that is all of it."""
    raw = place.text(node)
    if depth > 20:
        return raw, False
    if node.type in ("word", "number") and not node.children:
        plain = re.sub(r"\\\n", "", raw)
        return re.sub(r"\\(.)", r"\1", plain, flags=re.DOTALL), not re.search(r"[*?\[{]", plain)
    if node.type == "raw_string":
        return raw[1:-1], True
    if node.type == "ansi_c_string":
        return decode_ansi(raw[2:-1]), True
    if node.type == "string" and not any(
        child.is_named and child.type != "string_content" for child in node.children
    ):
        return re.sub(r'\\([$`"\\])', r"\1", raw[1:-1].replace("\\\n", "")), True
    if node.type in ("command_name", "concatenation", "string", "translated_string"):
        parts = [_text(child, place, depth + 1) for child in node.children if child.type != '"']
        return "".join(part for part, _ in parts), all(literal for _, literal in parts)
    if node.type == "string_content":
        return re.sub(r'\\([$`"\\])', r"\1", raw), True
    return raw, False


def decode_ansi(content: str) -> str:
    """What stands between ``$'`` and ``'``, its escapes resolved."""

    def resolve(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] in "xuU" and len(code) > 1:
            number = int(code[1:], 16)
            return chr(number) if number < 0x110000 else found[0]
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        return _NAMED_ESCAPES.get(code, code if code in "\\'\"?" else found[0])

    return _ESCAPE.sub(resolve, content)
