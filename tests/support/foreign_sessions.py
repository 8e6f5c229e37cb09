"""Session files as other programs write them, made by hand: only what their formats are known for."""

from __future__ import annotations

import json
from typing import Any

PICTURE = "iVBORw0KGgo="
CLAUDE_ID = "11111111-2222-4333-8444-555555555555"
CODEX_ID = "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"
KIMI_ID = "99999999-8888-4777-8666-555555555555"


def jsonl(*values: Any) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


def claude(number: int, parent: int | None, kind: str, message: Any = None, **more: Any) -> dict[str, Any]:
    """An entry; its time is so many seconds after 2026-01-02 03:04."""
    entry = {
        "parentUuid": None if parent is None else f"u{parent}",
        "isSidechain": False,
        "cwd": "/srv/app",
        "sessionId": CLAUDE_ID,
        "version": "2.0.1",
        "gitBranch": "feature",
        "type": kind,
        "uuid": f"u{number}",
        "timestamp": f"2026-01-02T03:04:{number:02}.500Z",
    }
    return entry | ({} if message is None else {"message": message}) | more


def claude_said(number: int, parent: int | None, text: Any, **more: Any) -> dict[str, Any]:
    return claude(number, parent, "user", {"role": "user", "content": text}, **more)


def claude_answer(
    number: int, parent: int | None, *blocks: Any, reply: str = "", model: str = "claude-x-1"
) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100}
    message = {
        "id": reply or f"msg_{number}", "role": "assistant", "model": model, "content": list(blocks),
        "usage": usage,
    }  # fmt: skip
    return claude(number, parent, "assistant", message)


def claude_result(number: int, parent: int | None, call: str, content: Any, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": content} | more
    return claude_said(number, parent, [block], toolUseResult={"stdout": "x"})


def use(call: str, name: str = "Bash", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


CLAUDE = (
    {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
    claude_said(1, None, "修复解析器"),
    claude_answer(2, 1, {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, reply="m"),
    claude_answer(3, 2, words("I look."), reply="m"),
    claude_answer(4, 3, use("toolu_1", command="ls"), reply="m"),
    claude_result(5, 4, "toolu_1", [words("a.py")]),
    claude_answer(6, 5, words("Done.")),
    {"type": "custom-title", "customTitle": "Parser 修复", "sessionId": CLAUDE_ID},
)


def codex(number: int, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """A line of a rollout; its time is so many seconds after 2026-02-03 04:05."""
    return {"timestamp": f"2026-02-03T04:05:{number:02}.000Z", "type": kind, "payload": payload}


def item(number: int, kind: str, **more: Any) -> dict[str, Any]:
    return codex(number, "response_item", {"type": kind, **more})


def codex_said(number: int, text: str, role: str = "user") -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(number, "message", role=role, content=[{"type": kind, "text": text}])


CODEX_META = codex(
    0,
    "session_meta",
    {
        "id": CODEX_ID, "timestamp": "2026-02-03T04:05:00.000Z", "cwd": "/srv/app",
        "originator": "codex_cli", "cli_version": "0.60.0", "source": "cli",
        "model_provider": "openai", "git": {"branch": "main"},
    },
)  # fmt: skip
CODEX = (
    CODEX_META,
    codex_said(1, "be careful", "developer"),
    codex_said(1, "<environment_context>\n<cwd>/srv/app</cwd>"),
    codex(2, "turn_context", {"cwd": "/srv/app", "model": "gpt-x"}),
    codex(2, "event_msg", {"type": "user_message", "message": "add a test"}),
    codex_said(2, "add a test"),
    item(3, "reasoning", summary=[{"type": "summary_text", "text": "plan"}], encrypted_content="gAAA"),
    item(4, "function_call", name="shell", arguments='{"command":["ls"]}', call_id="call_1"),
    item(5, "function_call_output", call_id="call_1",
         output='{"output":"no such file","metadata":{"exit_code":2,"duration_seconds":0.1}}'),
    item(6, "custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="call_2"),
    item(7, "custom_tool_call_output", call_id="call_2", output="ok"),
    codex(7, "event_msg", {"type": "token_count", "info": {"total_token_usage": {
        "input_tokens": 300, "cached_input_tokens": 100, "output_tokens": 20}}}),
    codex_said(8, "Added.", "assistant"),
    codex(9, "event_msg", {"type": "thread_name_updated", "thread_id": CODEX_ID, "thread_name": "tests"}),
)  # fmt: skip


def kimi_call(call: str, name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function", "id": call, "function": {"name": name, "arguments": arguments}}


KIMI = (
    {"role": "_system_prompt", "content": "You are Kimi."},
    {"role": "_checkpoint", "id": 0},
    {"role": "user", "content": "<system>CHECKPOINT 0</system>"},
    {"role": "user", "content": "读一下 README"},
    {
        "role": "assistant",
        "content": [{"type": "think", "think": "read it", "encrypted": "zzz"}, words("Reading.")],
        "tool_calls": [kimi_call("ReadFile:0", "ReadFile", '{"path": "README.md"}')],
    },
    {"role": "tool", "content": [words("<system>1 line read.</system>"), words("# App")],
     "tool_call_id": "ReadFile:0"},
    {"role": "_usage", "token_count": 100},
    {"role": "assistant", "content": "It is an app."},
    {"role": "user", "content": "thanks"},
)  # fmt: skip
KIMI_WIRE = (
    {"type": "metadata", "protocol_version": "1.3"},
    {"timestamp": 1_770_000_000.5,
     "message": {"type": "TurnBegin", "payload": {"user_input": "读一下 README"}}},
    {"timestamp": 1_770_000_009.0, "message": {"type": "StepBegin", "payload": {"n": 1}}},
    {"timestamp": 1_770_000_060.0,
     "message": {"type": "TurnBegin", "payload": {"user_input": [words("thanks")]}}},
)  # fmt: skip
