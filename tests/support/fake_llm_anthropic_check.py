"""What the Anthropic Messages API refuses in a request."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping

from .fake_llm_reply import JsonObject
from .fake_llm_schema import output_violation

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MAX_BREAKPOINTS = 4
_MIN_BUDGET = 1024

_BODY = {
    *("model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "metadata", "thinking"),
    *("temperature", "top_p", "top_k", "stop_sequences", "service_tier", "container", "mcp_servers", "speed"),
    *("context_management", "output_config", "output_format", "inference_geo", "cache_control", "betas"),
}
_BLOCKS: dict[str, set[str]] = {
    "text": {"type", "text", "cache_control", "citations"},
    "image": {"type", "source", "cache_control"},
    "document": {"type", "source", "title", "context", "citations", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "tool_use": {"type", "id", "name", "input", "cache_control", "caller"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
}
_ROLE_OF = {
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "tool_use": "assistant",
    "tool_result": "user",
    "image": "user",
    "document": "user",
}
_REQUIRED = {
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
}


class _RefusedError(Exception):
    """The request is refused; the message is the one of the error body."""


def anthropic_violation(body: JsonObject, headers: Mapping[str, str], *, counts_only: bool) -> str | None:
    """Why the API would answer 400, or None when it would accept the request.

    `counts_only` is for `count_tokens`, which knows no max_tokens and no stream.
    """
    try:
        _check_headers(headers)
        _check_options(body, counts_only=counts_only)
        _check_system(body.get("system"))
        _check_tools(body)
        if problem := output_violation(body.get("output_config")):
            raise _RefusedError(problem)
        messages = _check_messages(body)
        _check_pairs(messages)
        _check_thinking(body, messages)
        _check_ending(messages)
        _check_breakpoints(body)
    except _RefusedError as error:
        return str(error)
    return None


def _check_headers(headers: Mapping[str, str]) -> None:
    if not headers.get("x-api-key") and not headers.get("authorization"):
        raise _RefusedError("x-api-key header is required")
    if not headers.get("anthropic-version"):
        raise _RefusedError("anthropic-version: header is required")
    if not headers.get("content-type", "").startswith("application/json"):
        raise _RefusedError("content-type: must be application/json")


def _check_options(body: JsonObject, *, counts_only: bool) -> None:
    unknown = sorted(set(body) - _BODY)
    if unknown:
        raise _RefusedError(f"{unknown[0]}: Extra inputs are not permitted")
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise _RefusedError("model: Field required")
    if counts_only:
        extra = sorted({"max_tokens", "stream", "temperature"} & set(body))
        if extra:
            raise _RefusedError(f"{extra[0]}: Extra inputs are not permitted")
    else:
        limit = body.get("max_tokens")
        if not _is_int(limit):
            raise _RefusedError("max_tokens: Field required")
        if _int(limit) < 1:
            raise _RefusedError("max_tokens: must be greater than or equal to 1")
    temperature = body.get("temperature")
    if temperature is not None and not (_is_number(temperature) and 0 <= _number(temperature) <= 1):
        raise _RefusedError("temperature: range: 0..1")


def _check_system(system: object) -> None:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        raise _RefusedError("system: Input should be a string or a list of text blocks")
    for position, block in enumerate(system):
        where = f"system.{position}"
        if not isinstance(block, dict) or block.get("type") != "text":
            raise _RefusedError(f"{where}: Input should be a text block")
        _check_block(block, where, "system")


def _check_tools(body: JsonObject) -> None:
    tools = body.get("tools")
    names: list[str] = []
    if tools is not None and not isinstance(tools, list):
        raise _RefusedError("tools: Input should be a valid list")
    for position, tool in enumerate(tools or []):
        if not isinstance(tool, dict):
            raise _RefusedError(f"tools.{position}: Input should be an object")
        where = f"tools.{position}.custom"
        name = tool.get("name")
        if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
            raise _RefusedError(f"{where}.name: String should match pattern '^{_TOOL_NAME.pattern}$'")
        names.append(name)
        if tool.get("type") not in (None, "custom"):
            continue  # a tool of the provider's own has no schema
        schema = tool.get("input_schema")
        if not isinstance(schema, dict):
            raise _RefusedError(f"{where}.input_schema: Field required")
        if schema.get("type") != "object":
            raise _RefusedError(f"{where}.input_schema.type: Input should be 'object'")
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            raise _RefusedError(
                f"{where}.input_schema: does not support oneOf, allOf, or anyOf at the top level"
            )
    if len(set(names)) < len(names):
        raise _RefusedError("tools: Tool names must be unique.")
    choice = body.get("tool_choice")
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind not in ("auto", "any", "tool", "none"):
        raise _RefusedError("tool_choice: Input tag should be one of 'auto', 'any', 'tool', 'none'")
    if isinstance(choice, dict) and kind == "tool" and choice.get("name") not in names:
        raise _RefusedError(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools")
    if not names:
        raise _RefusedError("tool_choice: may only be specified while providing tools")


def _check_messages(body: JsonObject) -> list[tuple[str, list[JsonObject]]]:
    """The messages as roles and blocks; consecutive ones of a role are merged, as the API does."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _RefusedError("messages: at least one message is required")
    merged: list[tuple[str, list[JsonObject]]] = []
    for position, message in enumerate(messages):
        where = f"messages.{position}"
        if not isinstance(message, dict):
            raise _RefusedError(f"{where}: Input should be an object")
        role = message.get("role")
        if role not in ("user", "assistant"):
            raise _RefusedError(f"messages: Unexpected role {role!r}: allowed are 'user' and 'assistant'")
        unknown = sorted(set(message) - {"role", "content"})
        if unknown:
            raise _RefusedError(f"{where}.{unknown[0]}: Extra inputs are not permitted")
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list):
            raise _RefusedError(f"{where}.content: Input should be a string or a list of blocks")
        if not blocks:
            raise _RefusedError(f"{where}: all messages must have non-empty content")
        for place, block in enumerate(blocks):
            _check_block(block, f"{where}.content.{place}", role)
        if merged and merged[-1][0] == role:
            merged[-1][1].extend(blocks)
        else:
            merged.append((role, list(blocks)))
    if merged[0][0] != "user":
        raise _RefusedError("messages: first message must use the user role")
    return merged


