"""What Python sources say of themselves: the docstrings of modules, classes and functions."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from mewcode.memory.knowledge.pieces import Piece, cut

_MOST_SOURCE = 300_000
"""Characters of a source that is parsed: each may take a kilobyte of memory."""

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstring_pieces(text: str) -> Iterator[Piece]:
    """A piece for each docstring, headed by the name of what it is of. A source that does not parse, or is
    too long for that, says nothing."""
    if len(text) > _MOST_SOURCE:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in literals that are not ours
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from _of(tree, "")


def _of(node: _Documented, name: str) -> Iterator[Piece]:
    said = ast.get_docstring(node)
    if said:
        first = node.body[0]
        signature = f"{name}{_arguments(node)}\n" if name else ""
        for piece in cut(name, 1, f"{signature}{said}"):
            yield Piece(name, first.lineno, piece.text)
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of(child, f"{name}.{child.name}" if name else child.name)


def _arguments(node: _Documented) -> str:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    return f"({', '.join(argument.arg for argument in (*node.args.posonlyargs, *node.args.args))})"
