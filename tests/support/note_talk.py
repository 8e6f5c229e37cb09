"""Messages of a conversation, and what is proposed to be noted of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from mewcode.agent.news import may_ask_to_forget
from mewcode.core.message import Message, Origin, Text, ToolCall, ToolResult
from mewcode.memory.changes import Create, Outcome
from mewcode.memory.entry import Entry
from mewcode.memory.extract.reply import Proposal
from mewcode.memory.extract.requests import Drafts, requests_of
from mewcode.memory.note import Note
from mewcode.memory.store import NoteStore


def said(text: str, record: str = "u1", origin: Origin = "user") -> Message:
    return Message(record, "user", (Text(text),), origin)


def answered(text: str, record: str = "a1", *calls: ToolCall) -> Message:
    return Message(record, "assistant", (Text(text), *calls), "model")


def called(
    name: str, result: str, record: str, *, is_error: bool = False, **args: object
) -> tuple[Message, Message]:
    """An answer with a call, and the call's result as ``record``."""
    call = ToolCall(f"call-{record}", name, dict(args))
    outcome = ToolResult(call.id, (Text(result),), is_error)
    asking = Message(f"{record}-call", "assistant", (call,), "model")
    return asking, Message(record, "tool", (outcome,), "tool")


TODAY = dt.date(2026, 3, 3)
SCRIPT = "deploy/scripts/environments/production/release_branch.sh"
TALK: list[Message] = [
    said("from now on use pytest", "u1"),  # m1
    *called(
        "bash",
        f"the deploy runs every Friday at noon from the release branch, see {SCRIPT}",
        "t1",
    ),  # m2, m3
    *called("web_fetch", "Widgets ship in boxes of twelve pieces, sealed with green tape", "w1"),  # m4, m5
    answered("I see.", "a1"),  # m6
]


def proposal(name: str = "Tests", **more: Any) -> Proposal:
    made: dict[str, Any] = {
        "action": "create",
        "type": "correction_feedback",
        "name": name,
        "body": f"About {name}: pytest.",
        "rests_on": ("m1",),
        "reason": "said so",
    }
    return Proposal(**{**made, **more})


def drafts(*proposals: Proposal, talk: Sequence[Message] = TALK, entries: Sequence[Entry] = ()) -> Drafts:
    return requests_of(proposals, talk, entries, session_id="s1", today=TODAY, may_delete=may_ask_to_forget)


def created(*proposals: Proposal, talk: Sequence[Message] = TALK) -> list[Note]:
    requests = drafts(*proposals, talk=talk).requests
    assert all(isinstance(request, Create) and request.merge_similar for request in requests)
    return [request.note for request in requests if isinstance(request, Create)]


def apply(notes: NoteStore, *proposals: Proposal, talk: Sequence[Message] = TALK) -> list[Outcome]:
    made = drafts(*proposals, talk=talk, entries=notes.entries())
    return list(notes.apply(made.requests, by="agent").outcomes)
