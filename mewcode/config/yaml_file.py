"""A YAML file read once, with the line of every key: bounded, strict, and without YAML's surprises.

Values are built from the composed nodes, so that a path and its line come from the same pass. Left out on
purpose: tags, merge keys, dates (they stay text); keys are text as written.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mewcode.config.key_path import KeyPath, dotted
from mewcode.core.errors import ConfigError

if TYPE_CHECKING:
    from yaml.error import MarkedYAMLError
    from yaml.nodes import Node

MAX_BYTES = 1_000_000
MAX_NODES = 50_000  # aliases counted where they are used, so that a small file cannot grow without bound
MAX_DEPTH = 32
MAX_NUMBER = 100  # letters: `1:1:1:...` to base 60 would take time by the square of its length

_TAG = "tag:yaml.org,2002:"
_AS_WRITTEN = (_TAG + "str", _TAG + "timestamp")
_BUILT = (_TAG + "int", _TAG + "float", _TAG + "bool", _TAG + "null")
_LINE_END = re.compile("\r\n|\r|\n")


def read_bounded(path: Path, shown: str) -> bytes | None:
    """The bytes of a regular file of at most `MAX_BYTES`; None where there is none. Raises ConfigError."""
    import os
    import stat

    try:
        # O_NONBLOCK: a FIFO in the file's place must not hold up the start.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=shown) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ConfigError("is not a regular file", where=shown)
    with os.fdopen(descriptor, "rb") as stream:
        try:
            data = stream.read(MAX_BYTES + 1)
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", where=shown) from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"is larger than {MAX_BYTES:,} bytes", "A config file is short.", shown)
    return data


class YamlText:
    """The text of a config file with its tree; ``shown`` is the path as errors name it.

    ``values`` is the file's mapping, ``lines`` the line (from 1) of each path in it: a key's own line, a
    list item's own line. Raises ConfigError with ``file:line`` where the file is no such mapping.
    """

    def __init__(self, data: bytes, shown: str) -> None:
        self.shown = shown
        self.text = self._decode(data)
        self._breaks = [match.end() for match in _LINE_END.finditer(self.text)]
        self.lines: dict[KeyPath, int] = {}
        self._count = 0
        self.root = self._compose()
        self.values: dict[str, Any] = {}
        if self.root is None:
            return
        values = self._build(self.root, ())
        if values is None:
            return
        if not isinstance(values, dict):
            raise self.error_at(self.root, "a config file is a mapping of keys", "Write it as `key: value`.")
        self.values = values

    def _decode(self, data: bytes) -> str:
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ConfigError(
                "is not UTF-8 text", "Save the file as UTF-8.", f"{self.shown}:{line}"
            ) from error

    def line(self, index: int) -> int:
        """The line, from 1, as an editor counts it (YAML also breaks lines at U+2028 and its kin)."""
        return bisect_right(self._breaks, index) + 1

    def where(self, path: KeyPath) -> str:
        """``file:line`` of a path, or of the nearest thing around it; the file alone for the whole."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.shown}:{self.lines[path]}" if path else self.shown

    def error_at(self, node: Node, message: str, hint: str = "") -> ConfigError:
        return ConfigError(message, hint, f"{self.shown}:{self.line(node.start_mark.index)}")

    def _compose(self) -> Node | None:
        # yaml takes as long to import as all of python to start: nobody without a config file pays for it.
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            node: Node | None = yaml.compose(self.text, Loader=loader)
        except yaml.MarkedYAMLError as error:
            raise self._syntax_error(error) from error
        except yaml.YAMLError as error:  # a control character: known by its position in bytes or characters
            position = getattr(error, "position", 0)
            line = self.text.encode()[:position].count(b"\n") + 1
            raise ConfigError(
                "is not valid YAML: it holds a control character", where=f"{self.shown}:{line}"
            ) from error
        except RecursionError as error:
            raise ConfigError("is nested too deeply", where=self.shown) from error
        return node

    def _syntax_error(self, error: MarkedYAMLError) -> ConfigError:
        mark = error.problem_mark or error.context_mark
        where = f"{self.shown}:{self.line(min(mark.index, len(self.text)))}" if mark else self.shown
        said = ", ".join(part for part in (error.context, error.problem) if part)
        return ConfigError(f"is not valid YAML: {said}", where=where)

    def _build(self, node: Node, path: KeyPath) -> Any:
        from yaml.nodes import MappingNode, SequenceNode

        self._count += 1
        if self._count > MAX_NODES or len(path) > MAX_DEPTH:
            raise self.error_at(node, "holds too much or is nested too deeply", "Are its aliases meant?")
        if path:
            self.lines.setdefault(path, self.line(node.start_mark.index))
        if isinstance(node, MappingNode) and node.tag == _TAG + "map":
            return self._build_mapping(node, path)
        if isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
            return [self._build(item, (*path, str(place))) for place, item in enumerate(node.value)]
        return self._build_scalar(node)

    def _build_mapping(self, node: Node, path: KeyPath) -> dict[str, Any]:
        from yaml.nodes import ScalarNode

        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                raise self.error_at(key_node, "a key is text, not a list or a mapping")
            if key_node.tag == _TAG + "merge":
                raise self.error_at(key_node, "merge keys (<<) are not taken here", "Write the keys out.")
            key: str = key_node.value
            here = (*path, key)
            line = self.line(key_node.start_mark.index)
            if key in values:
                first = self.lines[here]
                raise ConfigError(
                    f"{dotted(here)} stands here a second time, first on line {first}",
                    "Keep one of the two.",
                    f"{self.shown}:{line}",
                )
            self.lines[here] = line
            values[key] = self._build(value_node, here)
        return values

    def _build_scalar(self, node: Node) -> Any:
        from yaml.constructor import SafeConstructor

        if node.tag in _AS_WRITTEN:
            return node.value
        if node.tag not in _BUILT:
            raise self.error_at(node, "YAML tags are not taken here", "Write the plain value.")
        if len(node.value) > MAX_NUMBER:
            raise self.error_at(node, "a number is too long")
        try:
            return SafeConstructor().construct_object(node)
        except (ValueError, KeyError) as error:  # `!!int x`
            raise self.error_at(node, "is not the value that its YAML tag says") from error
