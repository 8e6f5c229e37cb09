"""Conversations to measure and to make smaller, and stand-ins for tokenizers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from mewcode.core.codec import encode_json
from mewcode.core.message import Message, Text, ToolCall, ToolResult, Usage, text_of
from mewcode.core.tokens import message_tokens

SIZE = message_tokens
SENTENCE = "the parser reads a file and returns what it found there, or says why it could not"
WORDS = SENTENCE.split()
CHINESE = "请看一下这个文件里的函数，先不要修改数据库，测试必须全部通过之后再提交。"
CODE = """\
def load(path: str, *, limit: int = 200) -> list[str]:
    with open(path) as file:
        return file.read().split("\\n")[:limit]
"""


def user(name: str, text: str = "hi", origin: str = "user") -> Message:
    return Message(name, "user", (Text(text),), origin)  # type: ignore[arg-type]  # one of its words


def model(name: str, text: str = "", *calls: ToolCall, usage: Usage | None = None) -> Message:
    said = (Text(text),) if text or not calls else ()
    return Message(name, "assistant", (*said, *calls), "model", usage=usage)


def call(name: str, tool: str = "read_file", **args: Any) -> ToolCall:
    return ToolCall(name, tool, args)


def result(name: str, text: str = "done", *, is_error: bool = False) -> Message:
    return Message(f"r-{name}", "tool", (ToolResult(name, (Text(text),), is_error),), "tool")


def step(name: str, tool: str, text: str, *, is_error: bool = False, **args: Any) -> list[Message]:
    """An answer with one call, and its result."""
    return [model(f"a-{name}", "", call(name, tool, **args)), result(name, text, is_error=is_error)]


_TOOLS = st.sampled_from(
    ["read_file", "grep", "bash", "edit_file", "web_fetch", "bash_output", "todo", "mcp__x__y"]
)
_RESULT = st.tuples(
    _TOOLS,
    st.integers(0, 3),  # which file or command
    st.integers(0, 9_000),  # characters
    st.sampled_from(["ok", "ok", "ok", "error", "exit code 1"]),
)
_TURN = st.tuples(
    st.integers(1, 4_000),  # characters of the prompt
    st.booleans(),  # a reminder behind it
    st.lists(st.lists(_RESULT, max_size=4), max_size=4),  # results by step
    st.booleans(),  # whether the turn came to its end
)
TURNS = st.lists(_TURN, min_size=1, max_size=8)


def conversation(turns: list[Any]) -> list[Message]:
    """A conversation that services accept; only the last turn may be in the middle of a chain of calls."""
    messages: list[Message] = []
    for number, (length, reminded, steps, ended) in enumerate(turns):
        messages.append(user(f"u{number}", (CHINESE if number % 2 else "please ") * (length // 20 + 1)))
        if reminded:
            messages.append(user(f"m{number}", "<system-reminder>x</system-reminder>", "reminder"))
        for place, results in enumerate(steps):
            ids = [f"c{number}-{place}-{index}" for index in range(len(results))]
            calls = [
                ToolCall(name, tool, _args(tool, which))
                for name, (tool, which, _, _) in zip(ids, results, strict=True)
            ]
            messages.append(model(f"a{number}-{place}", "so", *calls, usage=Usage(1_000)))
            for name, (_, _, size, how) in zip(ids, results, strict=True):
                text = "r" * size + (f"\n{how}" if how.startswith("exit") else "")
                messages.append(result(name, text or "-", is_error=how == "error"))
        if ended or number < len(turns) - 1:
            messages.append(model(f"e{number}", "done", usage=Usage(2_000)))
    return messages


def _args(tool: str, which: int) -> dict[str, Any]:
    if tool == "todo":
        return {"items": [{"text": f"step {which}", "status": "pending"}]}
    if tool in ("read_file", "edit_file"):
        return {"path": f"src/{which}.py"}
    return {"command": f"make {which}"} if tool == "bash" else {"pattern": f"p{which}"}


Tokenizer = Callable[[str], int]


def stand_in(word: int, digits: int, wide: float) -> Tokenizer:
    """A tokenizer: words in pieces of ``word`` letters, numbers in groups of ``digits``, each sign one token
    (runs of the same sign one), blanks with the word behind them, ``wide`` tokens for a wide character."""

    def count(text: str) -> int:
        tokens = 0.0
        for piece in re.finditer(
            r"[A-Za-z]+|\d+|\n[ \t]*|[^\S\n]+|[\u3000-\u9fff\uff00-\uffef]+|(.)\1*", text
        ):
            found = piece[0]
            if found[0].isascii() and found[0].isalpha():
                tokens += -(-len(found) // word)
            elif found[0].isdigit():
                tokens += -(-len(found) // digits)
            elif found[0] == "\n":
                tokens += 0.4
            elif found.isspace():
                tokens += 0
            elif ord(found[0]) >= 0x3000:
                tokens += wide * len(found)
            else:
                tokens += 1
        return round(tokens)

    return count


def counted(tokenizer: Tokenizer, message: Message) -> int:
    """What a service would count for a message."""
    tokens = 4
    for block in message.content:
        if isinstance(block, Text):
            tokens += tokenizer(block.text)
        elif isinstance(block, ToolCall):
            tokens += 6 + tokenizer(block.name) + tokenizer(encode_json(block.args).decode())
        elif isinstance(block, ToolResult):
            tokens += 4 + tokenizer(text_of(block.content))
    return tokens
