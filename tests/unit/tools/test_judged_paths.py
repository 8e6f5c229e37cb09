"""A path that by the time it is opened leads elsewhere than when it was judged is not opened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from file_session import make_context, make_session

from mewcode.core.errors import ToolError
from mewcode.tools.base import AnyTool
from mewcode.tools.glob import GlobTool
from mewcode.tools.grep import GrepTool
from mewcode.tools.list_dir import ListDirTool
from mewcode.tools.read_file import ReadFileTool
from mewcode.tools.registry import decode_args
from mewcode.tools.write_file import WriteFileTool

CALLS: list[tuple[AnyTool, dict[str, Any]]] = [
    (ReadFileTool(), {"path": "place/file"}),
    (WriteFileTool(), {"path": "place/new", "content": "x"}),
    (ListDirTool(), {"path": "place"}),
    (GlobTool(), {"pattern": "*", "path": "place"}),
    (GrepTool(), {"pattern": "secret", "path": "place"}),
]


@pytest.mark.parametrize(("tool", "args"), CALLS, ids=lambda value: getattr(value, "name", ""))
def test_a_link_put_in_the_way_after_the_verdict_is_not_followed(
    tool: AnyTool, args: dict[str, Any], tmp_path: Path
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "place").mkdir(parents=True)
    outside.mkdir()
    for folder in (root / "place", outside):
        (folder / "file").write_text("secret\n")
    session = make_session(root)
    context = make_context(session)
    decoded = decode_args(tool, args)
    context.judged = tool.accesses(decoded, session)
    asyncio.run(tool.run(decoded, context))
    (root / "place").rename(root / "moved")
    (root / "place").symlink_to(outside)
    with pytest.raises(ToolError, match="leads elsewhere"):
        asyncio.run(tool.run(decoded, context))
    assert not (outside / "new").exists()
