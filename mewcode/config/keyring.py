"""The system's keyring, by the program that each system has for it.

macOS brings ``security``; Linux desktops have ``secret-tool`` (libsecret), in front of GNOME Keyring or
KWallet. A library would cost a dependency, and on Linux a D-Bus client, for the same. A key never stands in a
program's arguments, which other users can see.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Protocol

SERVICE = "mewcode"
_SECURITY = "/usr/bin/security"
# Seconds. The system may ask the user to unlock the keyring, or whether we may have the key.
_LIMIT = 60.0


class Keyring(Protocol):
    """Neither method raises: a keyring that cannot be used keeps and finds nothing."""

    title: str

    def keep(self, account: str, key: str) -> bool:
        """Keeps a key, and says whether it can be read back."""
        ...

    def find(self, account: str) -> str | None: ...


def find_keyring(environ: Mapping[str, str], platform: str = sys.platform) -> Keyring | None:
    """The keyring of this user, None where there is none: on a server, say. Starts no program."""
    home = environ.get("HOME", "")
    if platform == "darwin":
        folder = os.path.join(home, "Library/Keychains")
        return Keychain(environ) if home and os.path.isdir(folder) and os.path.exists(_SECURITY) else None
    if not environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return None
    for folder in environ.get("PATH", "").split(os.pathsep):
        program = os.path.join(folder, "secret-tool")
        if os.path.isabs(program) and os.access(program, os.X_OK):
            return SecretTool(program, environ)
    return None


class Keychain:
    title = "the macOS keychain"

    def __init__(self, environ: Mapping[str, str], program: str = _SECURITY) -> None:
        self._program = program
        self._environ = environ

    def keep(self, account: str, key: str) -> bool:
        if not account.isprintable() or '"' in account or "\\" in account:
            return False
        # In hexadecimal there is nothing to quote; with -i the command is read from standard input.
        command = f'add-generic-password -U -s {SERVICE} -a "{account}" -X {key.encode().hex()}\n'
        _run([self._program, "-i"], self._environ, command)
        return self.find(account) == key

    def find(self, account: str) -> str | None:
        command = [self._program, "find-generic-password", "-s", SERVICE, "-a", account, "-w"]
        return _run(command, self._environ)


class SecretTool:
    title = "the desktop's keyring"

    def __init__(self, program: str, environ: Mapping[str, str]) -> None:
        self._program = program
        self._environ = environ

    def keep(self, account: str, key: str) -> bool:
        label = f"--label=MewCode: {account}"
        _run([self._program, "store", label, "service", SERVICE, "account", account], self._environ, key)
        return self.find(account) == key

    def find(self, account: str) -> str | None:
        return _run([self._program, "lookup", "service", SERVICE, "account", account], self._environ)


def _run(command: list[str], environ: Mapping[str, str], given: str = "") -> str | None:
    """What the program prints, without its line's end; None where it fails."""
    import subprocess

    try:
        done = subprocess.run(
            command,
            input=given.encode(),
            capture_output=True,
            timeout=_LIMIT,
            env=dict(environ),
            cwd="/",
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout.decode("utf-8", "backslashreplace").rstrip("\n")
    return text if done.returncode == 0 and text else None
