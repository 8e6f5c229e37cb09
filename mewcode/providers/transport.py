"""The one HTTP client under both protocols: system trust store, proxies and CA from the environment.

httpx takes longer to import than the rest of the start path together, so it is loaded by `load`, which a
front end may call in a thread while it paints.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from mewcode.core.errors import BadRequest, ConfigError, ProviderError
from mewcode.infra.terminal_text import safe_line
from mewcode.providers.base import HttpRequest
from mewcode.providers.failures import connection_error, error_from_response

if TYPE_CHECKING:
    import ssl

    import httpx

# Seconds. Connecting is quick or hopeless; between two chunks a model may think for minutes, and services
# send keep-alives meanwhile.
_CONNECT_TIMEOUT = 15.0
_READ_TIMEOUT = 180.0
_WRITE_TIMEOUT = 60.0

# A refusal's body is read for its message only.
_ERROR_BODY_LIMIT = 64 * 1024


def load() -> None:
    """Imports httpx. Its package tries to import its own command line, and with it click and rich where they
    are installed: twice the time for nothing, so that attempt is made to fail as it does without click."""
    if "httpx" in sys.modules:
        return
    absent = object()
    click = sys.modules.get("click", absent)
    if click is absent:
        sys.modules["click"] = None  # type: ignore[assignment]  # what the import system itself documents
    try:
        import httpx  # noqa: F401
    finally:
        if click is absent:
            del sys.modules["click"]


class Transport:
    """Sends requests; one connection pool for a session. ``user_agent`` names us to the service,
    ``read_timeout`` is the longest silence in seconds."""

    def __init__(self, user_agent: str, read_timeout: float = _READ_TIMEOUT) -> None:
        self._user_agent = user_agent
        self._read_timeout = read_timeout
        self._client: httpx.AsyncClient | None = None

    def _http(self, url: str) -> httpx.AsyncClient:
        if self._client is None:
            load()
            import httpx

            self._client = httpx.AsyncClient(
                verify=tls_context() if _needs_tls(url) else False,
                timeout=httpx.Timeout(
                    connect=_CONNECT_TIMEOUT, read=self._read_timeout, write=_WRITE_TIMEOUT, pool=None
                ),
                headers={"user-agent": self._user_agent, "accept-encoding": "identity"},
                follow_redirects=False,
            )
        return self._client

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """The answer's body, chunk by chunk as it arrives. Raises `ProviderError`, also in the middle."""
        load()
        import httpx

        try:
            async with self._http(request.url).stream(
                request.method, request.url, headers=request.headers, content=request.body or None
            ) as response:
                if response.status_code != 200:
                    raise await _refusal(response)
                async for chunk in response.aiter_bytes():
                    yield chunk
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise BadRequest(
                f"the base URL cannot be used: {safe_line(request.url)} ({error})",
                "It must begin with http:// or https:// and name a host.",
            ) from error
        except (httpx.LocalProtocolError, UnicodeError) as error:
            raise BadRequest(
                "a header of the request cannot be sent",
                "Check the API key and the configured headers for line breaks and special characters.",
            ) from error
        except (httpx.HTTPError, OSError) as error:
            raise connection_error(error, request.url) from error

    async def fetch(self, request: HttpRequest) -> bytes:
        """The whole body of a 200 answer. Raises `ProviderError`."""
        return b"".join([chunk async for chunk in self.stream(request)])

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


async def _refusal(response: httpx.Response) -> ProviderError:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _ERROR_BODY_LIMIT:
            break
    return error_from_response(response.status_code, response.headers, body, time.time())


def _needs_tls(url: str) -> bool:
    """A context costs time to make: none for ``http://``, unless a proxy is reached by TLS."""
    import os

    if not url.startswith("http://"):
        return True
    proxies = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
    return any(os.environ.get(name, "").startswith("https://") for name in proxies)


def tls_context() -> ssl.SSLContext:
    """`infra.trust_store.trust_context` of this process's environment. Raises `BadRequest` where a
    certificate cannot be read."""
    import os

    from mewcode.infra.trust_store import trust_context

    try:
        return trust_context(os.environ)
    except ConfigError as error:
        raise BadRequest(error.message, error.hint) from error
