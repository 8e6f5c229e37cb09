"""YAML read with the line of every path."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode.config.yaml_file import YamlText
from mewcode.core.errors import ConfigError

# Text of all kinds, with what YAML takes for a line break and an editor does not.
WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\u2028\x85'\"#:"), max_size=8
)
SCALARS = st.one_of(WORDS, st.integers(-(10**9), 10**9), st.booleans(), st.floats(allow_nan=False), st.none())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(WORDS, VALUES, max_size=5)
NEWLINES = st.sampled_from(["\n", "\r\n"])
FILLERS = st.lists(st.sampled_from(["", "# note", "  # 注释 : x", "# a\u2028# b"]), max_size=2)


class Writer:
    """Writes a mapping as block YAML and notes on which line each path lands."""

    def __init__(self, newline: str, filler: list[str]) -> None:
        self.newline, self.filler = newline, filler
        self.rows: list[str] = []
        self.lines: dict[tuple[str, ...], int] = {}

    def text(self) -> str:
        return self.newline.join(self.rows) + self.newline

    def mapping(self, value: dict[str, Any], path: tuple[str, ...], indent: str) -> None:
        for key, item in value.items():
            self.rows += self.filler
            self.entry(f"{indent}{quoted(key)}:", item, (*path, key), indent)

    def entry(self, start: str, item: Any, path: tuple[str, ...], indent: str) -> None:
        self.lines[path] = len(self.rows) + 1
        if isinstance(item, dict) and item:
            self.rows.append(start + " # below")
            self.mapping(item, path, indent + "  ")
        elif isinstance(item, list) and item and not any(isinstance(part, dict | list) for part in item):
            self.rows.append(start)
            for place, part in enumerate(item):
                self.entry(f"{indent}-", part, (*path, str(place)), indent)
        else:
            self.rows.append(f"{start} {flow(item)}")
            self.note_flow(item, path)

    def note_flow(self, item: Any, path: tuple[str, ...]) -> None:
        pairs = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        for key, part in pairs:
            self.lines[(*path, str(key))] = len(self.rows)
            self.note_flow(part, (*path, str(key)))


def quoted(text: str) -> str:
    return '"' + "".join(c if c.isalnum() else f"\\U{ord(c):08x}" for c in text) + '"'


def flow(item: Any) -> str:
    if isinstance(item, str):
        return quoted(item)
    if isinstance(item, dict):
        return "{" + ", ".join(f"{quoted(key)}: {flow(part)}" for key, part in item.items()) + "}"
    if isinstance(item, list):
        return "[" + ", ".join(map(flow, item)) + "]"
    return str(yaml.safe_dump(item)).split("\n", 1)[0]


@settings(max_examples=200, deadline=None)
@given(MAPPINGS, NEWLINES, FILLERS, st.booleans())
def test_values_and_lines_are_those_written(mapping, newline, filler, bom):
    writer = Writer(newline, filler)
    writer.mapping(mapping, (), "")
    data = (b"\xef\xbb\xbf" if bom else b"") + writer.text().encode()
    read = YamlText(data, "f")
    assert read.values == mapping
    assert read.lines == writer.lines
    for path, line in writer.lines.items():
        assert read.where(path) == f"f:{line}"
        assert read.where((*path, "nothing there")) == f"f:{line}"
    assert read.where(()) == "f"


@settings(max_examples=100, deadline=None)
@given(MAPPINGS, st.sampled_from([True, False, None]))
def test_what_yaml_dumps_is_read_back(mapping, style):
    dumped = yaml.safe_dump(mapping, default_flow_style=style).encode()
    assert YamlText(dumped, "f").values == mapping


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60) | st.text("ab:-[]{},&*!|>'\"#%@ \n\r\t?~<é中", max_size=60).map(str.encode))
def test_whatever_the_bytes_there_is_a_mapping_or_an_error_with_a_line(data):
    try:
        read = YamlText(data, "f")
    except ConfigError as error:
        name, _, line = error.where.partition(":")
        assert name == "f"
        assert not line or 1 <= int(line) <= data.count(b"\n") + data.count(b"\r") + 1
        return
    assert isinstance(read.values, dict)


def test_the_reader_without_libyaml_says_the_same(monkeypatch):
    data = "model: ü\npermissions:\n  allow: [a,\n    b]\nshell: {timeout: 1.5}\n".encode()
    fast = YamlText(data, "f")
    monkeypatch.delattr(yaml, "CSafeLoader")
    slow = YamlText(data, "f")
    assert (slow.values, slow.lines) == (fast.values, fast.lines)
    for bad in (b"a: [1\n", b"\n" + b"[" * 5000, b"\na: \x01\n"):
        with pytest.raises(ConfigError):
            YamlText(bad, "f")