def _check_block(block: object, where: str, role: str) -> None:
    if not isinstance(block, dict):
        raise _RefusedError(f"{where}: Input should be an object")
    kind = str(block.get("type"))
    allowed = _BLOCKS.get(kind)
    if allowed is None:
        raise _RefusedError(f"{where}: Input tag {kind!r} found does not match any of the expected tags")
    if role in ("user", "assistant") and _ROLE_OF.get(kind, role) != role:
        raise _RefusedError(f"{where}: `{kind}` blocks can only be in `{_ROLE_OF[kind]}` messages")
    unknown = sorted(set(block) - allowed)
    if unknown:
        raise _RefusedError(f"{where}.{kind}.{unknown[0]}: Extra inputs are not permitted")
    for name in _REQUIRED.get(kind, ()):
        if name not in block:
            raise _RefusedError(f"{where}.{kind}.{name}: Field required")
    if kind == "text":
        content = block.get("text")
        if not isinstance(content, str) or not content:
            raise _RefusedError(f"{where}: text content blocks must be non-empty")
        if not content.strip():
            raise _RefusedError(f"{where}: text content blocks must contain non-whitespace text")
    elif kind in ("image", "document"):
        _check_source(block.get("source"), f"{where}.{kind}.source", kind)
    elif kind == "thinking" and not (isinstance(block["signature"], str) and block["signature"]):
        raise _RefusedError(f"{where}: Invalid `signature` in `thinking` block")
    elif kind == "tool_use":
        _check_id(block["id"], f"{where}.tool_use.id")
        if not isinstance(block["name"], str) or not _TOOL_NAME.fullmatch(block["name"]):
            raise _RefusedError(f"{where}.tool_use.name: String should match '^{_TOOL_NAME.pattern}$'")
        if not isinstance(block["input"], dict):
            raise _RefusedError(f"{where}.tool_use.input: Input should be a valid dictionary")
    elif kind == "tool_result":
        _check_id(block["tool_use_id"], f"{where}.tool_result.tool_use_id")
        content = block.get("content")
        if content is not None and not isinstance(content, (str, list)):
            raise _RefusedError(f"{where}.tool_result.content: Input should be a string or a list of blocks")
        for place, inner in enumerate(content if isinstance(content, list) else []):
            if not isinstance(inner, dict) or inner.get("type") not in ("text", "image", "document"):
                raise _RefusedError(f"{where}.tool_result.content.{place}: not a block a result may hold")
            _check_block(inner, f"{where}.tool_result.content.{place}", "tool_result")


def _check_source(source: object, where: str, kind: str) -> None:
    if not isinstance(source, dict):
        raise _RefusedError(f"{where}: Field required")
    how = source.get("type")
    if how == "base64":
        media = source.get("media_type")
        types = _IMAGE_TYPES if kind == "image" else ("application/pdf",)
        if media not in types:
            raise _RefusedError(f"{where}.base64.media_type: Input should be {' or '.join(types)}")
        try:
            data = base64.b64decode(str(source.get("data") or ""), validate=True)
        except binascii.Error as error:
            raise _RefusedError(f"{where}.base64.data: not valid base64") from error
        if not data:
            raise _RefusedError(f"{where}.base64.data: {kind} cannot be empty")
    elif how not in (("url", "file") if kind == "image" else ("url", "file", "text", "content")):
        raise _RefusedError(f"{where}: Input tag {how!r} does not match any of the expected tags")


