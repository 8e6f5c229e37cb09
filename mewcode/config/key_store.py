"""Where the user's API keys are kept: the system's keyring where there is one, else a file of theirs alone.

``~/.mewcode/credentials.json`` (0600) names the services with a kept key, so that a start that has none runs
no program to look for one. It holds the key itself only where the keyring does not. A key is bound to the
address it was given for: a changed base URL does not carry it elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec

from mewcode.core.errors import ConfigError

if TYPE_CHECKING:
    from mewcode.config.keyring import Keyring

FILE = "credentials.json"
_MAX_BYTES = 1_000_000

Kept = Literal["keyring", "file"]


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """``origin``: scheme, host and port that the key is for. ``key`` is empty where the keyring has it."""

    origin: str
    key: str = ""


class _File(msgspec.Struct, frozen=True):
    version: int = 1
    keys: dict[str, _Entry] = {}


class KeyStore:
    """The kept keys of one user; ``keyring`` is asked only for keys that it was given."""

    def __init__(self, user_dir: Path, keyring: Keyring | None) -> None:
        self.path = user_dir / FILE
        self._keyring = keyring

    def find(self, name: str, base_url: str) -> str | None:
        """The key kept for the service ``name``, None where there is none for this address. Raises
        ConfigError where the file is damaged or the keyring does not give out what it holds."""
        entry = self._read().keys.get(name)
        if entry is None or entry.origin != origin(base_url):
            return None
        if entry.key:
            return entry.key
        key = self._keyring.find(_account(name, entry.origin)) if self._keyring else None
        if not key:
            raise ConfigError(
                f"the key of {name!r} is in the system's keyring, which does not give it out",
                "Unlock the keyring, or give the key anew with `mewcode config`.",
                str(self.path),
            )
        return key

    def where(self, name: str, base_url: str) -> Kept | None:
        """Where the key for this address is kept, without fetching it."""
        entry = self._read().keys.get(name)
        if entry is None or entry.origin != origin(base_url):
            return None
        return "file" if entry.key else "keyring"

    def any_place(self, name: str) -> Kept | None:
        """Where a key of the service is kept, for whatever address."""
        entry = self._read().keys.get(name)
        return None if entry is None else "file" if entry.key else "keyring"

    def keep(self, name: str, base_url: str, key: str) -> Kept:
        """Keeps a key in place of an older one and says where. Raises ConfigError where neither place takes
        it."""
        check_key(key)
        here = origin(base_url)
        in_keyring = self._keyring is not None and self._keyring.keep(_account(name, here), key)
        self._write(name, _Entry(here) if in_keyring else _Entry(here, key))
        return "keyring" if in_keyring else "file"

    def _read(self) -> _File:
        from mewcode.config.yaml_file import read_bounded

        if not self.path.exists():
            return _File()
        data = read_bounded(self.path, str(self.path))
        try:
            return msgspec.json.decode(data or b"{}", type=_File)
        except msgspec.DecodeError:
            # Its words would quote what stands there.
            raise ConfigError(
                "is damaged", "Remove the file and give the key anew with `mewcode config`.", str(self.path)
            ) from None

    def _write(self, name: str, entry: _Entry) -> None:
        from mewcode.config.file_lock import locked
        from mewcode.infra.atomic import write_atomic
        from mewcode.infra.paths import private_dir

        try:
            private_dir(self.path.parent)
            with locked(self.path.with_name(FILE + ".lock")):
                file = _File(keys={**self._read().keys, name: entry})
                write_atomic(self.path, msgspec.json.format(msgspec.json.encode(file)) + b"\n")
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", where=str(self.path)) from error


def open_key_store(user_dir: Path, environ: Mapping[str, str]) -> KeyStore:
    """The store of the user whose folder this is, with the keyring of their system."""
    from mewcode.config.keyring import find_keyring

    return KeyStore(user_dir, find_keyring(environ))


def check_key(key: str) -> None:
    """Raises ConfigError for what cannot be a key: an HTTP header has to carry it."""
    if not key or len(key) > 4096 or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("this is no API key", "A key is one line of ASCII letters, digits and signs.")


def origin(base_url: str) -> str:
    """Scheme, host and port of an address, in lower case; empty where it is none."""
    try:
        parts = urlsplit(base_url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ""
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}" if parts.hostname else ""


def _account(name: str, where: str) -> str:
    """Two addresses of one service do not share an entry of the keyring."""
    return f"{name} {where}"
