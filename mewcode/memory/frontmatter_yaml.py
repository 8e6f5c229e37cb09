"""The head of a note as YAML: all scalars as written, no aliases (a small text could grow without bound)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from mewcode.core.codec import clean_value

if TYPE_CHECKING:
    from mewcode.memory.frontmatter import Value


class _Reader(yaml.BaseLoader):
    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_mark()
            raise yaml.composer.ComposerError(None, None, "aliases are not read", mark)
        return super().compose_node(parent, index)


def read_yaml(text: str) -> dict[str, Value] | str:
    """The mapping that the text is, its keys as text; otherwise what is wrong, with the line."""
    reader = _Reader(text) if _is_readable(text) else None
    if reader is None:
        return "its head holds characters that YAML does not allow"
    try:
        value = reader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 2}: " if mark else ""
        return f"{where}{error.problem or error.context or 'no valid YAML'}"
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return f"its head is no valid YAML ({type(error).__name__})"
    finally:
        reader.dispose()
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        return "its head is no list of keys"
    cleaned: dict[str, Value] = clean_value(value)
    return cleaned


def dump_yaml(values: dict[str, Value]) -> list[str]:
    """The lines of such a mapping."""
    text: str = yaml.safe_dump(values, allow_unicode=True, sort_keys=False, default_flow_style=False)
    return text.splitlines()


def _is_readable(text: str) -> bool:
    return yaml.reader.Reader.NON_PRINTABLE.search(text) is None
