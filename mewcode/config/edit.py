"""Adds to a list of a YAML config file, or takes from it, and leaves every other byte as the user wrote it.

An item is inserted as text at a place found by the tree's marks; the new text is read again and must say
exactly what the old one said plus the item. Where it does not, nothing is written. So it is with removing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mewcode.config.layers import LOCAL_FILE
from mewcode.config.yaml_file import YamlText, read_bounded
from mewcode.config.yaml_insert import after, child, into_flow, is_empty, quoted, removal, replace_file, says
from mewcode.core.errors import ConfigError
from mewcode.infra.paths import Places

if TYPE_CHECKING:
    from mewcode.config.trust import TrustStore

RuleKind = Literal["allow", "ask", "deny"]

_BOM = b"\xef\xbb\xbf"
_INDENT = "  "
_WHAT = {"permissions": "the rule", "knowledge": "the path"}


def add_rule(path: Path, kind: RuleKind, rule: str) -> bool:
    """Appends ``rule`` to ``permissions.<kind>`` of the file, made (0600) where there is none.

    False where the rule stands there already. The file is replaced whole (a symlink is followed, its mode
    kept), one process at a time. Raises ConfigError where the file is wrong, cannot be written, or is written
    in a way that only a person can add to: the message gives the line to add.
    """
    from mewcode.config.file_lock import locked

    target = path.resolve()
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(target.with_name(target.name + ".lock")):
            old = read_bounded(target, str(path))
            new = with_rule(old or b"", kind, rule, str(path))
            if new != old:
                replace_file(target, new)
            return new != old
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", where=str(path)) from error


def remember_project_rule(places: Places, trust: TrustStore, rule: str) -> str:
    """Keeps "always allow this in this project" in the project's ``config.local.yaml``.

    Returns an empty string, or why the rule could not be kept (it then holds for the session only). Raises
    nothing that a disk or a file can cause.
    """
    try:
        change_local(places, trust, lambda old, shown: with_rule(old, "allow", rule, shown))
    except ConfigError as error:
        return f"{error.message}. The rule holds for this session. {error.hint}".rstrip()
    return ""


def change_local(places: Places, trust: TrustStore, change: Callable[[bytes, str], bytes]) -> bool:
    """Changes the project's ``config.local.yaml``, made where there is none; whether it changed. ``change``
    is given the bytes and the file's name, and gives the new bytes.

    Raises ConfigError where that cannot be done, also where the folder is not trusted and the file holds what
    MewCode did not write: a change there would vouch for the rest of the file.
    """
    from mewcode.config.file_lock import locked
    from mewcode.config.trust import content_hash, is_own_folder
    from mewcode.infra.paths import project_dir

    path = places.project / LOCAL_FILE
    try:
        folder = project_dir(places).resolve()
        if path.is_symlink() or not (is_own_folder(places) or folder.is_relative_to(places.root.resolve())):
            raise ConfigError(f"{path} is a link to elsewhere")
        with locked(path.with_name(path.name + ".lock")):
            old = read_bounded(path, str(path))
            ours = old is None or trust.was_made(places.root, path, old)
            if not (ours or is_own_folder(places) or trust.is_trusted(places.root)):
                raise ConfigError(f"{path} is not trusted yet", "Look at it, then start with --trust.")
            data = old or b""
            new = change(data, str(path))
            if new != data:
                replace_file(path, new)
                if ours:
                    trust.record_made(places.root, path, content_hash(new))
            return new != data
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror})") from error


def with_rule(data: bytes, kind: RuleKind, rule: str, shown: str) -> bytes:
    """The file's bytes with the rule added; the same bytes where it stands there. Raises ConfigError."""
    return with_item(data, ("permissions", kind), rule, shown)


