"""A session in a temporary folder, and a tool called as the loop calls it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mewcode.core.message import text_of
from mewcode.core.outcome import ToolOutcome
from mewcode.tools.base import AnyTool, ToolContext, ToolSession
from mewcode.tools.read_table import ReadTable
from mewcode.tools.registry import decode_args


def make_session(root: Path, **changes: Any) -> ToolSession:
    """A session started in ``root``; no shell, since file tools use none."""
    root = root.resolve()
    settings: dict[str, Any] = {"root": root, "cwd": root, "reads": ReadTable(), "shell": None, **changes}
    return ToolSession(**settings)


def make_context(session: ToolSession, ask: Any = None) -> ToolContext:
    return ToolContext(session, "call00001", lambda text: None, ask)


def call(tool: AnyTool, session: ToolSession, **args: Any) -> ToolOutcome:
    """Decodes the arguments and runs the tool."""
    return asyncio.run(tool.run(decode_args(tool, args), make_context(session)))


def answer(tool: AnyTool, session: ToolSession, **args: Any) -> str:
    """The text that the model reads."""
    return text_of(call(tool, session, **args).content)


def read_paths(tool: AnyTool, session: ToolSession, **args: Any) -> list[str]:
    """The paths that the policy is asked about."""
    return [access.path for access in tool.accesses(decode_args(tool, args), session)]
