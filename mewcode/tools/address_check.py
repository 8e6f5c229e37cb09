"""Where a web address leads: its parts in one canonical form, and whether an IP address is a public one.

A page that the model asks for must not reach into the user's own network (a router, a database, a cloud's
metadata service), however the address is spelt.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_DEFAULT_PORTS = {"http": 80, "https": 443}
# A name after IDNA: letters, digits, hyphens; underscores occur in the wild. 253 is the limit of DNS.
_NAME = r"(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*"
_MOST_NAME = 253
_MOST_URL = 8_192
# Browsers drop or fold these, parsers disagree on them; a plain address has none.
_UNFIT = r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ud800-\udfff]"


class WebAddress(msgspec.Struct, frozen=True):
    """An http or https URL. ``host`` is lower case ASCII: a name, or an IP address in its usual form (IPv6
    without brackets). ``target`` is path and query; the fragment is left out."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def netloc(self) -> str:
        """Host, with the port where it is not the scheme's own; IPv6 in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.target}"

    @property
    def ip(self) -> IPv4Address | IPv6Address | None:
        """The host as an IP address, None where it is a name."""
        import ipaddress

        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


def parse_address(url: str) -> WebAddress:
    """The parts of a URL; raises ValueError, with words for the model, where it is not one we fetch."""
    from urllib.parse import urlsplit

    url = url.strip()
    if len(url) > _MOST_URL:
        raise ValueError(f"it is longer than {_MOST_URL:,} characters")
    if re.search(_UNFIT, url):
        raise ValueError("it holds blanks, backslashes or control characters")
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        raise ValueError("only http:// and https:// are fetched")
    if "@" in parts.netloc:
        raise ValueError("it holds a user name or password, which would end up in the conversation")
    if not parts.hostname:
        raise ValueError("it names no host")
    port = parts.port  # raises ValueError where it is no number up to 65535
    if port == 0 or parts.netloc.endswith(":"):
        raise ValueError("its port is no port")
    host = _canonical_host(parts.hostname, bracketed="[" in parts.netloc)
    target = _ascii_target(parts.path or "/") + (f"?{_ascii_target(parts.query)}" if parts.query else "")
    return WebAddress(scheme, host, port or _DEFAULT_PORTS[scheme], target)


def _canonical_host(host: str, *, bracketed: bool) -> str:
    import ipaddress

    if bracketed:
        if "%" in host:
            raise ValueError("an address with a zone is local")
        return str(ipaddress.IPv6Address(host))
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True, transitional=False).decode("ascii")
        except UnicodeError as error:
            raise ValueError(f"its host is no valid name ({error})") from error
    host = host.lower().removesuffix(".")
    if len(host) > _MOST_NAME or not re.fullmatch(_NAME, host):
        raise ValueError("its host is no valid name")
    if host.rpartition(".")[2][:1].isdigit():
        # What ends in a number is an IPv4 address or nothing (WHATWG URL): 127.1, 0x7f000001, 2130706433.
        import socket

        try:
            return str(ipaddress.IPv4Address(socket.inet_aton(host)))
        except OSError as error:
            raise ValueError("its host is no valid name or IP address") from error
    return host


def _ascii_target(text: str) -> str:
    from urllib.parse import quote

    # What is escaped stays so; the rest is escaped as a browser does.
    return quote(text, safe="%/:?@!$&'()*+,;=~[]|^")


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address belongs to the public internet, and so does any IPv4 address within it (mapped,
    compatible, 6to4, Teredo, NAT64, ISATAP)."""
    if address.version == 6:
        inner = _embedded(address)
        if inner:
            # A translated address leads to the inner one; Teredo and 6to4 reveal a relay too.
            return all(is_public(one) for one in inner)
        if address.is_site_local:
            return False
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not address.is_unspecified
        and not _elsewhere_private(address)
    )


def _elsewhere_private(address: IPv4Address | IPv6Address) -> bool:
    """Ranges that older versions of `ipaddress` take for public, from the IANA special-purpose registries;
    and the address at which Azure gives each machine its certificates and settings."""
    import ipaddress

    if address.version == 4:
        ranges = "0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.88.99.0/24 198.18.0.0/15 168.63.129.16/32"
    else:
        ranges = "64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 3fff::/20 5f00::/16"
    return any(address in ipaddress.ip_network(one) for one in ranges.split())


def _embedded(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address carries."""
    import ipaddress

    value = int(address)
    low = ipaddress.IPv4Address(value & 0xFFFF_FFFF)
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address.sixtofour]
    if address.teredo is not None:
        return list(address.teredo)
    if value >> 32 in (0x64_FF9B << 64, 0xFFFF << 16):  # NAT64 (RFC 6052), SIIT (RFC 2765)
        return [low]
    if value >> 32 == 0 and value > 1:  # IPv4-compatible
        return [low]
    if (value >> 32) & 0xFFFF_FFFF in (0x5EFE, 0x0200_5EFE):  # ISATAP (RFC 5214)
        return [low]
    return []
