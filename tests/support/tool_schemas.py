"""Makes the schemas that MewCode's own tools are kept with; see `mewcode.tools.schema`."""

from __future__ import annotations

import sys
from typing import Any, cast

import msgspec

from mewcode.note_tools.docs import SearchDocsArgs
from mewcode.note_tools.history import ReadHistoryArgs, SearchHistoryArgs
from mewcode.note_tools.tools import ForgetNoteArgs, ReadNoteArgs, SaveNoteArgs, SearchNotesArgs
from mewcode.tools.registry import builtin_tools
from mewcode.tools.schema import MADE, make_schema, name_of

OF_NOTES: tuple[type[msgspec.Struct], ...] = (
    ForgetNoteArgs, ReadNoteArgs, SaveNoteArgs, SearchNotesArgs, ReadHistoryArgs, SearchHistoryArgs,
    SearchDocsArgs,
)  # fmt: skip


def made_schemas() -> bytes:
    """The text of the file: a line a struct."""
    own = (cast("type[msgspec.Struct]", tool.args_type) for tool in builtin_tools())
    found: dict[str, Any] = {name_of(kind): make_schema(kind) for kind in (*own, *OF_NOTES)}
    lines = (
        b"%s: %s" % (msgspec.json.encode(name), msgspec.json.encode(found[name])) for name in sorted(found)
    )
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


if __name__ == "__main__":
    MADE.write_bytes(made_schemas())
    sys.stdout.write(f"{MADE}\n")
