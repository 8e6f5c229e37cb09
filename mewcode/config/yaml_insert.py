"""Where text goes in a YAML file, and what goes from it, by the marks of its tree: all else stays as it was
written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mewcode.config.yaml_file import YamlText
from mewcode.core.errors import ConfigError


def says(text: str, expected: dict[str, Any]) -> bool:
    """Whether the new text reads as meant."""
    try:
        return YamlText(text.encode(), "").values == expected
    except (ConfigError, UnicodeEncodeError):
        return False


def child(node: Any, key: str) -> tuple[Any, Any] | None:
    """Key and value node of a mapping's key."""
    pairs = node.value if isinstance(node.value, list) else []
    return next((pair for pair in pairs if isinstance(pair, tuple) and pair[0].value == key), None)


def is_empty(node: Any) -> bool:
    return bool(node.start_mark.index == node.end_mark.index)


def into_flow(node: Any, item: str) -> tuple[int, str]:
    """Behind the last item of ``[...]`` or ``{...}``."""
    if not node.value:
        return node.start_mark.index + 1, item
    return end(node.value[-1]), f", {item}"


def after(text: str, node: Any, lines: list[str], column: int, newline: str) -> tuple[int, str]:
    """On lines of their own behind the one where the node's text ends, a comment on that line included."""
    place = end(node)
    if text[place - 1 : place] == "\n":  # the text of a block scalar takes its line's end with it
        place -= 2 if text[place - 2 : place] == "\r\n" else 1
    while place < len(text) and text[place] not in "\r\n":
        place += 1
    return place, "".join(newline + " " * column + line for line in lines)


def end(node: Any) -> int:
    """Where a node's own text ends: a block's end mark stands behind comments and blank lines."""
    if isinstance(node, tuple):
        key, value = node
        return end(key) if is_empty(value) else end(value)
    if isinstance(node.value, list) and node.value and not node.flow_style:
        return end(node.value[-1])
    index: int = node.end_mark.index
    return index


def removal(root: Any, keys: tuple[str, ...], place: int, text: str) -> tuple[int, int]:
    """From where to where the text of a list's item goes, with its comma, or with its line; nothing where it
    shares its line with what stays. ``keys`` lead to the list."""
    node = root
    for key in keys:
        node = (child(node, key) or (None, None))[1]
    start, stop = node.value[place].start_mark.index, end(node.value[place])
    if node.flow_style:
        if place:
            return end(node.value[place - 1]), stop
        return start, node.value[1].start_mark.index if len(node.value) > 1 else stop
    begin = text.rfind("\n", 0, start) + 1
    if text[begin:start].strip() != "-":
        return start, start
    newline = text.find("\n", max(start, stop - 1))
    return begin, newline + 1 if newline >= 0 else len(text)


def quoted(rule: str) -> str:
    """The rule as a YAML scalar that is right in block and flow lists alike."""
    if rule.isprintable():
        return "'" + rule.replace("'", "''") + "'"
    escaped = "".join(
        letter if letter.isprintable() and letter not in '"\\' else f"\\U{ord(letter):08x}" for letter in rule
    )
    return f'"{escaped}"'


def replace_file(path: Path, data: bytes) -> None:
    from mewcode.infra.atomic import write_atomic

    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    write_atomic(path, data, mode=mode)