def _check_id(value: object, where: str) -> None:
    if not isinstance(value, str) or not _TOOL_ID.fullmatch(value):
        raise _RefusedError(f"{where}: String should match pattern '^{_TOOL_ID.pattern}$'")


def _check_pairs(messages: list[tuple[str, list[JsonObject]]]) -> None:
    used: set[str] = set()
    asked: list[str] = []
    for position, (role, blocks) in enumerate(messages):
        if role == "assistant":
            asked = [str(block["id"]) for block in blocks if block["type"] == "tool_use"]
            if len({*asked, *used}) < len(asked) + len(used):
                raise _RefusedError(f"messages.{position}: `tool_use` ids must be unique")
            used.update(asked)
            following = messages[position + 1][1] if position + 1 < len(messages) else []
            answered = [block.get("tool_use_id") for block in following if block["type"] == "tool_result"]
            missing = [call for call in asked if call not in answered]
            if missing:
                raise _RefusedError(
                    f"messages.{position}: `tool_use` ids were found without `tool_result` blocks "
                    f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
                    "corresponding `tool_result` block in the next message."
                )
            continue
        seen: set[str] = set()
        other = False
        for block in blocks:
            if block["type"] != "tool_result":
                other = True
                continue
            name = str(block["tool_use_id"])
            if name not in asked:
                raise _RefusedError(
                    f"messages.{position}: unexpected `tool_use_id` found in `tool_result` blocks: {name}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
                    "message."
                )
            if name in seen:
                raise _RefusedError(
                    f"messages.{position}: each tool_use must have a single result. Found multiple "
                    f"`tool_result` blocks with id: {name}"
                )
            if other:
                raise _RefusedError(
                    f"messages.{position}: `tool_result` blocks must come first in the content of a message"
                )
            seen.add(name)
        asked = []


def _check_thinking(body: JsonObject, messages: list[tuple[str, list[JsonObject]]]) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if not isinstance(thinking, dict) or kind not in ("enabled", "disabled", "adaptive"):
        raise _RefusedError("thinking: Input tag should be one of 'enabled', 'disabled', 'adaptive'")
    if kind == "disabled":
        return
    if body.get("temperature") not in (None, 1, 1.0):
        raise _RefusedError("`temperature` may only be set to 1 when thinking is enabled.")
    if body.get("top_k") is not None:
        raise _RefusedError("`top_k` must be unset when thinking is enabled.")
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
        raise _RefusedError("Thinking may not be enabled when tool_choice forces tool use.")
    if kind == "adaptive":
        return
    budget = thinking.get("budget_tokens")
    if not _is_int(budget) or _int(budget) < _MIN_BUDGET:
        raise _RefusedError(f"thinking.enabled.budget_tokens: must be an integer of at least {_MIN_BUDGET}")
    if _is_int(body.get("max_tokens")) and _int(budget) >= _int(body["max_tokens"]):
        raise _RefusedError("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if messages[-1][0] == "assistant":
        raise _RefusedError("Prefilling assistant responses is not supported when thinking is enabled.")
    # The turn in progress began after the last user message that brought anything but tool results.
    first = len(messages)
    while first >= 2 and messages[first - 1][1][0]["type"] == "tool_result":
        first -= 2
    if first < len(messages):
        kind = messages[first][1][0]["type"]
        if kind not in ("thinking", "redacted_thinking"):
            raise _RefusedError(
                f"messages.{first}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{kind}`. When `thinking` is enabled, a final `assistant` message must start with a "
                "thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks)."
            )


def _check_ending(messages: list[tuple[str, list[JsonObject]]]) -> None:
    role, blocks = messages[-1]
    content = blocks[-1].get("text")
    if role == "assistant" and isinstance(content, str) and content != content.rstrip():
        raise _RefusedError("messages: final assistant content cannot end with trailing whitespace")


def _check_breakpoints(body: JsonObject) -> None:
    found = 0
    short = False
    for control in _breakpoints([body.get("tools"), body.get("system"), body.get("messages"), body]):
        found += 1
        ttl = control.get("ttl", "5m") if isinstance(control, dict) else None
        if not isinstance(control, dict) or control.get("type") != "ephemeral" or ttl not in ("5m", "1h"):
            raise _RefusedError(
                "cache_control: Input should be of type 'ephemeral' with a ttl of '5m' or '1h'"
            )
        if ttl == "1h" and short:
            raise _RefusedError("cache_control: a ttl='1h' block must not come after a ttl='5m' block")
        short = short or ttl == "5m"
    if found > _MAX_BREAKPOINTS:
        raise _RefusedError(
            f"A maximum of {_MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {found}."
        )


def _breakpoints(parts: list[object]) -> Iterator[object]:
    *nested, body = parts
    for part in nested:
        for item in part if isinstance(part, list) else []:
            if not isinstance(item, dict):
                continue
            yield from _breakpoints([item.get("content"), item])
    if isinstance(body, dict) and body.get("cache_control") is not None:
        yield body["cache_control"]


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
