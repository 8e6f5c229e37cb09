"""Host patterns: ``example.com``, ``*.example.com``, ``example.com:8080``, ``*``."""

from __future__ import annotations

import re

import msgspec

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
_HOST = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*|\*|\[[0-9a-f:.]+\]")
_PORT = re.compile(r":(\d{1,5})$")


class HostPattern(msgspec.Struct, frozen=True):
    """``host`` in lower case and IDNA; ``*.`` in front means every host below, not the host itself.

    ``port`` is empty where the pattern names none: then an allow rule means the default port alone, a deny
    or ask rule every port.
    """

    host: str
    port: str = ""

    def covers(self, host: str) -> bool:
        name, port = split_host(host)
        return port == self.port and self._named(name)

    def hits(self, host: str) -> bool:
        name, port = split_host(host)
        return self.port in ("", port) and self._named(name)

    def _named(self, name: str) -> bool:
        if self.host == "*":
            return True
        if self.host.startswith("*."):
            return name.endswith(self.host[1:]) and len(name) > len(self.host) - 1
        return name == self.host


def parse_host_pattern(text: str) -> HostPattern:
    """Raises ValueError with what is wrong."""
    text = text.strip().removeprefix("domain:").strip()
    if "/" in text:
        raise ValueError("give the host alone, without 'https://' and path")
    name, port = split_host(text)
    if not name.isascii():
        # As the web tool spells them (IDNA 2008, UTS 46): a rule must mean the host that is fetched.
        import idna

        wildcard = "*." if name.startswith("*.") else ""
        try:
            name = wildcard + idna.encode(name[len(wildcard) :], uts46=True).decode("ascii")
        except UnicodeError as error:
            raise ValueError("this is no host name") from error
    if not _HOST.fullmatch(name):
        raise ValueError("this is no host name ('example.com' or '*.example.com')")
    return HostPattern(name, port)


def split_host(text: str) -> tuple[str, str]:
    """Host (lower case, without a final dot) and port (empty where none is named)."""
    found = _PORT.search(text)
    port = found[1] if found and (text.startswith("[") or text.count(":") == 1) else ""
    name = text[: -len(port) - 1] if port else text
    return name.lower().removesuffix("."), port
