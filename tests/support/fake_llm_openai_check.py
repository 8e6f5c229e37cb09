"""What the OpenAI Chat Completions API refuses in a request."""

from __future__ import annotations

import json
import re

from .fake_llm_reply import Dialect, JsonObject
from .fake_llm_schema import schema_violation

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROLES = ("system", "developer", "user", "assistant", "tool")
_SYSTEM = ("system", "developer")
_PARTS = ("text", "image_url", "input_audio", "file")


class _RefusedError(Exception):
    """The request is refused; the message is the one of the error body."""


def openai_violation(body: JsonObject, dialect: Dialect) -> str | None:
    """Why the API would answer 400, or None when it would accept the request."""
    try:
        _check_options(body)
        _check_tools(body)
        _check_format(body.get("response_format"))
        messages = _check_messages(body)
        _check_pairs(messages)
        if dialect.wants_reasoning_back:
            _check_reasoning(messages)
    except _RefusedError as error:
        return str(error)
    return None


def _check_options(body: JsonObject) -> None:
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise _RefusedError("you must provide a model parameter")
    if not isinstance(body.get("stream", False), bool):
        raise _RefusedError("Invalid type for 'stream': expected a boolean")
    if body.get("stream_options") is not None and body.get("stream") is not True:
        raise _RefusedError("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    limits = [name for name in ("max_tokens", "max_completion_tokens") if body.get(name) is not None]
    if len(limits) == 2:
        raise _RefusedError(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        )
    for name in limits:
        if not _is_int(body[name]) or _number(body[name]) < 1:
            raise _RefusedError(f"Invalid value for '{name}': expected an integer of at least 1")
    temperature = body.get("temperature")
    if temperature is not None and not 0 <= _number(temperature) <= 2:
        raise _RefusedError("Invalid 'temperature': expected a number from 0 to 2")


def _check_tools(body: JsonObject) -> None:
    tools = body.get("tools")
    if tools is None:
        if body.get("tool_choice") not in (None, "none"):
            raise _RefusedError("'tool_choice' is only allowed when 'tools' are specified.")
        return
    if not isinstance(tools, list) or not tools:
        raise _RefusedError("Invalid 'tools': expected an array with at least 1 item")
    for position, tool in enumerate(tools):
        where = f"tools[{position}]"
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type") != "function":
            raise _RefusedError(f"Invalid '{where}': expected type 'function' and a function object")
        name = function.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise _RefusedError(f"Invalid '{where}.function.name': {name!r} does not match {_NAME.pattern}")
        schema = function.get("parameters")
        if schema is not None and (not isinstance(schema, dict) or schema.get("type") != "object"):
            raise _RefusedError(
                f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"'"
            )


def _check_format(form: object) -> None:
    if form is None:
        return
    kind = form.get("type") if isinstance(form, dict) else None
    if not isinstance(form, dict) or kind not in ("text", "json_object", "json_schema"):
        raise _RefusedError(
            f"Invalid value: {kind!r}. 'response_format.type' must be one of text, json_object, json_schema"
        )
    if kind != "json_schema":
        return
    wanted = form.get("json_schema")
    if not isinstance(wanted, dict):
        raise _RefusedError("Missing required parameter: 'response_format.json_schema'")
    name = wanted.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _RefusedError(
            f"Invalid 'response_format.json_schema.name': {name!r} does not match {_NAME.pattern}"
        )
    problem = schema_violation(wanted.get("schema"), is_openai=True) if wanted.get("strict") is True else ""
    if problem:
        raise _RefusedError(f"Invalid schema for response_format '{name}': {problem}")


def _check_messages(body: JsonObject) -> list[JsonObject]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _RefusedError("Invalid 'messages': expected an array with at least 1 item")
    for position, message in enumerate(messages):
        where = f"messages[{position}]"
        if not isinstance(message, dict):
            raise _RefusedError(f"Invalid type for '{where}': expected an object")
        role = message.get("role")
        if role not in _ROLES:
            raise _RefusedError(f"Invalid value: {role!r}. '{where}.role' must be one of {', '.join(_ROLES)}")
        if role == "assistant":
            _check_assistant(message, where)
        elif role == "tool":
            if not isinstance(message.get("content"), str):
                raise _RefusedError(
                    f"Invalid type for '{where}.content': a tool message's content is a string"
                )
            if not isinstance(message.get("tool_call_id"), str):
                raise _RefusedError(f"Missing required parameter: '{where}.tool_call_id'")
        else:
            _check_content(message.get("content"), where)
    spoken = [message for message in messages if message["role"] not in _SYSTEM]
    if not spoken or spoken[0]["role"] != "user":
        raise _RefusedError(
            "Invalid 'messages': the first message that is not a system message must be a user's"
        )
    return messages


def _check_assistant(message: JsonObject, where: str) -> None:
    calls = message.get("tool_calls")
    if calls is None:
        _check_content(message.get("content"), where)
        return
    if message.get("content") is not None:
        _check_content(message["content"], where)
    if not isinstance(calls, list) or not calls:
        raise _RefusedError(f"Invalid '{where}.tool_calls': expected an array with at least 1 item")
    seen: set[str] = set()
    for position, call in enumerate(calls):
        at = f"{where}.tool_calls[{position}]"
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or call.get("type") != "function":
            raise _RefusedError(f"Invalid '{at}': expected type 'function' and a function object")
        if not isinstance(call.get("id"), str) or not call["id"]:
            raise _RefusedError(f"Missing required parameter: '{at}.id'")
        if call["id"] in seen:
            raise _RefusedError(f"Duplicate value for '{at}.id': {call['id']!r}")
        seen.add(call["id"])
        if not isinstance(function.get("name"), str) or not function["name"]:
            raise _RefusedError(f"Missing required parameter: '{at}.function.name'")
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            raise _RefusedError(f"Invalid type for '{at}.function.arguments': expected a string")
        try:
            json.loads(arguments)
        except ValueError as error:
            raise _RefusedError(f"Invalid '{at}.function.arguments': not valid JSON: {error}") from error


def _check_content(content: object, where: str) -> None:
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        raise _RefusedError(f"Invalid type for '{where}.content': expected a string or an array of parts")
    for part in content:
        if not isinstance(part, dict) or part.get("type") not in _PARTS:
            raise _RefusedError(
                f"Invalid '{where}.content': a part's type must be one of {', '.join(_PARTS)}"
            )


def _check_pairs(messages: list[JsonObject]) -> None:
    open_ids: list[str] = []
    for position, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                raise _RefusedError(
                    f"Invalid parameter: messages[{position}] with role 'tool' must be a response to a "
                    f"preceding message with 'tool_calls' ({message['tool_call_id']!r} is not open)."
                )
            open_ids.remove(str(message["tool_call_id"]))
            continue
        if open_ids:
            raise _unanswered(open_ids)
        calls = message.get("tool_calls")
        open_ids = [call["id"] for call in calls] if isinstance(calls, list) else []
    if open_ids:
        raise _unanswered(open_ids)


def _unanswered(ids: list[str]) -> _RefusedError:
    return _RefusedError(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
        f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(ids)}"
    )


def _check_reasoning(messages: list[JsonObject]) -> None:
    """Some reasoning models want the reasoning of the turn in progress back with its tool calls."""
    last_user = max(index for index, message in enumerate(messages) if message["role"] == "user")
    for position, message in enumerate(messages[last_user:], last_user):
        if message.get("tool_calls") and not isinstance(message.get("reasoning_content"), str):
            raise _RefusedError(
                f"Missing `reasoning_content` field in the assistant message at index {position}"
            )


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return float("nan")
