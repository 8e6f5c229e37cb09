"""What tree-sitter sees in a command: the second opinion, and the broad view that deny rules need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

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
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
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


class TreeWalk(msgspec.Struct, frozen=True):
    """``commands``: all that were seen. ``special``: where those start that the grammar has a kind of its own
    for (``[``, ``export``); of their words only the text is known."""

    commands: tuple[SimpleCommand, ...]
    special: frozenset[int]
    problem: str


def walk_tree(parser: Parser, text: str) -> TreeWalk:
    """All commands anywhere in the tree, also within parts that did not parse. Uses no recursion but for the
    text of a word."""
    # The grammar's scanner looks characters up in a C table of 256: others crash it. To bash they are letters
    # of a word and nothing more; a dot is that too, and no part of a name.
    tree = parser.parse(_BEYOND_ASCII.sub(".", text).encode("ascii"))
    commands: list[SimpleCommand] = []
    special: set[int] = set()
    problem = "it does not parse" if tree.root_node.has_error else ""
    pending = [tree.root_node]
    while pending:
        node = pending.pop()
        if node.is_named and not node.is_error and node.type not in _KNOWN:
            problem = problem or f"it holds a {node.type.replace('_', ' ')}"
        if node.type == "command":
            commands.append(_command(node, text))
        elif node.type in _SPECIAL:
            special.add(node.start_byte)
            commands.append(SimpleCommand(_special_words(node, text)))
        elif node.type == "file_redirect":
            commands.append(SimpleCommand((), (), (_redirect(node, text),)))
        pending.extend(node.children)
    return TreeWalk(tuple(commands), frozenset(special), problem)


def _raw(node: Node, source: str) -> str:
    """A node's text as it was written: places in bytes are places in characters here."""
    return source[node.start_byte : node.end_byte]


def _command(node: Node, source: str) -> SimpleCommand:
    words: list[Word] = []
    assignments: list[Word] = []
    for child in node.children:
        if child.type == "variable_assignment":
            assignments.append(_word(child, source))
        elif child.type == "command_name" or (
            child.is_named and child.type not in ("file_redirect", "heredoc_redirect", "herestring_redirect")
        ):
            words.append(_word(child, source))
    parent = node.parent
    if parent is not None and parent.type == "redirected_statement":
        # `git log > f x`: the grammar takes x for a second target.
        for redirect in parent.children:
            if redirect.type == "file_redirect":
                words += [
                    _word(extra, source) for extra in redirect.children_by_field_name("destination")[1:]
                ]
    words.sort(key=lambda word: word.start)
    return SimpleCommand(tuple(words), tuple(assignments))


def _special_words(node: Node, source: str) -> tuple[Word, ...]:
    """The leaves of `[ -f x ]` or `export a=b`, in order: their structure does not matter to any rule."""
    first = node.children[0]
    words = [Word(_raw(first, source), True, first.start_byte, first.end_byte)]
    for child in node.children[1:]:
        raw = _raw(child, source)
        start = child.start_byte
        words += [Word(piece, piece.isalnum(), start, start) for piece in raw.split()]
    return tuple(words)


def _redirect(node: Node, source: str) -> Redirect:
    targets = node.children_by_field_name("destination")
    operator = next((child.type for child in node.children if not child.is_named), "")
    if not targets or operator.endswith("-"):
        return Redirect("none")
    target = _word(targets[0], source)
    if operator in ("<&", ">&") and target.text.rstrip("-").isdigit():
        return Redirect("none")
    return Redirect("read" if operator in ("<", "<&") else "write", target)


def _word(node: Node, source: str) -> Word:
    text, literal = _text(node, source, 0)
    raw = _raw(node, source)
    return Word(text, literal, node.start_byte, node.end_byte, raw.startswith("~"))


def _text(node: Node, source: str, depth: int) -> tuple[str, bool]:
    """The text of a word, quotes resolved, and whether that is all of it."""
    raw = _raw(node, source)
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
        parts = [_text(child, source, depth + 1) for child in node.children if child.type != '"']
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
