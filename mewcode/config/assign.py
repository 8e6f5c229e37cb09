"""Sets single values in a YAML config file and leaves every other byte as the user wrote it.

A value that stands there is replaced in its place, another gets a line of its own. As with rules, the new
text is read again and must say what is meant; where it does not, nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mewcode.config.key_path import KeyPath, dotted
from mewcode.config.yaml_file import YamlText, read_bounded
from mewcode.config.yaml_insert import after, child, end, into_flow, is_empty, quoted, replace_file, says
from mewcode.core.errors import ConfigError

_BOM = b"\xef\xbb\xbf"
_INDENT = "  "
_PLAIN = re.compile(r"[A-Za-z][\w./-]*(?::[\w./-]+)*", re.ASCII)
# Words that YAML takes for something else than text.
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def set_values(path: Path, values: Mapping[KeyPath, str | None]) -> bool:
    """Sets each key of ``values`` in the file, made (0600) where there is none; None takes a key out.

    False where the file says all of it already. The file is replaced whole (a symlink is followed, its mode
    kept), one process at a time. Raises ConfigError where the file is wrong, cannot be written, or is written
    in a way that only a person can change: the message gives the line.
    """
    from mewcode.config.file_lock import locked
    from mewcode.infra.paths import private_dir

    target = path.resolve()
    try:
        private_dir(target.parent)
        with locked(target.with_name(target.name + ".lock")):
            old = read_bounded(target, str(path)) or b""
            new = old
            for key, value in values.items():
                new = with_value(new, key, value, str(path))
            if new != old:
                replace_file(target, new)
            return new != old
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", where=str(path)) from error


def with_value(data: bytes, key: KeyPath, value: str | None, shown: str) -> bytes:
    """The file's bytes with one key set to a text, or taken out. Raises ConfigError."""
    old = YamlText(data, shown)
    expected = _expected(old.values, key, value)
    if expected == old.values:
        return data
    text = _without(old, key) if value is None else _with(old, key, _scalar(value))
    if not says(text, expected):
        line = f"{dotted(key)} by hand" if value is None else f"{dotted(key)}: {_scalar(value)}"
        raise ConfigError(
            f"{dotted(key)} cannot be changed without touching what you wrote",
            f"Remove {line}." if value is None else f"Set it by hand: {line}",
            shown,
        )
    return (_BOM if data.startswith(_BOM) else b"") + text.encode()


def _expected(values: Any, key: KeyPath, value: str | None) -> dict[str, Any]:
    """The file's values as they are to be."""
    found: dict[str, Any] = dict(values) if isinstance(values, dict) else {}
    first, *rest = key
    if rest and (value is not None or first in found):
        found[first] = _expected(found.get(first), tuple(rest), value)
    elif value is None:
        found.pop(first, None)
    else:
        found[first] = value
    return found


def _with(old: YamlText, key: KeyPath, value: str) -> str:
    text = old.text
    node: Any = old.root
    newline = "\r\n" if "\r\n" in text else "\n"
    if node is None or is_empty(node):
        start = newline if text and not text.endswith(("\n", "\r")) else ""
        return text + start + newline.join(_block(key, value)) + newline
    missing = key
    while missing:
        pair = child(node, missing[0])
        if pair is None:
            break
        key_node, node = pair
        missing = missing[1:]
        if is_empty(node) and missing:
            column = key_node.start_mark.column + len(_INDENT)
            return _inserted(text, after(text, key_node, _block(missing, value), column, newline))
        if is_empty(node):
            place = end(key_node)
            place += text[place:].index(":") + 1
            return f"{text[:place]} {value}{text[place:]}"
    if not missing:
        # A block scalar's text ends behind its line.
        stop = node.end_mark.index
        ended = text[node.start_mark.index : stop].endswith("\n")
        return text[: node.start_mark.index] + value + (newline if ended else "") + text[stop:]
    if not isinstance(node.value, list):
        return text
    if node.flow_style:
        return _inserted(text, into_flow(node, _flow(missing, value)))
    return _inserted(text, after(text, node, _block(missing, value), node.start_mark.column, newline))


def _without(old: YamlText, key: KeyPath) -> str:
    """The text without the lines of a key; only what stands on lines of its own can be taken out."""
    node: Any = old.root
    pair = None
    for part in key:
        pair = child(node, part)
        if pair is None:
            return old.text
        node = pair[1]
    assert pair is not None
    start = old.text.rfind("\n", 0, pair[0].start_mark.index) + 1
    stop = old.text.find("\n", max(end(pair) - 1, pair[0].end_mark.index))
    return old.text[:start] + (old.text[stop + 1 :] if stop >= 0 else "")


def _inserted(text: str, insertion: tuple[int, str]) -> str:
    place, added = insertion
    return text[:place] + added + text[place:]


def _block(key: KeyPath, value: str) -> list[str]:
    """The lines of a block: keys one below the other, the value behind the last."""
    if len(key) == 1:
        return [f"{_scalar(key[0])}: {value}"]
    return [f"{_scalar(key[0])}:", *(_INDENT + line for line in _block(key[1:], value))]


def _flow(key: KeyPath, value: str) -> str:
    """The same between brackets."""
    inner = value if len(key) == 1 else f"{{{_flow(key[1:], value)}}}"
    return f"{_scalar(key[0])}: {inner}"


def _scalar(text: str) -> str:
    """A text as YAML, without quotes where it reads as text all the same."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else quoted(text)
