"""Adds a permission rule to a YAML config file and leaves every other byte as the user wrote it.

The rule is inserted as text at a place found by the tree's marks; the new text is read again and must say
exactly what the old one said plus the rule. Where it does not, nothing is written.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mewcode.config.layers import LOCAL_FILE
from mewcode.config.yaml_file import YamlText, read_bounded
from mewcode.config.yaml_insert import after, child, into_flow, is_empty, quoted, replace_file, says
from mewcode.core.errors import ConfigError
from mewcode.infra.paths import Places

if TYPE_CHECKING:
    from mewcode.config.trust import TrustStore

RuleKind = Literal["allow", "ask", "deny"]

_BOM = b"\xef\xbb\xbf"
_INDENT = "  "


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

    Returns an empty string, or why the rule could not be kept (it then holds for the session only). Refused
    where the folder is not trusted and its local file holds what MewCode did not write: keeping the rule
    there would vouch for the rest of the file. Raises nothing that a disk or a file can cause.
    """
    from mewcode.config.file_lock import locked
    from mewcode.config.trust import content_hash, is_own_folder
    from mewcode.infra.paths import project_dir

    path = places.project / LOCAL_FILE
    try:
        folder = project_dir(places).resolve()
        if path.is_symlink() or not (is_own_folder(places) or folder.is_relative_to(places.root.resolve())):
            return f"{path} is a link to elsewhere: the rule holds for this session."
        with locked(path.with_name(path.name + ".lock")):
            old = read_bounded(path, str(path))
            ours = old is None or trust.was_made(places.root, path, old)
            if not (ours or is_own_folder(places) or trust.is_trusted(places.root)):
                return f"{path} is not trusted yet: the rule holds for this session."
            new = with_rule(old or b"", "allow", rule, str(path))
            if new != old:
                replace_file(path, new)
            if ours:
                trust.record_made(places.root, path, content_hash(new))
    except OSError as error:
        return f"{path} cannot be written ({error.strerror}): the rule holds for this session."
    except ConfigError as error:
        return f"{error.message}. The rule holds for this session. {error.hint}".rstrip()
    return ""


def with_rule(data: bytes, kind: RuleKind, rule: str, shown: str) -> bytes:
    """The file's bytes with the rule added; the same bytes where it stands there. Raises ConfigError."""
    from mewcode.config.check import check_values

    old = YamlText(data, shown)
    check_values(old.values, old.where)
    permissions = old.values.get("permissions") or {}
    rules = permissions.get(kind) or []
    if rule in rules:
        return data
    expected = {**old.values, "permissions": {**permissions, kind: [*rules, rule]}}
    place, inserted = _insertion(old, ("permissions", kind), quoted(rule))
    text = old.text[:place] + inserted + old.text[place:]
    if not says(text, expected):
        raise ConfigError(
            "the rule cannot be added without touching what you wrote",
            f"Add this line to permissions.{kind} by hand: - {quoted(rule)}",
            shown,
        )
    return (_BOM if data.startswith(_BOM) else b"") + text.encode()


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
