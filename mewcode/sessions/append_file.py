"""The file of a session's records; how such a file is added to, see `infra.append_file`."""

from __future__ import annotations

from mewcode.infra.append_file import CAREFUL, AppendFile, FileCalls, write_all

__all__ = ["CAREFUL", "CONVERSATION", "AppendFile", "FileCalls", "write_all"]

CONVERSATION = "conversation.jsonl"
"""The file of a session's records, in the session's folder."""