def with_item(data: bytes, key: tuple[str, str], item: str, shown: str) -> bytes:
    """The file's bytes with ``item`` added to the list of a section; the same bytes where it stands there.
    Raises ConfigError where the file is wrong, or only a person can add to it: the hint gives the line."""
    old = _checked(data, shown)
    section, name = key
    items = _items(old, key)
    if item in items:
        return data
    expected = {**old.values, section: {**(old.values.get(section) or {}), name: [*items, item]}}
    place, inserted = _insertion(old, key, quoted(item))
    text = old.text[:place] + inserted + old.text[place:]
    if not says(text, expected):
        raise ConfigError(
            f"{_WHAT[section]} cannot be added without touching what you wrote",
            f"Add this line to {section}.{name} by hand: - {quoted(item)}",
            shown,
        )
    return (_BOM if data.startswith(_BOM) else b"") + text.encode()


def without_item(data: bytes, key: tuple[str, str], item: str, shown: str) -> bytes:
    """The file's bytes without ``item`` in the list of a section, and without the comment on its line; the
    same bytes where it does not stand there. Raises ConfigError, see `with_item`."""
    old = _checked(data, shown)
    section, name = key
    items = _items(old, key)
    if item not in items:
        return data
    kept = [other for other in items if other != item]
    text = _without(old.text, key, [place for place, other in enumerate(items) if other == item])
    # A block list without items is an empty key.
    choices = (kept, None) if not kept else (kept,)
    if not any(says(text, {**old.values, section: {**old.values[section], name: left}}) for left in choices):
        raise ConfigError(
            f"{_WHAT[section]} cannot be removed without touching what else you wrote",
            f"Remove it from {section}.{name} by hand: {quoted(item)}",
            shown,
        )
    return (_BOM if data.startswith(_BOM) else b"") + text.encode()


def _without(text: str, key: tuple[str, str], places: list[int]) -> str:
    """The text without these items, as far as one can go after the other."""
    try:
        for place in reversed(places):
            start, stop = removal(YamlText(text.encode(), "").root, key, place, text)
            text = text[:start] + text[stop:]
    except ConfigError:  # what is left is no YAML: another place means the item that went
        return text
    return text


def _checked(data: bytes, shown: str) -> YamlText:
    from mewcode.config.check import check_values

    found = YamlText(data, shown)
    check_values(found.values, found.where)
    return found


def _items(text: YamlText, key: tuple[str, str]) -> list[str]:
    section: dict[str, list[str] | None] = text.values.get(key[0]) or {}
    return section.get(key[1]) or []


def _insertion(old: YamlText, keys: tuple[str, ...], rule: str) -> tuple[int, str]:
    """Where in the text what is inserted: the rule in the list that ``keys`` lead to, made where missing."""
    newline = "\r\n" if "\r\n" in old.text else "\n"
    node: Any = old.root
    if node is None or is_empty(node):
        start = newline if old.text and not old.text.endswith(("\n", "\r")) else ""
        return len(old.text), start + newline.join(_block(keys, rule)) + newline
    missing = keys
    while missing:
        pair = child(node, missing[0])
        if pair is None:
            break
        key, node = pair
        missing = missing[1:]
        if is_empty(node):
            column = key.start_mark.column + len(_INDENT)
            return after(old.text, key, _block(missing, rule), column, newline)
    if not isinstance(node.value, list):  # `permissions: null`, in so many words
        return 0, ""
    if node.flow_style:
        return into_flow(node, _flow(missing, rule))
    return after(old.text, node, _block(missing, rule), node.start_mark.column, newline)


def _block(keys: tuple[str, ...], rule: str) -> list[str]:
    """The lines of a block: keys one below the other, then the rule as a list item."""
    if not keys:
        return [f"- {rule}"]
    return [f"{keys[0]}:", *(_INDENT + line for line in _block(keys[1:], rule))]


def _flow(keys: tuple[str, ...], rule: str) -> str:
    """The same between brackets: ``permissions: {allow: [rule]}``."""
    if not keys:
        return rule
    inner = _flow(keys[1:], rule)
    return f"{keys[0]}: " + (f"{{{inner}}}" if keys[1:] else f"[{inner}]")
