"""Which folders the user trusts, and which config files in them MewCode made itself.

Kept in ``trust.json`` of the user folder, never in the folder that is judged. Trusting a folder says nothing
of those above or below it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from mewcode.config.layers import CONFIG_FILE, LOCAL_FILE
from mewcode.core.errors import ConfigError
from mewcode.infra.paths import Places

TRUST_FILE = "trust.json"
HOME_PROJECT = "home-project"  # as `infra.paths.find_places` names it


class TrustStore:
    """The user's word on folders. Reads the file at each question: another process may have written.

    ``notices`` collects what the user should know (a damaged file set aside). Reading never raises and
    doubts count as no; writing raises ConfigError where it cannot be done.
    """

    def __init__(self, user_dir: Path) -> None:
        self.path = user_dir / TRUST_FILE
        self.notices: list[str] = []

    def is_trusted(self, root: Path) -> bool:
        """Whether exactly this folder (resolved) was trusted."""
        return str(root.resolve()) in self._read()["trusted"]

    def trust(self, root: Path) -> None:
        """Remembers that the user trusts this folder."""
        name = str(root.resolve())

        def add(state: dict[str, Any]) -> None:
            if name not in state["trusted"]:
                state["trusted"].append(name)

        self._update(add)

    def record_made(self, root: Path, path: Path, sha256: str) -> None:
        """Remembers that MewCode wrote the file ``path`` of this folder with content of that hash."""

        def add(state: dict[str, Any]) -> None:
            state["made"].setdefault(str(root.resolve()), {})[_file_name(path)] = sha256

        self._update(add)

    def was_made(self, root: Path, path: Path, content: bytes) -> bool:
        """Whether ``content`` is exactly what MewCode last wrote to ``path`` in this folder."""
        known = self._read()["made"].get(str(root.resolve()), {}).get(_file_name(path))
        return known is not None and known == content_hash(content)

    def seal(self, root: Path, session_id: str) -> str:
        """The mark of a session that this user's MewCode makes in this folder: nobody else can make it, for
        it takes a key that is kept here. Empty where the key cannot be kept."""
        name = str(root.resolve())
        if name not in self._read()["keys"]:
            fresh = os.urandom(16).hex()
            try:
                self._update(lambda state: state["keys"].setdefault(name, fresh))
            except ConfigError as error:
                self._notice(f"sessions of this folder will need trust to be continued: {error.message}")
                return ""
        return _mark(self._read()["keys"].get(name, ""), session_id)

    def is_sealed(self, root: Path, session_id: str, seal: str) -> bool:
        """Whether `seal` made this mark for a session of that id in this folder."""
        key = self._read()["keys"].get(str(root.resolve()), "")
        return bool(key) and bool(seal) and _mark(key, session_id) == seal

    def _read(self) -> dict[str, Any]:
        try:
            state = _parse(self.path)
        except OSError as error:
            self._notice(f"{self.path} cannot be read ({error.strerror}): no folder counts as trusted.")
            return _empty()
        if state is None:
            self._set_aside()
            return _empty()
        return state

    def _set_aside(self) -> None:
        """Moves a damaged file out of the way, unless another process has by now put a good one there."""
        from mewcode.config.file_lock import locked

        try:
            with locked(self._lock_path()):
                if _parse(self.path) is None:
                    self._move_damaged()
        except (OSError, ConfigError) as error:
            self._notice(f"{self.path} is damaged and cannot be set aside ({error}): nothing is trusted.")

    def _move_damaged(self) -> None:
        kept = self.path.with_name(TRUST_FILE + ".damaged")
        os.replace(self.path, kept)
        self._notice(f"{self.path} was damaged: no folder counts as trusted. It is kept as {kept.name}.")

    def _notice(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def _lock_path(self) -> Path:
        return self.path.with_name(TRUST_FILE + ".lock")

    def _update(self, change: Callable[[dict[str, Any]], object]) -> None:
        # msgspec refuses the lone surrogates by which Python spells file names of other encodings.
        import json

        from mewcode.config.file_lock import locked
        from mewcode.infra.atomic import write_atomic
        from mewcode.infra.paths import private_dir

        try:
            private_dir(self.path.parent)
            with locked(self._lock_path()):
                state = _parse(self.path)
                if state is None:
                    self._move_damaged()
                    state = _empty()
                change(state)
                write_atomic(self.path, json.dumps(state, indent=1).encode() + b"\n")
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", where=str(self.path)) from error


def content_hash(content: bytes) -> str:
    """SHA-256 in hexadecimal, as `TrustStore.record_made` takes it."""
    import hashlib

    return hashlib.sha256(content).hexdigest()


def is_own_folder(places: Places) -> bool:
    """Whether the project folder is the one in the user folder (a start in HOME): no repository brings it."""
    return places.project == places.user / HOME_PROJECT


def needs_trust(places: Places) -> list[str]:
    """What the config of this folder brings that needs trust, as phrases with ``file:line``.

    Empty where nothing does, or where the folder is trusted already: then nobody need be asked. Raises
    ConfigError where a config file is wrong.
    """
    files = (places.project / CONFIG_FILE, places.project / LOCAL_FILE)
    if is_own_folder(places) or not any(map(os.path.lexists, files)):
        return []
    store = TrustStore(places.user)
    if store.is_trusted(places.root):
        return []
    from mewcode.config import layers, restrict
    from mewcode.config.key_path import dotted

    phrases: list[str] = []
    values: dict[str, Any] = {}
    for layer in layers.file_layers(places, None):
        if layer.path and layer.name != "user":
            needing = restrict.needing_trust(layer, values)
            if store.was_made(places.root, layer.path, layer.content):
                needing = {}
            shown = layer.path.relative_to(places.root)
            for key, reason in needing.items():
                line = layer.where(key).rpartition(":")[2]
                phrases.append(f"{shown}:{line}: {dotted(key)} ({reason})")
            layer = restrict.without(layer, [*needing, *restrict.never_allowed(layer)])
        values = layers.merge_layer(values, {}, layer)
    return phrases


def _mark(key: str, session_id: str) -> str:
    import hashlib

    return (
        hashlib.blake2b(os.fsencode(session_id), key=key.encode(), digest_size=16).hexdigest() if key else ""
    )


def _file_name(path: Path) -> str:
    # The last part is not followed: a link put in the file's place is another file, told by its content.
    return str(path.parent.resolve() / path.name)


def _empty() -> dict[str, Any]:
    return {"trusted": [], "made": {}, "keys": {}}


def _parse(path: Path) -> dict[str, Any] | None:
    """The file's state, empty where there is no file, None where it is damaged. Raises OSError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return _empty()
    try:
        state = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        import json

        try:
            state = json.loads(data)
        except (ValueError, RecursionError):
            return None
    if not isinstance(state, dict):
        return None
    state = {**_empty(), **state}
    trusted, made, keys = state["trusted"], state["made"], state["keys"]
    sound = (
        isinstance(trusted, list)
        and all(isinstance(name, str) for name in trusted)
        and isinstance(made, dict)
        and all(isinstance(files, dict) for files in made.values())
        and isinstance(keys, dict)
        and all(isinstance(key, str) and len(key) <= 64 for key in keys.values())
    )
    return state if sound else None
