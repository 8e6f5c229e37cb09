"""Claude models on Amazon Bedrock and Google Vertex AI, over the cloud clients of the anthropic SDK.

The clouds sign requests and frame answers in ways of their own, so here the SDK does the I/O. It is an extra
and takes a second to import: that happens with the first request. What is sent and how the answer is put
together is that of `providers.anthropic`; the SDK's own retries are off, ours are shown.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any, Literal

from mewcode.core.codec import encode_json
from mewcode.core.errors import AuthError, BadRequest, NotConfigured, ProviderError
from mewcode.core.stream import Done, Failed, StreamEvent
from mewcode.infra.terminal_text import safe_line
from mewcode.providers.anthropic import build_body
from mewcode.providers.anthropic_assembler import AnthropicAssembler
from mewcode.providers.base import Endpoint, ModelRequest, ServerEvent
from mewcode.providers.failures import connection_error, error_from_response, error_in_stream

if TYPE_CHECKING:
    from anthropic import AsyncAnthropicBedrock, AsyncAnthropicVertex

    CloudClient = AsyncAnthropicBedrock | AsyncAnthropicVertex

CloudName = Literal["bedrock", "vertex"]

# Seconds between two chunks; the SDK's own limit is ten minutes for each.
_TIMEOUT = 180.0

_NEEDED = {"bedrock": ("anthropic", "botocore"), "vertex": ("anthropic", "google.auth")}
_CREDENTIALS = {
    "bedrock": "Check AWS_REGION and the AWS credentials (`aws sts get-caller-identity`).",
    "vertex": "Check CLOUD_ML_REGION, ANTHROPIC_VERTEX_PROJECT_ID and the credentials "
    "(`gcloud auth application-default login`).",
}


class CloudProvider:
    """`Provider` for a cloud. Region, project and credentials are the cloud's own, from where its tools keep
    them. ``make_client`` is called at the first request; by default it makes the SDK's client.

    Raises `NotConfigured`, naming the extra to install, where the SDK or the cloud's part of it is missing.
    """

    def __init__(
        self, name: CloudName, endpoint: Endpoint, make_client: Callable[[], CloudClient] | None = None
    ) -> None:
        self.name: str = name
        self._cloud: CloudName = name
        self._endpoint = endpoint
        if make_client is None:
            _require(name)
        self._make_client = make_client or self._sdk_client
        self._client: CloudClient | None = None

    def warm(self) -> None:
        """Makes the client: loading the SDK takes a second."""
        if self._client is None:
            self._client = self._make_client()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        assembler = AnthropicAssembler()
        body: dict[str, Any] = {**build_body(request)}
        del body["stream"]
        begun = False
        try:
            self.warm()
            assert self._client is not None
            stream = await self._client.messages.create(**body, stream=True)
            begun = True
            async with stream:
                async for event in stream:
                    raw: dict[str, Any] = event.to_dict(mode="json")
                    for item in assembler.feed(ServerEvent(str(raw["type"]), encode_json(raw))):
                        yield item
                        if isinstance(item, Done | Failed):
                            return
            for item in assembler.finish():
                yield item
        except Exception as error:  # noqa: BLE001 - two SDKs below the SDK raise errors of no common kind
            yield Failed(self._failure(error, begun=begun))

    async def list_models(self) -> tuple[str, ...]:
        """Raises `BadRequest`: neither cloud lists its models over this API."""
        raise BadRequest(
            f"{self.name} does not list its models", "Name the model with --model or MEWCODE_MODEL."
        )

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _sdk_client(self) -> CloudClient:
        import anthropic

        from mewcode.providers.transport import tls_context

        settings: dict[str, Any] = {
            "base_url": self._endpoint.base_url or None,
            "default_headers": self._endpoint.headers,
            "max_retries": 0,
            "timeout": _TIMEOUT,
        }
        if not self._endpoint.base_url.startswith("http://"):
            settings["http_client"] = anthropic.DefaultAsyncHttpxClient(verify=tls_context())
        if self._cloud == "bedrock":
            return anthropic.AsyncAnthropicBedrock(api_key=self._endpoint.api_key or None, **settings)
        return anthropic.AsyncAnthropicVertex(access_token=self._endpoint.api_key or None, **settings)

    def _failure(self, error: Exception, *, begun: bool) -> ProviderError:
        import anthropic

        if isinstance(error, anthropic.APIStatusError):
            if error.status_code == 200:
                body = error.body if isinstance(error.body, dict) else {"message": error.message}
                return error_in_stream(body.get("error", body))
            body_text = encode_json(error.body if error.body is not None else {"message": error.message})
            failure = error_from_response(error.status_code, error.response.headers, body_text, time.time())
            if isinstance(failure, AuthError):
                failure.hint = _CREDENTIALS[self._cloud]
            return failure
        if isinstance(error, anthropic.APIConnectionError):
            return connection_error(error, str(error.request.url))
        if begun:
            # What is raised within an answer that came in good order is what broke the line.
            return connection_error(error, self._endpoint.base_url or self.name)
        return AuthError(
            f"{self.name} cannot be used: {safe_line(str(error), 300) or type(error).__name__}",
            _CREDENTIALS[self._cloud],
        )


def _require(name: CloudName) -> None:
    """Looks for the packages without importing what is slow."""
    from importlib.util import find_spec

    for package in _NEEDED[name]:
        try:
            found = find_spec(package) is not None
        except ModuleNotFoundError:  # the parent of a dotted name
            found = False
        if not found:
            raise NotConfigured(
                f"provider {name} needs a package that is not installed ({package})",
                f"Install it: pip install 'mewcode[{name}]'",
            )
