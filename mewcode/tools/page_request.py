"""One GET request to the public web, and nothing else: no private address, no endless body, no redirect
followed unseen.

The name is resolved here and every address it has is checked; then the connection goes to a checked address,
so that a second look-up cannot lead elsewhere (DNS rebinding). The certificate is checked for the name.
Behind a proxy the proxy resolves: there a name is refused where it is private as seen from here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from mewcode._version import __version__
from mewcode.core.errors import ConfigError, ToolError
from mewcode.tools.address_check import WebAddress

if TYPE_CHECKING:
    import ssl
    from ipaddress import IPv4Address, IPv6Address

    import httpx

AllowAddress = Callable[["IPv4Address | IPv6Address"], bool]
Resolve = Callable[[str, int], Awaitable[list[str]]]

# Bytes of a body, unpacked: more than any page of text, less than what would hurt.
BODY_LIMIT = 5_000_000
# Seconds for one address to answer: a dead IPv6 route must leave time for IPv4.
_CONNECT_LIMIT = 8.0
_MOST_ADDRESSES = 6
_UNPACK_STEP = 65_536


class Response(msgspec.Struct, frozen=True):
    """``body`` is unpacked and at most `BODY_LIMIT` long; ``cut`` says that more would have come.
    ``location`` is set for a redirect."""

    status: int
    reason: str
    content_type: str
    location: str
    body: bytes
    cut: bool


async def resolve_name(host: str, port: int) -> list[str]:
    """The IP addresses of a name; raises OSError where it has none."""
    import socket

    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def get(
    address: WebAddress, environ: Mapping[str, str], allow: AllowAddress, resolve: Resolve
) -> Response:
    """Sends one GET; raises `ToolError` with words for the model where there is no answer."""
    import httpx

    proxy = proxy_of(address, environ)
    targets = await _checked_targets(address, allow, resolve, behind_proxy=bool(proxy))
    context = _tls(environ) if address.scheme == "https" else False
    # The bare transport: a client would judge redirects, keep cookies and read the environment on its own.
    async with httpx.AsyncHTTPTransport(verify=context, proxy=proxy or None, trust_env=False) as transport:
        for number, target in enumerate(targets, 1):
            try:
                return await _send(transport, address, target)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if number == len(targets):
                    raise ToolError(f"{address.netloc} cannot be reached: {_reason(error)}") from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise ToolError(f"{address.netloc} gave no proper answer: {_reason(error)}") from error
    raise ToolError(f"{address.netloc} has no address.")


async def _checked_targets(
    address: WebAddress, allow: AllowAddress, resolve: Resolve, *, behind_proxy: bool
) -> list[str]:
    """The hosts to connect to: checked IP addresses, or the name itself for a proxy to resolve."""
    import ipaddress

    if address.ip is not None:
        found = [address.host]
    else:
        try:
            found = await resolve(address.host, address.port)
        except (OSError, UnicodeError) as error:
            if behind_proxy:
                return [address.host]
            raise ToolError(f"The name {address.host} cannot be resolved: {_reason(error)}") from error
    for one in found:
        ip = ipaddress.ip_address(one.partition("%")[0])
        if "%" in one or not allow(ip):
            whose = "is" if address.ip is not None else f"leads to {one}, which is"
            raise ToolError(
                f"{address.host} {whose} not an address of the public internet, and web_fetch reaches no "
                "other. For a server of the user's own, use curl with bash."
            )
    return [address.host] if behind_proxy else found[:_MOST_ADDRESSES]


async def _send(transport: httpx.AsyncBaseTransport, address: WebAddress, target: str) -> Response:
    import httpx

    host = f"[{target}]" if ":" in target else target
    url = httpx.URL(f"{address.scheme}://{host}:{address.port}{address.target}")
    headers = {
        "Host": address.netloc,
        "User-Agent": f"MewCode/{__version__}",
        "Accept": "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/*;q=0.8, */*;q=0.5",
        "Accept-Encoding": "gzip, deflate",
        "Accept-Language": "en, *;q=0.5",
    }
    extensions: dict[str, object] = {"timeout": httpx.Timeout(None, connect=_CONNECT_LIMIT).as_dict()}
    if address.ip is None:
        extensions["sni_hostname"] = address.host
    request = httpx.Request("GET", url, headers=headers, extensions=extensions)
    response = await transport.handle_async_request(request)
    try:
        location = response.headers.get("location", "") if response.is_redirect else ""
        kind = response.headers.get("content-type", "")
        body, cut = b"", False
        if not location:
            packing = response.headers.get("content-encoding", "").strip().lower()
            body, cut = await _read(response.aiter_raw(), packing)
        return Response(response.status_code, response.reason_phrase, kind, location, body, cut)
    finally:
        await response.aclose()


async def _read(pieces: AsyncIterator[bytes], packing: str) -> tuple[bytes, bool]:
    """The body up to the limit, unpacked step by step, so that a bomb goes off nowhere."""
    unpack = _unpacker(packing)
    body = bytearray()
    async for piece in pieces:
        for part in unpack(piece):
            body += part
            if len(body) > BODY_LIMIT:
                return bytes(body[:BODY_LIMIT]), True
    return bytes(body), False


def _unpacker(packing: str) -> Callable[[bytes], list[bytes]] | _Inflater:
    if packing in ("", "identity"):
        return lambda piece: [piece]
    if packing in ("gzip", "x-gzip", "deflate"):
        return _Inflater(packing)
    raise ToolError(f"The server packed the page in a way that was not asked for ({packing[:40]}).")


class _Inflater:
    """gzip or deflate, `_UNPACK_STEP` at a time, and never much more than `BODY_LIMIT` for a piece."""

    def __init__(self, packing: str) -> None:
        import zlib

        self._raw = zlib.MAX_WBITS if packing == "deflate" else 16 + zlib.MAX_WBITS
        self._may_be_raw = packing == "deflate"
        self._zlib = zlib.decompressobj(self._raw)

    def __call__(self, piece: bytes) -> list[bytes]:
        import zlib

        parts: list[bytes] = []
        size = 0
        while piece and not self._zlib.eof and size <= BODY_LIMIT:
            try:
                part = self._zlib.decompress(piece, _UNPACK_STEP)
            except zlib.error as error:
                if not self._may_be_raw:
                    raise ToolError("The page is packed wrongly and cannot be unpacked.") from error
                self._may_be_raw = False
                self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers leave the zlib header out
                continue
            self._may_be_raw = False
            parts.append(part)
            size += len(part)
            piece = self._zlib.unconsumed_tail
        return parts


def proxy_of(address: WebAddress, environ: Mapping[str, str]) -> str:
    """The proxy that the environment names for an address; empty for a direct connection."""
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed has it not

    def named(name: str) -> str:
        # In a CGI program HTTP_PROXY is a header of the visitor's; the rest of the world uses lower case too.
        upper = "" if name == "http_proxy" and "REQUEST_METHOD" in environ else environ.get(name.upper(), "")
        return environ.get(name) or upper

    proxy = named(f"{address.scheme}_proxy") or named("all_proxy")
    if not proxy:
        return ""
    exceptions = named("no_proxy")
    if exceptions and proxy_bypass_environment(f"{address.host}:{address.port}", {"no": exceptions}):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _tls(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Trusts what the system trusts, a company's own authority included."""
    from mewcode.infra.trust_store import trust_context

    try:
        return trust_context(environ)
    except ConfigError as error:
        raise ToolError(f"No page can be fetched: {error.message}. The user must correct that.") from error


def _reason(error: BaseException) -> str:
    words = str(error).strip() or type(error).__name__
    return words if words.endswith(".") else f"{words}."
