"""What became of each line of instructions, as data for scripts and as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mewcode.instructions.lint import Finding
from mewcode.instructions.load import Instructions
from mewcode.instructions.tree import Include, Node

# Of a finding that are named to a person; data has all.
_PLACES = 5


def nodes_of(loaded: Instructions) -> list[Node]:
    """All files that were read, in the order of the text."""
    return [node for document in loaded.documents for node in document.node.walk()]


def left_out(loaded: Instructions) -> int:
    """How many files and includes were skipped; a second mention is none."""
    includes = (include for node in nodes_of(loaded) for include in node.includes())
    return len(loaded.skipped) + sum(include.outcome == "skipped" for include in includes)


def as_data(loaded: Instructions, findings: Sequence[Finding]) -> dict[str, Any]:
    """The whole report; sizes in bytes of the files, tokens estimated."""
    nodes = nodes_of(loaded)
    return {
        "files": [_node_data(document.node, document.cut) for document in loaded.documents],
        "skipped": [
            {"path": item.shown, "level": item.level, "reason": item.reason} for item in loaded.skipped
        ],
        "rules": [
            {"path": waiting.file.where, "paths": list(waiting.rule.paths or ())}
            for waiting in loaded.waiting
        ],
        "findings": [
            {
                "kind": finding.kind,
                "text": finding.text,
                "places": [{"path": place.shown, "line": place.line} for place in finding.places],
            }
            for finding in findings
        ],
        "bytes": sum(len(document.text.encode("utf-8", "replace")) for document in loaded.documents),
        "tokens": sum(node.tokens for node in nodes),
    }


def _node_data(node: Node, cut: str = "") -> dict[str, Any]:
    return {
        "path": node.where,
        "shown": node.shown,
        "level": node.level,
        "bytes": node.size,
        "tokens": node.tokens,
        "cut": cut or node.cut,
        "warnings": node.warnings,
        "includes": [
            {
                "written": include.written,
                "line": include.line,
                "outcome": include.outcome,
                "reason": include.reason,
                "file": _node_data(include.node) if include.node is not None else None,
            }
            for include in node.includes()
        ],
    }


def as_lines(loaded: Instructions, findings: Sequence[Finding]) -> Iterator[str]:
    """The tree as a person reads it. The text of files is not made safe for a terminal here."""
    if not loaded.documents and not loaded.skipped and not loaded.waiting:
        yield "no instructions: write MEWCODE.md, or let /init write a first one"
        return
    for document in loaded.documents:
        yield from _tree(document.node, "", document.cut)
    for item in loaded.skipped:
        yield f"{item.shown}  skipped: {item.reason}"
    for waiting in loaded.waiting:
        yield f"{waiting.file.path.name}  waits for {', '.join(waiting.rule.paths or ())}"
    nodes = nodes_of(loaded)
    tokens = sum(node.tokens for node in nodes)
    files = f"{len(nodes):,} file" + ("s" if len(nodes) != 1 else "")
    yield f"{files}, {sum(node.size for node in nodes):,} bytes, about {tokens:,} tokens"
    for finding in findings:
        places = ", ".join(f"{place.shown}:{place.line}" for place in finding.places[:_PLACES])
        if (more := len(finding.places) - _PLACES) > 0:
            places += f" and {more:,} more"
        yield f"{finding.kind}: {finding.text[:120]}  ({places})"


def _tree(node: Node, indent: str, cut: str = "") -> Iterator[str]:
    yield f"{indent}{node.shown}  {node.level}, {node.size:,} bytes, about {node.tokens:,} tokens"
    inner = indent + "  "
    for warning in node.warnings:
        yield f"{inner}! {warning}"
    for include in node.includes():
        yield from _include(include, inner)
    if cut or node.cut:
        yield f"{inner}! cut: {cut or node.cut}"


def _include(include: Include, indent: str) -> Iterator[str]:
    if include.node is not None:
        yield from _tree(include.node, indent)
    elif include.outcome == "duplicate":
        yield f"{indent}{include.written}  (line {include.line}) {include.reason}"
    else:
        yield f"{indent}! {include.written}  (line {include.line}) skipped: {include.reason}"
